/** Insights, read in parts: no request parses a table that it does not show. */
import type { Insight, InsightData, InsightHead } from '@assay/model/insight'
import { LOOKED_AT_MOST } from '../../list.ts'
import type { Reader, Routine } from '../../rows.ts'
import { both, statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { INSIGHTS } from '../../tables/jobs/jobs.ts'
import { by } from '../../tables/table.ts'

export const HEAD = [
  'template_id',
  'template_version',
  'title',
  'markdown',
  'charts',
  'chart_form',
  'reading',
] as const
export const DATA = ['tables', 'analyses', 'facts', 'provenance', 'lineage'] as const

/** Lists columns as texts of JSON, so that no driver parses them. */
const texts = (names: readonly string[]): string =>
  names.map((name) => `CAST(body -> '${name}' AS text) AS ${name}`).join(', ')
const WHERE = 'FROM insights WHERE insight_id = :insight_id AND workspace_id = :workspace_id'

const FIND = INSIGHTS.select(by('insight_id', 'workspace_id'))

// Finds the newest first, by the index of schedules, templates or readers, because a schedule may have many thousands
// of insights. PostgreSQL compares the variables as jsonb, SQLite as the text that we wrote.
const lastOf = (of: string, also: string) =>
  statement<{ analyses: string }>(
    both(
      (database) => `SELECT CAST(body -> 'analyses' AS text) AS analyses FROM insights WHERE insight_id = (
        SELECT insight_id FROM (
          SELECT * FROM jobs WHERE workspace_id = :workspace_id AND ${of} = :${of} AND owner IS NULL
            ${of === 'template_id' ? 'AND reader_id IS NULL' : ''}
          ORDER BY created_at DESC, assignment_id DESC LIMIT ${LOOKED_AT_MOST}
        ) AS latest
        WHERE job_status = 'completed' AND skipped IS NULL AND insight_id IS NOT NULL AND ${also}
          AND ${database === 'sqlite' ? 'variables = :variables' : 'CAST(variables AS jsonb) = CAST(:variables AS jsonb)'}
        ORDER BY created_at DESC, assignment_id DESC LIMIT 1)`,
    ),
    { variables: 'json' },
  )
const OF_SCHEDULE = 'schedule_id = :schedule_id AND template_id = :template_id'
const OF_TEMPLATE =
  "template_id = :template_id AND schedule_id IS NULL AND coalesce(presence_name, '') = :presence_name"
const LAST_OF_SCHEDULE = lastOf('schedule_id', `reader_id IS NULL AND ${OF_SCHEDULE}`)
const LAST_OF_TEMPLATE = lastOf('template_id', `reader_id IS NULL AND ${OF_TEMPLATE}`)
const HER_LAST_OF_SCHEDULE = lastOf('reader_id', OF_SCHEDULE)
const HER_LAST_OF_TEMPLATE = lastOf('reader_id', OF_TEMPLATE)

type Ids = Pick<InsightHead, 'insight_id' | 'assignment_id' | 'created_at'>
const FIND_HEAD = statement<Ids & Record<(typeof HEAD)[number], string>>(
  `SELECT insight_id, assignment_id, created_at, ${texts(HEAD)} ${WHERE}`,
)
const FIND_DATA = statement<Record<(typeof DATA)[number], string | null>>(`SELECT ${texts(DATA)} ${WHERE}`)

// Neither database reads the insight for it.
const BYTES = statement<{ bytes: number }>(
  both(
    (database) =>
      `SELECT CAST(${database === 'sqlite' ? 'octet_length(body)' : 'bytes'} AS integer) AS bytes ${WHERE}`,
  ),
)

export function* insightBytes(from: Reader, input: Input<'insightBytes'>): Routine<number | null> {
  return (yield* from.find(BYTES, input))?.bytes ?? null
}

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
  const row = yield* from.find(FIND_DATA, input)
  if (!row) return null
  const bytes = Object.entries(row).map(([name, text]) => [name, text === null ? null : Buffer.from(text)])
  return Object.fromEntries(bytes) as InsightData
}

export function* lastDelivered(from: Reader, input: Input<'lastDelivered'>): Routine<string | null> {
  const presence_name = input.presence_name ?? ''
  const [ofTemplate, ofSchedule] =
    (input.reader_id ?? null) === null
      ? [LAST_OF_TEMPLATE, LAST_OF_SCHEDULE]
      : [HER_LAST_OF_TEMPLATE, HER_LAST_OF_SCHEDULE]
  const last = input.schedule_id === null ? ofTemplate : ofSchedule
  const row = yield* from.find(last, { ...input, presence_name })
  return row?.analyses ?? null
}
