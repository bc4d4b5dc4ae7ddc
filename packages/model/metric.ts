/**
 * A metric: one number over time, defined once and used by any template. The engine reads and computes it; the API lists
 * it as `MetricView`.
 */
import type { Static } from 'typebox'
import { nullable, Type } from './schema.ts'

export const METRIC_ID = '^[a-z_][a-z0-9_]{0,62}$'

/** The steps of a series, from fine to coarse. */
export const GRAINS = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const
export type Grain = (typeof GRAINS)[number]

/** Tells whether a step is at least as coarse as another. Weeks do not make months. */
export function isCoarser(grain: Grain, than: Grain): boolean {
  if (than === 'week' && grain !== 'week') return false
  return GRAINS.indexOf(grain) >= GRAINS.indexOf(than)
}

/**
 * The rules by which values of several steps make one. `sum` adds them, `ratio` divides the sums of numerator and
 * denominator, `minimum` and `maximum` take the extreme, and `none` means that there is no rule (a count of distinct
 * values).
 */
const ADDING = ['sum', 'ratio', 'minimum', 'maximum', 'none'] as const
export type Adding = (typeof ADDING)[number]

export const MetricTarget = Type.Object({
  value: Type.Number(),
  per: Type.Enum([...GRAINS]),
})
export type MetricTarget = Static<typeof MetricTarget>

export const MetricEvent = Type.Object({
  date: Type.String({ description: 'YYYY-MM-DD' }),
  label: Type.String(),
})
export type MetricEvent = Static<typeof MetricEvent>

/** An example of a metric as the service answers it. */
export const METRIC_EXAMPLE = {
  metric_id: 'revenue',
  label: 'Revenue',
  description: 'Paid orders net of refunds',
  version: '0b9f3e6c52d1a874',
  unit: 'EUR',
  fmt: 'eur0',
  good: 'up',
  grain: 'day',
  zone: 'Europe/Berlin',
  adding: 'sum',
  dimensions: ['country'],
  target: { value: 1_000_000, per: 'month' },
  tests: ['not_null: amount', 'fresh: 2d'],
  events: [],
  origin: 'workspace',
  connections: [],
  kept: null,
} as const

const KeptOfMetricView = Type.Object(
  {
    series: Type.Integer({ description: 'One for each definition, "by", rule and address that was read' }),
    days: Type.Integer(),
    bytes: Type.Integer({ description: 'They count in the disk of the workspace, beside its uploads' }),
    most_bytes: Type.Integer({ description: 'The disk of the workspace (max_files_bytes)' }),
    doubt: nullable(Type.String({ description: 'What an audit found, as a sentence' })),
  },
  { title: 'KeptOfMetric' },
)

export const MetricView = Type.Object(
  {
    metric_id: Type.String({ pattern: METRIC_ID }),
    label: Type.String(),
    description: nullable(Type.String()),
    version: Type.String({ description: 'The hash of its definition' }),
    unit: nullable(Type.String()),
    fmt: nullable(Type.String()),
    good: Type.Enum(['up', 'down', 'none']),
    grain: Type.Enum([...GRAINS], { description: 'The finest step of its series' }),
    zone: Type.String(),
    adding: Type.Enum([...ADDING], { description: 'How values of several steps make one' }),
    dimensions: Type.Array(Type.String()),
    target: nullable(MetricTarget),
    tests: Type.Array(Type.String(), { description: 'What must hold of its data, in words' }),
    events: Type.Array(MetricEvent),
    origin: Type.Enum(['shipped', 'folder', 'git', 'workspace']),
    connections: Type.Array(Type.String(), { description: 'The connection that it reads over, if any' }),
    kept: nullable(KeptOfMetricView),
  },
  { title: 'Metric', examples: [METRIC_EXAMPLE] },
)
export type MetricView = Static<typeof MetricView>

/** What a run found out about a metric that it used. It is part of the lineage. */
export interface MetricLineage {
  metric: string
  version: string
  tests: { test: string; ok: boolean; found: string }[]
}

/** A failed test, as the list of insights shows it. */
export const FailedTest = Type.Object({
  metric: Type.String({ description: 'The id of the metric' }),
  label: Type.String({ description: 'Its label, such as "Revenue"' }),
  late: Type.Boolean({ description: 'The newest row is older than the metric allows' }),
  says: Type.String({ description: 'What was found, as a sentence' }),
})
export type FailedTest = Static<typeof FailedTest>

/** A condition that the rows of a metric must meet. */
export type MetricTest =
  | { kind: 'not_null' | 'unique'; column: string }
  | { kind: 'fresh'; ms: number; text: string }
  | { kind: 'accepted'; column: string; values: (string | number | boolean)[] }

/** What the owner of a source promises about the days of a metric, so that their statistics can be kept. */
export interface PartitionRules {
  /** The number of days after the end of a day for which its rows may still arrive. */
  reopen_days: number
  /** Later changes of rows: none is deleted or changed, or the row stays and is marked in the column `changed`. */
  deletes: 'none' | 'marked'
  /** The column with the time at which a row was last written; null if rows are not marked. */
  changed: string | null
}

/** The kinds of statistics that are kept of the rows of a day, from which days are added up. */
export type StatisticKind = 'rows' | 'count' | 'distinct' | 'sum' | 'least' | 'most'

/** What readers, and the methods that read a metric, know of it. */
export interface MetricInfo {
  metric: string
  version: string
  label: string
  description: string | null
  unit: string | null
  fmt: string | null
  good: 'up' | 'down' | 'none'
  /** The meaning of a step without rows. */
  missing: 'gap' | 'zero'
  adding: Adding
  target: MetricTarget | null
  dimensions: string[]
  events: MetricEvent[]
  tests: MetricTest[]
  time: { column: string; grain: Grain; zone: string }
}

/** A metric in a block, and the query whose one row has the results of its tests (null if it has none). */
export interface MetricInBlock {
  info: MetricInfo
  tests: string | null
  /** The source that holds its rows; null if a database adds them up. */
  relation: string | null
  /** The columns of the source that its definition names, each with the key that names it. */
  columns: { column: string; key: string }[]
  /** Further columns that the block asks for. */
  by: string[]
  /** The sources whose days are kept. */
  kept: string[]
}
