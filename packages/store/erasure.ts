/** What both databases hold of erasing a workspace. */
import { AppError } from '@assay/model/errors'

/** All that names the workspace but its jobs, with their insights, and its deliveries, which go first: what others refer to comes last. */
export const TABLES_OF_WORKSPACE = [
  'webhooks',
  'events',
  'schedules',
  'templates',
  'connections',
  'narratives',
  'tokens',
  'users',
  'idempotency_keys',
  'job_counts',
]

export function unfinished(count: number): AppError {
  return new AppError(
    'conflict',
    `The workspace has ${count} unfinished jobs: cancel them or wait until they end.`,
  )
}
