/** Insights, read in parts: no request parses a table that it does not show. */
import type { Insight, InsightData, InsightHead } from '@assay/model/insight'
import type { Reader, Routine } from '../../rows.ts'
import { statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { INSIGHTS } from '../../tables/jobs/jobs.ts'
import { by } from '../../tables/table.ts'

const HEAD = ['template_id', 'template_version', 'title', 'markdown', 'charts', 'chart_form'] as const
const DATA = ['tables', 'analyses', 'facts', 'lineage'] as const

/** As texts of JSON, so that no driver parses them. */
const texts = (names: readonly string[]): string =>
  names.map((name) => `CAST(body -> '${name}' AS text) AS ${name}`).join(', ')
const WHERE = 'FROM insights WHERE insight_id = :insight_id AND workspace_id = :workspace_id'

const FIND = INSIGHTS.select(by('insight_id', 'workspace_id'))

type Ids = Pick<InsightHead, 'insight_id' | 'assignment_id' | 'created_at'>
const FIND_HEAD = statement<Ids & Record<(typeof HEAD)[number], string>>(
  `SELECT insight_id, assignment_id, created_at, ${texts(HEAD)} ${WHERE}`,
)
const FIND_DATA = statement<InsightData>(`SELECT ${texts(DATA)} ${WHERE}`)

export function* getInsight(from: Reader, input: Input<'getInsight'>): Routine<Insight | null> {
  const row = yield* from.find(FIND, input)
  if (!row) return null
  const { insight_id, assignment_id, created_at, body } = row
  return { insight_id, assignment_id, ...body, created_at } as Insight
}

export function* getInsightHead(from: Reader, input: Input<'getInsightHead'>): Routine<InsightHead | null> {
  const row = yield* from.find(FIND_HEAD, input)
  if (!row) return null
  const { insight_id, assignment_id, created_at, ...texts } = row
  const parsed = Object.entries(texts).map(([name, text]) => [name, JSON.parse(text) as unknown])
  return { insight_id, assignment_id, created_at, ...Object.fromEntries(parsed) } as InsightHead
}

export function* getInsightData(from: Reader, input: Input<'getInsightData'>): Routine<InsightData | null> {
  return (yield* from.find(FIND_DATA, input)) ?? null
}
