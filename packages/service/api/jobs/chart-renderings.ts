/**
 * The charts of an insight as SVG, drawn in an analysis process. They are cached, because an insight never changes. Requests for
 * the same insight at the same time share one drawing.
 */
import { type Drawing, drawingsOf } from '@assay/engine/pages/chart-figure'
import type { Pool } from '@assay/engine/run/pool'
import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import type { Insight } from '@assay/model/insight'
import type { Logger } from '../../runtime/log.ts'
import { createSharedCache, type Made } from './shared-cache.ts'

type Charted = Pick<Insight, 'insight_id' | 'charts'>

export interface ChartRenderings {
  /**
   * Resolves with a wide and a narrow SVG for each chart, cached if the insight has an id. The list is empty if the
   * charts cannot be drawn now: readers then get them as text. `reader`: the request is of a reader of a link.
   * Rejects with `workspace_busy`.
   */
  of(insight: Charted, workspace_id: string, reader?: boolean): Promise<Drawing[]>
}

export function createChartRenderings(pool: Pick<Pool, 'draw'>, clock: Clock, log: Logger): ChartRenderings {
  const kept = createSharedCache<Drawing[]>(() => clock.monotonic())

  async function draw(
    { insight_id, charts }: Charted,
    workspace_id: string,
    reader: boolean,
  ): Promise<Made<Drawing[]>> {
    try {
      const svgs = await pool.draw(
        { kind: 'draw', form: 'pages', specs: charts.map((chart) => chart.spec) },
        { workspace_id, reader },
      )
      const size = svgs.reduce((sum, svg) => sum + svg.length, 0)
      return { value: drawingsOf(svgs), size, keep_ms: Number.POSITIVE_INFINITY }
    } catch (error) {
      if (error instanceof AppError) throw error
      log.warn({ err: error, insight_id }, 'the charts of an insight could not be drawn')
      return { value: [], size: 0, keep_ms: 0 }
    }
  }

  return {
    async of(insight, workspace_id, reader = false) {
      if (insight.charts.length === 0) return []
      const make = () => draw(insight, workspace_id, reader)
      return insight.insight_id === '' ? (await make()).value : kept.of(insight.insight_id, make, reader)
    },
  }
}
