/** The metrics of workspaces in the store. */

export interface StoredMetric {
  workspace_id: string
  metric_id: string
  /** The definition in YAML. */
  source: string
  user_id: string
  updated_at: string
}

/** The most characters of all definitions of a workspace together, because a template may use all of them. */
export const METRICS_MOST = 500_000

export interface MetricStore {
  /** Creates or replaces a metric. Throws `conflict` beyond METRICS_MOST. */
  putMetric(input: Omit<StoredMetric, 'updated_at'>): Promise<'new' | 'replaced'>
  getMetric(input: { workspace_id: string; metric_id: string }): Promise<StoredMetric | null>
  /** Returns metrics sorted by id, from the first id greater than `after`. */
  listMetrics(input: { workspace_id: string; after: string; limit: number }): Promise<StoredMetric[]>
  /** Returns the metrics of these ids that exist, sorted by id. */
  findMetrics(input: { workspace_id: string; metric_ids: string[] }): Promise<StoredMetric[]>
  /** With the days that are kept of it. */
  deleteMetric(input: { workspace_id: string; metric_id: string }): Promise<boolean>
}
