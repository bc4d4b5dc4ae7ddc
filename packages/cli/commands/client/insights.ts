/** assay insights and assay links: what the jobs found, and the page of an insight for readers without a token. */
import { GRADES } from '@assay/model/insight'
import { allPages, clientCommand, listCommand, pageCommand, showCommand } from '../../client-command.ts'
import { choiceOption, flag, LIMIT, limitOption, secondsOption, text } from '../../options.ts'

export const INSIGHTS = [
  pageCommand(
    {
      name: 'insights list',
      operands: '[WORD...]',
      summary: 'List insights, newest first, with their headlines; words narrow the list',
      options: {
        template: text('ID', 'Only insights of this template'),
        tag: text('TAG', 'Only insights of templates with this tag'),
        grade: text('GRADE', `Only ${GRADES.join(', ')}`),
        since: text('TIME', 'RFC 3339, such as 2026-01-31T12:00:00Z'),
        until: text('TIME', 'RFC 3339'),
        limit: LIMIT,
        cursor: text('CURSOR', 'The next_cursor of an earlier list'),
      },
    },
    ['INSIGHT', 'CREATED', 'TITLE', 'GRADE', 'FIGURE', 'HEADLINE'],
    (client, call) =>
      client.insights.list({
        limit: limitOption(call),
        q: call.operands.length > 0 ? call.operands.join(' ') : undefined,
        template_id: call.text('template'),
        tag: call.text('tag'),
        grade: choiceOption(call, 'grade', GRADES),
        created_after: call.text('since'),
        created_before: call.text('until'),
        cursor: call.text('cursor'),
      }),
    (one) => [one.insight_id, one.created_at, one.title, one.grade, one.figure?.text ?? null, one.headline],
  ),
]

export const LINKS = [
  showCommand(
    {
      name: 'links create',
      operands: 'INSIGHT',
      summary: 'Make a link to the page of an insight and print it, this once',
      options: {
        expires: text('DURATION', 'How long it opens the page (default: 7d)'),
        label: text('TEXT', 'A note for people'),
        newest: flag('It always opens the newest run with these variables but the period'),
      },
    },
    async (client, call) => {
      const input = {
        expires_in: secondsOption(call, 'expires'),
        label: call.text('label'),
        newest: call.on('newest') || undefined,
      }
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
