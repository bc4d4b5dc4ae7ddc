/**
 * The HTML page of an insight, rendered in an analysis process and kept while there is room: an insight never changes.
 * Requests for the same page at the same time share one rendering. Whatever the Markdown is, a reader gets an answer.
 */

import { plainInsightPage } from '@assay/engine/pages/insight-page'
import type { Pool } from '@assay/engine/run/pool'
import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import type { PageInsight } from '@assay/model/insight'
import type { Logger } from '../../runtime/log.ts'
import type { ChartRenderings } from './chart-renderings.ts'
import { createSharedCache, type Made } from './shared-cache.ts'

/** A reader waits no longer for a process that is free and for its page. */
const WAIT_MS = 30_000
/** A page that failed is tried again after so long: else each of its readers would hold a process up to the limit. */
const FAILED_MS = 300_000

export interface Page {
  html: string
  /** As the insight is: laid out, with every drawing. */
  whole: boolean
}

export interface PageRenderings {
  /** The page of an insight, where it has been rendered and is kept. */
  kept(insight_id: string): Page | undefined
  /** SharedCache unless the insight has no id; where it cannot be rendered now, its Markdown as it is. Rejects with `workspace_busy`. */
  of(insight: PageInsight, workspace_id: string): Promise<Page>
}

export function createPageRenderings(
  { pool, clock, log }: { pool: Pick<Pool, 'render'>; clock: Clock; log: Logger },
  drawings: ChartRenderings,
): PageRenderings {
  const kept = createSharedCache<Page>(() => clock.monotonic())

  /** Null: no process was free for it in time. */
  async function rendered(
    insight: PageInsight,
    svgs: string[],
    workspace_id: string,
  ): Promise<string | null> {
    const { insight_id, template_id, template_version, title, markdown, charts, created_at } = insight
    const shown = { insight_id, template_id, template_version, title, markdown, charts, created_at }
    const [over, tooLong] = [new AbortController(), new AbortController()]
    void clock.sleep(WAIT_MS, over.signal).then(() => tooLong.abort())
    try {
      return await pool.render(
        { kind: 'render', form: 'page', insight: shown, svgs },
        { workspace_id, signal: tooLong.signal },
      )
    } catch (error) {
      if (tooLong.signal.aborted) return null
      throw error
    } finally {
      over.abort()
    }
  }

  function plain(insight: PageInsight, keep_ms: number): Made<Page> {
    const html = plainInsightPage(insight)
    return { value: { html, whole: false }, size: html.length, keep_ms }
  }

  async function make(insight: PageInsight, workspace_id: string): Promise<Made<Page>> {
    const svgs = await drawings.of(insight, workspace_id)
    const whole = svgs.length === insight.charts.length
    try {
      const html = await rendered(insight, svgs, workspace_id)
      if (html === null) return plain(insight, 0)
      return { value: { html, whole }, size: html.length, keep_ms: whole ? Number.POSITIVE_INFINITY : 0 }
    } catch (error) {
      if (error instanceof AppError) throw error
      log.warn({ err: error, insight_id: insight.insight_id }, 'the page of an insight could not be rendered')
      return plain(insight, FAILED_MS)
    }
  }

  return {
    kept: (insight_id) => kept.get(insight_id),
    async of(insight, workspace_id) {
      if (insight.insight_id === '') return (await make(insight, workspace_id)).value
      return kept.of(insight.insight_id, () => make(insight, workspace_id))
    },
  }
}
