/**
 * The HTML page of an insight, rendered in an analysis process. A page is cached, because an insight never changes. Requests
 * for the same page at the same time share one rendering. A page that cannot be rendered is answered as plain Markdown.
 */

import { plainInsightPage } from '@assay/engine/pages/plain-page'
import type { Pool, SmallTaskOptions } from '@assay/engine/run/pool'
import type { RenderTask } from '@assay/engine/run/protocol'
import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import type { PageInsight, StoredBehind } from '@assay/model/insight'
import type { Logger } from '../../runtime/log.ts'
import type { ChartRenderings } from './chart-renderings.ts'
import { createSharedCache, type Made } from './shared-cache.ts'

/** Longest wait of a reader for a free process and the page, in milliseconds. */
const WAIT_MS = 30_000
/** Time in milliseconds before a page that failed is rendered again. Otherwise each reader would occupy a process up to its limit. */
export const FAILED_MS = 300_000

export interface Page {
  /** Bytes, so that a page of many megabytes is encoded once and not for each reader. */
  html: Buffer
  /** True if the page has its layout and every chart. */
  whole: boolean
}

/** Reads what an insight was made from. Returns null if the insight was deleted meanwhile. */
type Behind = () => Promise<StoredBehind | null>

export interface PageRenderings {
  /** Returns the cached page of an insight; `rows` asks for the page with its rows. Undefined if there is none. */
  kept(insight_id: string, rows?: boolean): Page | undefined
  /**
   * Returns the page that is being rendered for readers of links, who then need not read its insight. Undefined if there
   * is none.
   */
  coming(insight_id: string, rows?: boolean): Promise<Page> | undefined
  /**
   * Resolves with the page of an insight, cached if the insight has an id. `reader`: the request is of a reader of a
   * link. `behind`: the page shows the rows, which are read when a process is free. Rejects with `workspace_busy`.
   */
  of(insight: PageInsight, workspace_id: string, asked?: { reader?: boolean; behind?: Behind }): Promise<Page>
}

/** Returns the key of a page. The page with rows has a key of its own. */
const keyOf = (insight_id: string, rows: boolean): string => (rows ? `${insight_id} rows` : insight_id)

/** Returns the part of an insight that an analysis process gets. */
export function shownOf(insight: PageInsight): PageInsight {
  const { insight_id, template_id, template_version, title, markdown, charts, reading, created_at } = insight
  return { insight_id, template_id, template_version, title, markdown, charts, reading, created_at }
}

function textsOf(behind: StoredBehind | null): Record<string, Uint8Array> {
  if (behind === null) return {}
  const { tables, analyses, provenance } = behind
  return { tables, analyses, ...(provenance === null ? {} : { provenance }) }
}

/** Resolves with the page, or with null if no process was free or the rendering took longer than `wait_ms`. */
export async function renderedInTime(
  { pool, clock }: { pool: Pick<Pool, 'render'>; clock: Clock },
  task: RenderTask,
  owner: Omit<SmallTaskOptions, 'signal'>,
  wait_ms = WAIT_MS,
): Promise<string | null> {
  return inTime(clock, wait_ms, (signal) => pool.render(task, { ...owner, signal }))
}

/** Runs a task for at most `wait_ms`, its wait for a free process included. Returns null if it was not done by then. */
export async function inTime<Result>(
  clock: Clock,
  wait_ms: number,
  run: (signal: AbortSignal) => Promise<Result>,
): Promise<Result | null> {
  const [over, tooLong] = [new AbortController(), new AbortController()]
  void clock.sleep(wait_ms, over.signal).then(() => tooLong.abort())
  try {
    return await run(tooLong.signal)
  } catch (error) {
    if (tooLong.signal.aborted) return null
    throw error
  } finally {
    over.abort()
  }
}

export function createPageRenderings(
  { pool, clock, log }: { pool: Pick<Pool, 'render'>; clock: Clock; log: Logger },
  drawings: ChartRenderings,
): PageRenderings {
  const kept = createSharedCache<Page>(() => clock.monotonic())

  function plain(insight: PageInsight, keep_ms: number): Made<Page> {
    const html = Buffer.from(plainInsightPage(insight))
    return { value: { html, whole: false }, size: html.length, keep_ms }
  }

  async function make(
    insight: PageInsight,
    workspace_id: string,
    reader: boolean,
    behind: Behind | undefined,
  ): Promise<Made<Page>> {
    const drawn = await drawings.of(insight, workspace_id, reader)
    const whole = drawn.length === insight.charts.length
    try {
      const task = { kind: 'render', form: 'page', insight: shownOf(insight), drawings: drawn } as const
      const texts = behind && (async () => textsOf(await behind()))
      const owner = { workspace_id, reader, ...(texts ? { texts } : {}) }
      const text = await renderedInTime({ pool, clock }, task, owner)
      if (text === null) return plain(insight, 0)
      const html = Buffer.from(text)
      return { value: { html, whole }, size: html.length, keep_ms: whole ? Number.POSITIVE_INFINITY : 0 }
    } catch (error) {
      if (error instanceof AppError) throw error
      log.warn({ err: error, insight_id: insight.insight_id }, 'the page of an insight could not be rendered')
      return plain(insight, FAILED_MS)
    }
  }

  return {
    kept: (insight_id, rows = false) => kept.get(keyOf(insight_id, rows)),
    coming: (insight_id, rows = false) => kept.coming(keyOf(insight_id, rows), true),
    async of(insight, workspace_id, { reader = false, behind } = {}) {
      const of = () => make(insight, workspace_id, reader, behind)
      const { insight_id } = insight
      if (insight_id === '') return (await of()).value
      return kept.of(keyOf(insight_id, behind !== undefined), of, reader)
    },
  }
}
