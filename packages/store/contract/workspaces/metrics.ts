/** What the store promises of the metrics of workspaces. */

export interface StoredMetric {
  workspace_id: string
  metric_id: string
  /** YAML. */
  source: string
  user_id: string
  updated_at: string
}

/** The most characters that the definitions of a workspace have together: a template may reach them all. */
export const METRICS_MOST = 500_000

export interface MetricStore {
  /** Creates or replaces. Refuses what would go beyond METRICS_MOST: `conflict`. */
  putMetric(input: Omit<StoredMetric, 'updated_at'>): Promise<'new' | 'replaced'>
  getMetric(input: { workspace_id: string; metric_id: string }): Promise<StoredMetric | null>
  /** By id, those that come after `after`. */
  listMetrics(input: { workspace_id: string; after: string; limit: number }): Promise<StoredMetric[]>
  /** Those of these ids that are there, by id. */
  findMetrics(input: { workspace_id: string; metric_ids: string[] }): Promise<StoredMetric[]>
  deleteMetric(input: { workspace_id: string; metric_id: string }): Promise<boolean>
}
