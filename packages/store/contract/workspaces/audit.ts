/** The audit trail in the store. */
import type { AuditAction, AuditRecord, NewAuditRecord } from '@assay/model/audit'
import type { Reading } from '@assay/model/reading-record'
import type { Page, PageQuery } from '../page.ts'

export interface AuditStore {
  /** Writes records of readings, many at once. */
  writeAudit(records: NewAuditRecord[]): Promise<void>
  /** Lists records, newest first. */
  listAudit(
    query: PageQuery & {
      workspace_id: string
      action?: AuditAction | undefined
      user_id?: string | undefined
      object_id?: string | undefined
      created_after?: string | undefined
      created_before?: string | undefined
    },
  ): Promise<Page<AuditRecord>>
  /** Returns the users who read the insight, each once, latest first, from the newest READINGS_LOOKED_AT records. */
  listReadings(input: { workspace_id: string; insight_id: string }): Promise<Reading[]>
  /** Deletes at most `limit` records older than the time, and as many days of the ledger. Returns their number. */
  pruneAudit(input: { before: string; limit: number }): Promise<number>
}
