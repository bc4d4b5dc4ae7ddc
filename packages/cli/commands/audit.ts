/** assay audit: who did what. */
import { ACTIONS } from '@assay/model/audit'
import { type Command, JSON_OPTION, numberOption } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT } from '../exit.ts'
import { out, printJson, say, table } from '../print.ts'
import { choice } from './jobs.ts'

export const AUDIT: Command = {
  name: 'audit',
  operands: '',
  summary: 'Show who did what, newest first',
  details: `Actions: ${ACTIONS.join(', ')}.`,
  options: {
    json: JSON_OPTION,
    action: { type: 'string', value: 'ACTION', doc: 'Only this one' },
    user: { type: 'string', value: 'ID', doc: 'Only what this user did' },
    object: { type: 'string', value: 'ID', doc: 'Only what was done to this' },
    since: { type: 'string', value: 'TIME', doc: 'RFC 3339, such as 2026-01-31T12:00:00Z' },
    until: { type: 'string', value: 'TIME', doc: 'RFC 3339' },
    workspace: { type: 'string', value: 'ID', doc: "The workspace (default: the token's own)" },
    limit: { type: 'string', value: 'N', doc: 'At most so many, up to 200 (default 20)' },
    cursor: { type: 'string', value: 'CURSOR', doc: 'The next_cursor of an earlier list' },
  },
  run: (call) =>
    withClient(call, async (client) => {
      const given = {
        action: choice(call, 'action', ACTIONS),
        user_id: call.text('user'),
        object_id: call.text('object'),
        created_after: call.text('since'),
        created_before: call.text('until'),
        workspace_id: call.text('workspace'),
        cursor: call.text('cursor'),
      }
      const set = Object.entries(given).filter(([, value]) => value !== undefined)
      const limit = numberOption(call, 'limit', 1, 200) ?? 20
      const page = await client.audit({ limit, ...Object.fromEntries(set) })
      if (call.on('json')) printJson(page)
      else {
        const rows = page.items.map((record) => [
          record.created_at,
          record.action,
          record.object_id,
          record.user_id,
          record.address,
          record.fields.join(','),
        ])
        out(table(['AT', 'ACTION', 'OBJECT', 'USER', 'FROM', 'FIELDS'], rows))
        if (page.next_cursor) say(`More: --cursor ${page.next_cursor}`)
      }
      return EXIT.ok
    }),
}
