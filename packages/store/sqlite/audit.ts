/** The audit trail: written with the change that it tells of, or many at once for what was read. */
import type { AuditRecord, NewAuditRecord } from '@assay/model/audit'
import { uuidv7 } from '@assay/model/ids'
import { AUDIT, ofAction } from '../lists.ts'
import type { Input, Page } from '../store.ts'
import type { Connection } from './connection.ts'
import { newestFirst } from './page.ts'

type AuditRow = Omit<AuditRecord, 'fields'> & { workspace_id: string; fields: string }

export function insertAudit(connection: Connection, record: NewAuditRecord): void {
  connection.run(
    `INSERT INTO audit (audit_id, workspace_id, created_at, action, object_id, fields, user_id, token_id, address,
       request_id)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    uuidv7(),
    record.workspace_id,
    record.at ?? connection.now(),
    record.action,
    record.object_id,
    JSON.stringify(record.fields),
    record.user_id,
    record.token_id,
    record.address,
    record.request_id,
  )
}

export function writeAudit(connection: Connection, records: NewAuditRecord[]): void {
  for (const record of records) insertAudit(connection, record)
}

function toRecord(row: AuditRow): AuditRecord {
  const { workspace_id: _, fields, ...record } = row
  return { ...record, fields: JSON.parse(fields) as string[] }
}

export function listAudit(connection: Connection, query: Input<'listAudit'>): Page<AuditRecord> {
  return newestFirst<AuditRow, AuditRecord>(
    connection,
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
export function pruneAudit(connection: Connection, { before, limit }: Input<'pruneAudit'>): number {
  const oldest = connection.all<{ audit_id: string; created_at: string }>(
    `SELECT audit_id, created_at FROM audit WHERE audit_id > '' ORDER BY audit_id LIMIT ?`,
    limit,
  )
  const old = oldest.filter(({ created_at }) => created_at < before)
  for (const { audit_id } of old) connection.run('DELETE FROM audit WHERE audit_id = ?', audit_id)
  return old.length
}
