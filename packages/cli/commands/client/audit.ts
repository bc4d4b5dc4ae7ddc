/** assay audit: shows who did what. */
import { ACTIONS } from '@assay/model/audit'
import { pageCommand } from '../../client-command.ts'
import { choiceOption, LIMIT, limitOption, text, WORKSPACE } from '../../options.ts'

export const AUDIT = pageCommand(
  {
    name: 'audit',
    summary: 'Show who did what, newest first',
    details: `Actions: ${ACTIONS.join(', ')}.`,
    options: {
      action: text('ACTION', 'Only this action'),
      user: text('ID', 'Only actions of this user'),
      object: text('ID', 'Only actions on this object'),
      since: text('TIME', 'RFC 3339, such as 2026-01-31T12:00:00Z'),
      until: text('TIME', 'RFC 3339'),
      workspace: WORKSPACE,
      limit: LIMIT,
      cursor: text('CURSOR', 'The next_cursor of an earlier list'),
    },
  },
  ['AT', 'ACTION', 'OBJECT', 'USER', 'FROM', 'FIELDS'],
  (client, call) =>
    client.audit({
      limit: limitOption(call),
      action: choiceOption(call, 'action', ACTIONS),
      user_id: call.text('user'),
      object_id: call.text('object'),
      created_after: call.text('since'),
      created_before: call.text('until'),
      workspace_id: call.text('workspace'),
      cursor: call.text('cursor'),
    }),
  (one) => [one.created_at, one.action, one.object_id, one.user_id, one.address, one.fields.join(',')],
)
