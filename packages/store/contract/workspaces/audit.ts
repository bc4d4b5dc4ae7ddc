/** What the store promises of the audit trail. */
import type { AuditAction, AuditRecord, NewAuditRecord } from '@assay/model/audit'
import type { Reading } from '@assay/model/reading-record'
import type { Page, PageQuery } from '../page.ts'

export interface AuditStore {
  /** What was read, many at once. */
  writeAudit(records: NewAuditRecord[]): Promise<void>
  /** Newest first. */
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
  /** The users who read the insight, each once, the latest first, by its newest READINGS_LOOKED_AT records. */
  listReadings(input: { workspace_id: string; insight_id: string }): Promise<Reading[]>
  /** Deletes at most `limit` of the oldest that were written before, and of the ledger's days before. Answers how many. */
  pruneAudit(input: { before: string; limit: number }): Promise<number>
}
