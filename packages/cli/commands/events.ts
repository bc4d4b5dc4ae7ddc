/** assay events: what happened in the workspace, for who cannot receive webhooks. */
import type { Client } from '@assay/client'
import { EVENT_TYPES, type Event, type EventType } from '@assay/model/event'
import { type Command, JSON_OPTION, numberOption } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT } from '../exit.ts'
import { out, say } from '../print.ts'
import { choice } from './jobs.ts'

const LOOK_MS = 1000

function line({ timestamp, type, event_id, data }: Event): string {
  const about = data.assignment_id ?? data.webhook_id ?? ''
  const why = data.error ? `  ${(data.error as { code: string }).code}` : ''
  return `${timestamp}  ${type.padEnd(16)}  ${event_id}  ${about as string}${why}\n`
}

export const EVENTS: Command = {
  name: 'events',
  operands: '',
  summary: 'List events, newest first; --follow goes on from now',
  details:
    'With --cursor it goes forward from there and skips none: the last line on stderr is the next cursor.',
  options: {
    json: { ...JSON_OPTION, doc: 'One line of JSON for each event' },
    type: { type: 'string', value: 'TYPE', doc: EVENT_TYPES.join(', ') },
    limit: { type: 'string', value: 'N', doc: 'At most so many, up to 200 (default 20)' },
    cursor: {
      type: 'string',
      value: 'CURSOR',
      doc: 'Go forward from here, oldest first; "" is the beginning',
    },
    follow: { type: 'boolean', short: 'f', doc: 'Keep looking for new ones until Ctrl-C' },
  },
  listens: true,
  run: (call) =>
    withClient(call, async (client) => {
      const limit = numberOption(call, 'limit', 1, 200) ?? 20
      const type = choice<EventType>(call, 'type', EVENT_TYPES)
      const filter = type ? { limit, type } : { limit }
      const show = (event: Event): void => out(call.on('json') ? `${JSON.stringify(event)}\n` : line(event))
      let cursor = call.text('cursor')
      if (cursor === undefined && !call.on('follow')) {
        const page = await client.events.list(filter)
        page.items.forEach(show)
        return EXIT.ok
      }
      if (cursor === undefined) cursor = await presentEnd(client)
      for (;;) {
        const page = await client.events.list({ ...filter, order: 'oldest', ...(cursor ? { cursor } : {}) })
        page.items.forEach(show)
        cursor = page.next_cursor ?? cursor
        if (!call.on('follow') || call.signal.aborted) break
        if (page.items.length === 0) await pause(call.signal)
      }
      say(`--cursor ${cursor}`)
      return EXIT.ok
    }),
}

function pause(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, LOOK_MS)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** The cursor after the newest event: pages forward without showing them. */
async function presentEnd(client: Client): Promise<string> {
  let cursor = ''
  for (;;) {
    const page = await client.events.list({ limit: 200, order: 'oldest', ...(cursor ? { cursor } : {}) })
    cursor = page.next_cursor ?? cursor
    if (page.items.length === 0) return cursor
  }
}
