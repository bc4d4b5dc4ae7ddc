/** assay links: the page of an insight for who has no token. */
import { parseDuration } from '@assay/service/config/config'
import { type Call, type Command, JSON_OPTION } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT, UsageError } from '../exit.ts'
import { out, printJson, table } from '../print.ts'
import { everything } from './accounts.ts'

function seconds(call: Call): { expires_in?: number } {
  const text = call.text('expires')
  if (text === undefined) return {}
  try {
    return { expires_in: Math.floor(parseDuration(text) / 1000) }
  } catch (error) {
    throw new UsageError(`--expires ${(error as Error).message}.`)
  }
}

const CREATE: Command = {
  name: 'links create',
  operands: 'INSIGHT',
  summary: 'Make a link to the page of an insight and print it, this once',
  options: {
    json: JSON_OPTION,
    expires: { type: 'string', value: 'DURATION', doc: 'Opens the page for so long (default: 7d)' },
    label: { type: 'string', value: 'TEXT', doc: 'A note for people' },
  },
  run: (call) =>
    withClient(call, async (client) => {
      const label = call.text('label')
      const input = { ...seconds(call), ...(label ? { label } : {}) }
      const link = await client.links.create(call.operands[0]!, input)
      const url = link.url.startsWith('/') ? `${client.url}${link.url}` : link.url
      if (call.on('json')) printJson({ ...link, url })
      else out(`${url}\n`)
      return EXIT.ok
    }),
}

const LIST: Command = {
  name: 'links list',
  operands: 'INSIGHT',
  summary: 'List the links of an insight, and how often each was opened',
  options: { json: JSON_OPTION },
  run: (call) =>
    withClient(call, async (client) => {
      const links = await everything((page) => client.links.list(call.operands[0]!, page))
      if (call.on('json')) printJson(links)
      else {
        const rows = links.map((link) => [
          link.link_id,
          link.expires_at,
          link.opened_count,
          link.last_opened_at,
          link.label,
        ])
        out(table(['LINK', 'EXPIRES', 'OPENED', 'LAST', 'LABEL'], rows))
      }
      return EXIT.ok
    }),
}

const DELETE: Command = {
  name: 'links delete',
  operands: 'INSIGHT LINK...',
  summary: 'Revoke links: they open nothing any more',
  options: {},
  run: (call) =>
    withClient(call, async (client) => {
      const [insight_id, ...links] = call.operands
      for (const link_id of links) await client.links.delete(insight_id!, link_id)
      return EXIT.ok
    }),
}

export const LINKS: readonly Command[] = [CREATE, LIST, DELETE]
