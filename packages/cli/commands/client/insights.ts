/** assay insights: what the jobs found, one line each. */
import { GRADES } from '@assay/model/insight'
import { pageCommand } from '../../client-command.ts'
import { choiceOption, LIMIT, limitOption, text } from '../../options.ts'

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
