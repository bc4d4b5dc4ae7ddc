/** The audit trail: a record is written with its change; records of readings are written many at once. */
import type { AuditAction, AuditRecord, NewAuditRecord } from '@assay/model/audit'
import { uuidv7 } from '@assay/model/ids'
import { READINGS_LOOKED_AT, READINGS_MOST, type Reading } from '@assay/model/reading-record'
import { hourOf } from '../../caps.ts'
import type { Page } from '../../contract/page.ts'
import { listOf } from '../../list.ts'
import type { Reader, Routine, Writer } from '../../rows.ts'
import { statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { AUDIT } from '../../tables/workspaces/audit.ts'
import { OUTGOING } from '../../tables/workspaces/outgoing.ts'
import { PROCESSOR_USE } from '../../tables/workspaces/processor-use.ts'

/** Actions that follow the traffic. No index of actions holds their records, because it would cost each of them a write. */
const FREQUENT: readonly AuditAction[] = ['job.create', 'job.run', 'result.read', 'link.open']

const LIST = listOf(AUDIT, {
  columns: AUDIT.except('workspace_id'),
  id: 'audit_id',
  filters: {
    // The condition names the index of actions.
    action: ['action = :action', ...FREQUENT.map((action) => `action <> '${action}'`)].join(' AND '),
    frequent: 'action = :frequent',
    user_id: null,
  },
  indexed: [['workspace_id', 'object_id'], ['workspace_id', 'action'], ['workspace_id']],
})
const READINGS = statement<Reading>(
  `SELECT read.user_id, username, count(*) AS count, max(read.created_at) AS last_at FROM (
     SELECT user_id, workspace_id, action, created_at FROM audit
     WHERE workspace_id = :workspace_id AND object_id = :insight_id
     ORDER BY created_at DESC, audit_id DESC LIMIT ${READINGS_LOOKED_AT}) AS read
   LEFT JOIN users ON users.user_id = read.user_id AND users.workspace_id = read.workspace_id
   WHERE action = 'result.read' AND read.user_id IS NOT NULL
   GROUP BY read.user_id, username ORDER BY last_at DESC, read.user_id LIMIT ${READINGS_MOST}`,
  { last_at: 'time', count: 'bigint' },
)
const INSERT = AUDIT.insert()
// Ids begin with their time, so the oldest records are deleted first. The condition lets SQLite use the index.
const PRUNE = statement(
  `DELETE FROM audit WHERE audit_id IN (
     SELECT audit_id FROM (SELECT audit_id, created_at FROM audit WHERE audit_id > '' ORDER BY audit_id LIMIT :limit) AS looked_at
     WHERE created_at < :before)`,
)
const PRUNE_OUTGOING = OUTGOING.deleteSome('WHERE day < :before', 'FOR UPDATE SKIP LOCKED')
const PRUNE_PROCESSOR_USE = PROCESSOR_USE.deleteSome('WHERE hour < :before', 'FOR UPDATE SKIP LOCKED')

export function writeAudit(tx: Writer, records: NewAuditRecord[]): Routine<void> {
  const rows = records.map((record) => ({ ...record, audit_id: uuidv7(), created_at: record.at ?? tx.now }))
  return tx.writeAll(INSERT, rows)
}

export function listAudit(from: Reader, query: Input<'listAudit'>): Routine<Page<AuditRecord>> {
  const { action, ...others } = query
  const isFrequent = action !== undefined && FREQUENT.includes(action)
  return LIST.page(from, { ...others, ...(isFrequent ? { frequent: action } : { action }) })
}

export function listReadings(from: Reader, input: Input<'listReadings'>): Routine<Reading[]> {
  return from.all(READINGS, input)
}

export function* pruneAudit(tx: Writer, { before, limit }: Input<'pruneAudit'>): Routine<number> {
  const records = yield* tx.run(PRUNE, { before, limit })
  const days = yield* tx.run(PRUNE_OUTGOING, { before: before.slice(0, 10), most: limit })
  return records + days + (yield* tx.run(PRUNE_PROCESSOR_USE, { before: hourOf(before), most: limit }))
}
