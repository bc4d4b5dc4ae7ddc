/** Cards: what the list of insights shows, written with each insight. */
import { createHash } from 'node:crypto'
import type { Findings } from '@assay/model/insight'
import {
  HISTORY_MOST,
  type InsightCard,
  type Point,
  searchable,
  searchWords,
} from '@assay/model/insight-card'
import type { Page } from '../../contract/page.ts'
import { listOf, partsOfReaders, WHOLE } from '../../list.ts'
import type { Reader, Routine } from '../../rows.ts'
import { both, statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { type CardRow, INSIGHT_CARDS } from '../../tables/jobs/insight-cards.ts'
import type { InsightRow } from '../../tables/jobs/jobs.ts'
import { by } from '../../tables/table.ts'
import { heldInsights } from './collections.ts'
import type { OwnedJob } from './job-move.ts'

export const INSERT_CARD = INSIGHT_CARDS.insert()

const SHOWN = INSIGHT_CARDS.except('workspace_id', 'search', 'figure_value', 'metrics')

/** One condition for each searched word. */
const WORDS = ['first_word', 'second_word', 'third_word', 'fourth_word'] as const

const LIST = listOf(INSIGHT_CARDS, {
  columns: SHOWN,
  id: 'insight_id',
  filters: {
    ...Object.fromEntries(WORDS.map((word) => [word, `search LIKE :${word} ESCAPE '\\'`])),
    tag: `CAST(tags AS text) LIKE :tag ESCAPE '\\'`,
    metric: `CAST(metrics AS text) LIKE :metric ESCAPE '\\'`,
    grade: 'grade = :grade',
    tests: `failed_tests IS NOT NULL AND :tests = 'failed' AND NOT EXISTS (
      SELECT 1 FROM insight_cards AS later
      WHERE later.workspace_id = insight_cards.workspace_id AND later.series = insight_cards.series
        AND (later.created_at, later.insight_id) > (insight_cards.created_at, insight_cards.insight_id))`,
    insight_ids: 'insight_id = ANY (:insight_ids)',
    template_ids: 'template_id = ANY (:template_ids)',
    seen_by: '(reader_id IS NULL OR reader_id = :seen_by)',
  },
  indexed: [
    // The insights of this filter are few.
    ['workspace_id', 'insight_ids'],
    ['workspace_id', 'reader_id'],
    // Insights with failed tests have an index of their own.
    ['workspace_id', 'tests'],
    ['workspace_id', 'series'],
    ['workspace_id', 'template_id'],
    ['workspace_id'],
  ],
  // A series belongs to one reader or to nobody. Named insights are few.
  parts(given) {
    if (['reader_id', 'tests', 'series', 'insight_ids'].some((field) => given.includes(field))) return WHOLE
    const own = partsOfReaders(given)
    return { sqlite: own, postgres: own }
  },
})

/**
 * The most runs that the query of a history reads. They are more than the points, because repeated runs of a period
 * make one point.
 */
const LOOKED_AT = 3 * HISTORY_MOST

const HISTORY = statement<{
  insight_id: string
  history: [string, string, string | null, string | null, number][]
}>(
  both((database) => {
    const [list, all] =
      database === 'sqlite' ? ['json_array', 'json_group_array'] : ['json_build_array', 'json_agg']
    return `SELECT insight_id, (
        SELECT ${all}(${list}(id, at, period, period_start, value)) FROM (
          SELECT insight_id AS id, created_at AS at, period, period_start, figure_value AS value
          FROM insight_cards AS earlier
          WHERE earlier.workspace_id = card.workspace_id AND earlier.series = card.series
            AND (earlier.created_at, earlier.insight_id) <= (card.created_at, card.insight_id)
          ORDER BY created_at DESC, insight_id DESC LIMIT ${LOOKED_AT}) AS latest) AS history
      FROM insight_cards AS card WHERE workspace_id = :workspace_id AND insight_id = ANY (:insight_ids)`
  }),
  { history: 'json' },
)

const TITLES = INSIGHT_CARDS.select(
  'WHERE workspace_id = :workspace_id AND insight_id = ANY (:insight_ids)',
  ['insight_id', 'title'],
)

const READER = INSIGHT_CARDS.select(by('insight_id', 'workspace_id'), ['reader_id'])

export function* insightReader(
  from: Reader,
  input: Input<'insightReader'>,
): Routine<Pick<CardRow, 'reader_id'> | null> {
  return (yield* from.find(READER, input)) ?? null
}

export function insightTitles(
  from: Reader,
  input: Input<'insightTitles'>,
): Routine<{ insight_id: string; title: string }[]> {
  return from.all(TITLES, input)
}

/** Returns the series of a reader. Runs of other readers are neither history nor comparison. */
function seriesOf(series: string, reader_id: string | null): string {
  if (reader_id === null) return series
  return createHash('sha256').update(`${series}\n${reader_id}`).digest('hex').slice(0, 32)
}

/** Returns the row of the job's insight. An insight without a card of its own has only its title. */
export function cardRow(job: OwnedJob, { insight_id, created_at }: InsightRow, findings: Findings): CardRow {
  const { assignment_id, workspace_id, template_id, user_id, schedule_id, reader_id } = job
  const { title, card } = findings
  return {
    insight_id,
    assignment_id,
    workspace_id,
    template_id,
    title,
    headline: card?.headline ?? null,
    grade: card?.grade ?? null,
    figure: card?.figure ?? null,
    figure_value: card?.figure?.value ?? null,
    period: card?.period?.label ?? null,
    period_start: card?.period?.start ?? null,
    series: seriesOf(card?.series ?? insight_id, reader_id),
    failed_tests: card?.failed_tests ?? null,
    tags: card?.tags ?? [],
    metrics: card?.metrics ?? [],
    search: card?.search ?? searchable(title),
    user_id,
    schedule_id,
    reader_id,
    created_at,
  }
}

/** Returns the LIKE pattern for a text anywhere in a column. */
function anywhere(text: string): string {
  return `%${text.replaceAll(/[\\%_]/g, '\\$&')}%`
}

/** Returns one point for each period, newest last. None is after the card's own period. */
function pointsOf(
  own: string | null,
  history: readonly [string, string, string | null, string | null, number][],
): Point[] {
  const points = new Map<string, Point & { start: string }>()
  for (const [insight_id, at, period, period_start, value] of history) {
    const created_at = new Date(at).toISOString()
    const start = period_start ?? created_at
    if ((own === null || start <= own) && !points.has(start))
      points.set(start, { insight_id, created_at, period, value, start })
  }
  return [...points.values()]
    .toSorted((one, other) => (one.start < other.start ? -1 : 1))
    .slice(-HISTORY_MOST)
    .map(({ start: _start, ...point }) => point)
}

export function* listInsights(from: Reader, input: Input<'listInsights'>): Routine<Page<InsightCard>> {
  const { q, tag, metric_id, collection_id, insight_id, with_history = true, ...query } = input
  const words = Object.fromEntries(searchWords(q ?? '').map((word, nth) => [WORDS[nth]!, anywhere(word)]))
  const given: Record<string, unknown> = {}
  if (tag !== undefined) given.tag = anywhere(JSON.stringify(tag))
  if (metric_id !== undefined) given.metric = anywhere(JSON.stringify(metric_id))
  if (collection_id !== undefined) {
    const held = yield* heldInsights(from, input)
    given.insight_ids = insight_id === undefined ? held : held.filter((id) => id === insight_id)
  }
  const { items, next_cursor } = yield* LIST.page(from, { ...query, ...words, ...given })
  const measured = items
    .filter(({ figure }) => with_history && figure !== null)
    .map((card) => card.insight_id)
  const rows =
    measured.length === 0
      ? []
      : yield* from.all(HISTORY, { workspace_id: input.workspace_id, insight_ids: measured })
  const histories = new Map(rows.map(({ insight_id, history }) => [insight_id, history]))
  return {
    items: items.map(({ period_start, ...card }) => ({
      ...card,
      history: pointsOf(period_start, histories.get(card.insight_id) ?? []),
    })),
    next_cursor,
  }
}
