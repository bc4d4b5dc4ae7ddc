/** The columns of metrics. */
import type { StoredMetric } from '../../contract/workspaces/metrics.ts'
import { Table } from '../table.ts'

export const METRICS = new Table<StoredMetric>('metrics', ['workspace_id', 'metric_id'], {
  workspace_id: 'text',
  metric_id: 'text',
  source: 'text',
  user_id: 'text',
  updated_at: 'time',
})
