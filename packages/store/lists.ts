/** Lists whose indexes are the same in both databases, but for that of the jobs that are held. */
import type { AuditAction } from '@assay/model/audit'
import type { List } from './page.ts'

export const DELIVERIES: List = {
  name: 'deliveries',
  table: 'deliveries',
  id: 'delivery_id',
  indexed: [
    // A job has few: then they are found by it, and not among all of the webhook.
    ['workspace_id = ?', 'assignment_id = ?'],
    ['workspace_id = ?', 'webhook_id = ?', 'status = ?'],
    ['workspace_id = ?', 'webhook_id = ?'],
  ],
}

export const OF_STATUS = 'job_status = ?'
/** Jobs that a node holds: on PostgreSQL they lie in an index of their own. */
export const HELD = `${OF_STATUS} AND owner IS NOT NULL`

export const JOBS: List = {
  name: 'jobs',
  table: 'jobs',
  id: 'assignment_id',
  indexed: [
    ['workspace_id = ?', 'batch_id = ?'],
    ['workspace_id = ?', 'schedule_id = ?'],
    ['workspace_id = ?', HELD],
    ['workspace_id = ?', 'template_id = ?'],
    ['workspace_id = ?', OF_STATUS],
    ['workspace_id = ?'],
  ],
}

/** They come with the traffic, and are not in the index of actions, so that it costs their records nothing. */
const FREQUENT: readonly AuditAction[] = ['job.create', 'job.run', 'result.read', 'link.open']
const RARE = ['action = ?', ...FREQUENT.map((action) => `action <> '${action}'`)].join(' AND ')

export const AUDIT: List = {
  name: 'audit',
  table: 'audit',
  id: 'audit_id',
  indexed: [['workspace_id = ?', 'object_id = ?'], ['workspace_id = ?', RARE], ['workspace_id = ?']],
}

/** The condition of a record's action. */
export function ofAction(action: AuditAction | undefined): string {
  return action !== undefined && FREQUENT.includes(action) ? 'action = ?' : RARE
}
