/** The columns of the audit trail. */
import type { AuditRecord } from '@assay/model/audit'
import { Table } from '../table.ts'

export type AuditRow = AuditRecord & { workspace_id: string }

export const AUDIT = new Table<AuditRow>('audit', ['audit_id'], {
  audit_id: 'text',
  workspace_id: 'text',
  created_at: 'time',
  action: 'text',
  object_id: 'text?',
  fields: 'json',
  user_id: 'text?',
  token_id: 'text?',
  address: 'text?',
  request_id: 'text?',
})
