/**
 * Reads definitions of metrics that clients wrote. Short definitions are read at once, all others by an analysis
 * process of the workspace. Readings are cached.
 */
import { type MetricHead, type MetricText, metricHead } from '@assay/engine/metrics/reader'
import { type Pool, TaskError } from '@assay/engine/run/pool'
import { AppError } from '@assay/model/errors'
import { LRUCache } from 'lru-cache'

/** Characters that are read at once: at most about 30 ms, most often 3. */
const AT_ONCE = 2000
/** The most cached readings, in characters of their definitions. A reading is at most a few times larger. */
const KEPT_MOST = 5_000_000

export interface MetricReader {
  /** In the same order. Rejects with `preview_failed` where it takes too long, with `workspace_busy` where too many wait. */
  read(metrics: MetricText[], workspace_id: string): Promise<MetricHead[]>
}

function unreadable(error: unknown): never {
  if (!(error instanceof TaskError)) throw error
  throw new AppError('preview_failed', `The metric could not be read: ${error.message}`, { cause: error })
}

/** `patient`: for work of the service itself, whatever the workspace has taken. */
export function createMetricReader(pool: Pick<Pool, 'readMetrics'>, { patient = false } = {}): MetricReader {
  const kept = new LRUCache<string, MetricHead>({ maxSize: KEPT_MOST })
  const keyOf = ({ metric_id, source }: MetricText): string => `${metric_id}\n${source}`
  return {
    async read(metrics, workspace_id) {
      const heads = new Map<string, MetricHead>()
      const later: MetricText[] = []
      let length = 0
      for (const metric of metrics) {
        const known = kept.get(keyOf(metric))
        if (known) heads.set(keyOf(metric), known)
        else if ((length += metric.source.length) > AT_ONCE) later.push(metric)
        else heads.set(keyOf(metric), metricHead(metric))
      }
      const task = { kind: 'read-metrics' as const, metrics: later }
      const read =
        later.length === 0 ? [] : await pool.readMetrics(task, { workspace_id, patient }).catch(unreadable)
      for (const [index, head] of read.entries()) heads.set(keyOf(later[index]!), head)
      for (const [key, head] of heads) kept.set(key, head, { size: key.length })
      return metrics.map((metric) => heads.get(keyOf(metric))!)
    },
  }
}
