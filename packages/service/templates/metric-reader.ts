/**
 * Reads definitions of metrics that clients wrote. Short definitions are read at once, all others by an analysis
 * process of the workspace. Readings are cached.
 */
import { type MetricHead, type MetricText, metricHead } from '@assay/engine/metrics/reader'
import type { Pool } from '@assay/engine/run/pool'
import { LRUCache } from 'lru-cache'
import { createReadings, unreadable } from './readings.ts'

/** Characters that are read at once: at most about 30 ms, most often 3. */
const AT_ONCE = 2000
/** The most cached readings, in characters of their definitions. A reading is at most a few times larger. */
const KEPT_MOST = 5_000_000

export interface MetricReader {
  /** In the same order. Rejects with `preview_failed` where it takes too long, with `workspace_busy` where too many wait. */
  read(metrics: MetricText[], workspace_id: string): Promise<MetricHead[]>
}

/** `patient`: for work of the service itself, whatever the workspace has taken. */
export function createMetricReader(pool: Pick<Pool, 'readMetrics'>, { patient = false } = {}): MetricReader {
  const read = createReadings<MetricText, MetricHead>({
    kept: new LRUCache<string, MetricHead>({ maxSize: KEPT_MOST }),
    keyOf: ({ metric_id, source }) => `${metric_id}\n${source}`,
    lengthOf: ({ source }) => source.length,
    atOnce() {
      let length = 0
      return ({ source }) => (length += source.length) <= AT_ONCE
    },
    readHere: metricHead,
    readThere: (metrics, workspace_id) =>
      pool
        .readMetrics({ kind: 'read-metrics', metrics }, { workspace_id, patient })
        .catch(unreadable('metric')),
    most: Number.POSITIVE_INFINITY,
  })
  return { read }
}
