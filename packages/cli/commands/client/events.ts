/** assay events: shows what happened in the workspace, for machines that cannot receive a webhook. */
import type { Client, Event } from '@assay/client'
import { systemClock } from '@assay/model/clock'
import { EVENT_TYPES } from '@assay/model/event'
import { clientCommand } from '../../client-command.ts'
import { choiceOption, flag, LIMIT, limitOption, text } from '../../options.ts'
import { out, say } from '../../print.ts'

const POLL_MS = 1000

function lineOf({ timestamp, type, event_id, data }: Event): string {
  const about = 'assignment_id' in data ? data.assignment_id : 'webhook_id' in data ? data.webhook_id : ''
  const why = 'error' in data && data.error ? `  ${data.error.code}` : ''
  return `${timestamp}  ${type.padEnd(16)}  ${event_id}  ${about}${why}\n`
}

/** Returns the cursor after the newest event. It reads all pages and shows none. */
async function presentEnd(client: Client): Promise<string> {
  for (let cursor: string | undefined; ; ) {
    const page = await client.events.list({ limit: 200, order: 'oldest', cursor })
    cursor = page.next_cursor ?? cursor ?? ''
    if (page.items.length === 0) return cursor
  }
}

export const EVENTS = clientCommand(
  {
    name: 'events',
    summary: 'List events, newest first; --follow goes on from now',
    details:
      'With --cursor it goes forward from there and skips none: the last line on stderr is the next cursor.',
    options: {
      json: flag('One line of JSON for each event'),
      type: text('TYPE', EVENT_TYPES.join(', ')),
      limit: LIMIT,
      cursor: text('CURSOR', 'Go forward from here, oldest first; "" is the beginning'),
      follow: flag('Keep looking for new ones until Ctrl-C', 'f'),
    },
    listens: true,
  },
  async (client, call) => {
    const filter = { limit: limitOption(call), type: choiceOption(call, 'type', EVENT_TYPES) }
    const follow = call.on('follow')
    const show = (event: Event): void => out(call.on('json') ? `${JSON.stringify(event)}\n` : lineOf(event))
    let cursor = call.text('cursor')
    if (cursor === undefined && !follow) {
      const { items } = await client.events.list(filter)
      return items.forEach(show)
    }
    cursor ??= await presentEnd(client)
    for (;;) {
      const page = await client.events.list({ ...filter, order: 'oldest', cursor: cursor || undefined })
      page.items.forEach(show)
      cursor = page.next_cursor ?? cursor
      if (!follow || call.signal.aborted) break
      if (page.items.length === 0) await systemClock.sleep(POLL_MS, call.signal)
    }
    say(`--cursor ${cursor}`)
  },
)
