/** assay links: the page of an insight for readers without a token. */
import { allPages, clientCommand, listCommand, showCommand } from '../../client-command.ts'
import { secondsOption, text } from '../../options.ts'

export const LINKS = [
  showCommand(
    {
      name: 'links create',
      operands: 'INSIGHT',
      summary: 'Make a link to the page of an insight and print it, this once',
      options: {
        expires: text('DURATION', 'How long it opens the page (default: 7d)'),
        label: text('TEXT', 'A note for people'),
      },
    },
    async (client, call) => {
      const input = { expires_in: secondsOption(call, 'expires'), label: call.text('label') }
      const link = await client.links.create(call.operands[0]!, input)
      return { ...link, url: link.url.startsWith('/') ? `${client.url}${link.url}` : link.url }
    },
    ({ url }) => `${url}\n`,
  ),
  listCommand(
    {
      name: 'links list',
      operands: 'INSIGHT',
      summary: 'List the links of an insight, and how often each was opened',
    },
    ['LINK', 'EXPIRES', 'OPENED', 'LAST', 'LABEL'],
    (client, call) => allPages((page) => client.links.list(call.operands[0]!, page)),
    (link) => [link.link_id, link.expires_at, link.opened_count, link.last_opened_at, link.label],
  ),
  clientCommand(
    {
      name: 'links delete',
      operands: 'INSIGHT LINK...',
      summary: 'Revoke links: they open nothing any more',
    },
    async (client, { operands: [insight_id, ...links] }) => {
      for (const link_id of links) await client.links.delete(insight_id!, link_id)
    },
  ),
]
