/** The audit trail: written with the change that it tells of, or many at once for what was read. */
import type { AuditRecord, NewAuditRecord } from '@assay/model/audit'
import { uuidv7 } from '@assay/model/ids'
import { AUDIT, ofAction } from '../lists.ts'
import type { Input, Page } from '../store.ts'
import type { Session, Transaction } from './connection.ts'
import { newestFirst } from './page.ts'

type AuditRow = AuditRecord & { workspace_id: string }

/** All in one statement. */
export async function writeAudit(tx: Transaction, records: NewAuditRecord[]): Promise<void> {
  if (records.length === 0) return
  const column = <T>(of: (record: NewAuditRecord) => T): T[] => records.map(of)
  await tx.run(
    `INSERT INTO audit (audit_id, workspace_id, created_at, action, object_id, fields, user_id, token_id, address,
       request_id)
     SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::text[], $5::text[], $6::json[], $7::text[],
       $8::text[], $9::text[], $10::text[])`,
    column(() => uuidv7()),
    column((record) => record.workspace_id),
    column((record) => record.at ?? tx.now),
    column((record) => record.action),
    column((record) => record.object_id),
    column((record) => JSON.stringify(record.fields)),
    column((record) => record.user_id),
    column((record) => record.token_id),
    column((record) => record.address),
    column((record) => record.request_id),
  )
}

function toRecord(row: AuditRow): AuditRecord {
  const { workspace_id: _, ...record } = row
  return record
}

export function listAudit(from: Session, query: Input<'listAudit'>): Promise<Page<AuditRecord>> {
  return newestFirst<AuditRow, AuditRecord>(
    from,
    AUDIT,
    query,
    {
      'workspace_id = ?': query.workspace_id,
      'object_id = ?': query.object_id,
      [ofAction(query.action)]: query.action,
      'user_id = ?': query.user_id,
      'created_at >= ?': query.created_after,
      'created_at < ?': query.created_before,
    },
    toRecord,
  )
}

/** The ids begin with their time: the oldest come first. */
export function pruneAudit(tx: Transaction, { before, limit }: Input<'pruneAudit'>): Promise<number> {
  return tx.run(
    `DELETE FROM audit WHERE audit_id IN (
       SELECT audit_id FROM (SELECT audit_id, created_at FROM audit ORDER BY audit_id LIMIT $2) AS oldest
       WHERE created_at < $1)`,
    before,
    limit,
  )
}
