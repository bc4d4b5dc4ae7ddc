/**
 * The printed document of an insight as PDF, set in an analysis process. It is cached, because an insight never changes. Requests for
 * the same document at the same time share one setting.
 */

import type { Pool } from '@assay/engine/run/pool'
import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import type { PageInsight } from '@assay/model/insight'
import type { Logger } from '../../runtime/log.ts'
import type { ChartRenderings } from './chart-renderings.ts'
import { busyWith, fileFault } from './file-fault.ts'
import { FAILED_MS, renderedInTime, shownOf } from './page-renderings.ts'
import { createSharedCache, type Made } from './shared-cache.ts'

/** Longest wait of a reader for a free process and the document, in milliseconds: common proxies give up after 60 s. */
const WAIT_MS = 45_000

const TOO_LONG =
  'This insight is too long to be set as PDF in the time and memory that one has. Ask for text/html, which shows all of it.'

export interface PrintedInsight {
  pdf: Buffer
  /** True if the document has every chart as a drawing. */
  whole: boolean
}

export interface DocumentRenderings {
  /**
   * Resolves with the document. Rejects with `workspace_busy`, with `not_acceptable` if the insight is too long, and
   * with `internal` if a fault of the service ends the setting.
   */
  of(insight: PageInsight, workspace_id: string): Promise<PrintedInsight>
}

export function createDocumentRenderings(
  { pool, clock, log }: { pool: Pick<Pool, 'render'>; clock: Clock; log: Logger },
  drawings: ChartRenderings,
): DocumentRenderings {
  const kept = createSharedCache<PrintedInsight | AppError>(() => clock.monotonic())

  async function make(insight: PageInsight, workspace_id: string): Promise<Made<PrintedInsight | AppError>> {
    const drawn = await drawings.of(insight, workspace_id)
    const whole = drawn.length === insight.charts.length
    try {
      const task = { kind: 'render', form: 'pdf', insight: shownOf(insight), drawings: drawn } as const
      const text = await renderedInTime({ pool, clock }, task, { workspace_id }, WAIT_MS)
      if (text === null) throw busyWith('the PDF', WAIT_MS)
      const pdf = Buffer.from(text, 'base64')
      const keep_ms = whole ? Number.POSITIVE_INFINITY : 0
      return { value: { pdf, whole }, size: pdf.length, keep_ms }
    } catch (error) {
      const refusal = fileFault(error, TOO_LONG)
      // What will be otherwise in a moment is not kept.
      if (refusal === error || !(refusal instanceof AppError) || refusal.code === 'stopping') throw refusal
      log.warn({ err: error, insight_id: insight.insight_id }, 'the PDF of an insight could not be set')
      return { value: refusal, size: 0, keep_ms: FAILED_MS }
    }
  }

  return {
    async of(insight, workspace_id) {
      const of = () => make(insight, workspace_id)
      const made = insight.insight_id === '' ? (await of()).value : await kept.of(insight.insight_id, of)
      if (made instanceof AppError) throw made
      return made
    },
  }
}
