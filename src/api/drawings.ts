/**
 * The charts of an insight as SVG, drawn in an analysis process and kept while there is room: an insight never changes.
 * Requests for the same insight at the same time share one drawing.
 */
import type { Pool } from '../analysis/pool.ts'
import type { Insight } from '../insight.ts'
import type { Logger } from '../runtime/log.ts'

const MOST_INSIGHTS = 64
const MOST_CHARACTERS = 32_000_000

export interface Drawings {
  /** One SVG for each chart, kept unless the insight has no id; none where they cannot be drawn now: readers then get the charts as text. */
  of(insight: Pick<Insight, 'insight_id' | 'charts'>, workspace_id: string): Promise<string[]>
}

export function createDrawings(pool: Pick<Pool, 'draw'>, log: Logger): Drawings {
  const kept = new Map<string, { svgs: Promise<string[]>; size: number }>()
  let total = 0

  const drop = (insight_id: string): void => {
    total -= kept.get(insight_id)?.size ?? 0
    kept.delete(insight_id)
  }
  const makeRoom = (): void => {
    for (const oldest of kept.keys()) {
      if (kept.size <= MOST_INSIGHTS && total <= MOST_CHARACTERS) return
      drop(oldest)
    }
  }
  async function draw(
    { insight_id, charts }: Pick<Insight, 'insight_id' | 'charts'>,
    workspace_id: string,
  ): Promise<string[]> {
    try {
      const svgs = await pool.draw(
        { kind: 'draw', specs: charts.map((chart) => chart.spec) },
        { workspace_id },
      )
      const entry = kept.get(insight_id)
      if (entry) {
        entry.size = svgs.reduce((sum, svg) => sum + svg.length, 0)
        total += entry.size
        makeRoom()
      }
      return svgs
    } catch (error) {
      log.warn({ err: error, insight_id }, 'the charts of an insight could not be drawn')
      drop(insight_id)
      return []
    }
  }

  return {
    of(insight, workspace_id) {
      if (insight.charts.length === 0) return Promise.resolve([])
      if (insight.insight_id === '') return draw(insight, workspace_id)
      const known = kept.get(insight.insight_id)
      if (known) {
        kept.delete(insight.insight_id)
        kept.set(insight.insight_id, known)
        return known.svgs
      }
      const entry = { svgs: draw(insight, workspace_id), size: 0 }
      kept.set(insight.insight_id, entry)
      makeRoom()
      return entry.svgs
    },
  }
}
