/**
 * Reads definitions of metrics that clients wrote. Short definitions are read at once, all others by an analysis
 * process of the workspace. Readings are cached.
 */
import { type MetricHead, type MetricText, metricHead } from '@assay/engine/metrics/reader'
import type { Pool } from '@assay/engine/run/pool'
import { LRUCache } from 'lru-cache'
import { createReadings, unreadable } from './readings.ts'

/** The most characters that are read at once, which takes about 30 ms at most, usually 3. */
const AT_ONCE = 2000
/** The most cached readings, in characters of their definitions. A reading is at most a few times larger. */
const KEPT_MOST = 5_000_000

export interface MetricReader {
  /**
   * Reads the metrics. The readings are in their order. Rejects with `preview_failed` if reading takes too long, and
   * with `workspace_busy` if too many wait.
   */
  read(metrics: MetricText[], workspace_id: string): Promise<MetricHead[]>
}

/** Makes the reader. `patient`: for work of the service itself, which no budget of the workspace stops. */
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
