/**
 * A template: one Markdown file, parsed, with its variables, sources and blocks. The engine parses, checks and runs it; the
 * API lists it as `TemplateView`.
 */
import type { Static } from 'typebox'
import type { FieldError } from './errors.ts'
import type { Dialect } from './files/dialect.ts'
import type { ChartForm } from './insight.ts'
import type { RowRule } from './insights/reader.ts'
import type { Grain, MetricInBlock, PartitionRules, StatisticKind } from './metric.ts'
import { nullable, Type } from './schema.ts'

export const TEMPLATE_ID = '^[a-z0-9][a-z0-9_-]{0,127}$'

export const VARIABLE_TYPES = [
  'string',
  'integer',
  'number',
  'boolean',
  'date',
  'timestamp',
  'period',
  'column',
  'file',
  'list',
] as const
export type VariableType = (typeof VARIABLE_TYPES)[number]

const Bound = Type.Unsafe<unknown>(Type.Union([Type.Number(), Type.String(), Type.Null()]))
const Value = Type.Union([Type.String(), Type.Number(), Type.Boolean()])

export const VariableView = Type.Object({
  name: Type.String(),
  type: Type.Enum([...VARIABLE_TYPES]),
  required: Type.Boolean(),
  default: Type.Unsafe<unknown>(Type.Union([Value, Type.Array(Value), Type.Null()])),
  description: nullable(Type.String()),
  enum: Type.Unsafe<unknown[] | null>(nullable(Type.Array(Value))),
  min: Bound,
  max: Bound,
  pattern: nullable(Type.String()),
})
export type VariableView = Static<typeof VariableView>

export interface Variable extends VariableView {
  max_length: number | null
  /** Of a `list`: the type of its items. */
  items: VariableType | null
  /** Of a `column`: the source whose column the value names. */
  of: string | null
  /** Of a `period`: relative periods count back from the latest value of this `source.column`. */
  until: string | null
  line: number
}

export const ORIGINS = ['shipped', 'folder', 'git', 'workspace'] as const
export type Origin = (typeof ORIGINS)[number]

export const TemplateView = Type.Object(
  {
    template_id: Type.String({ pattern: TEMPLATE_ID }),
    title: Type.String(),
    description: nullable(Type.String()),
    version: Type.String(),
    variables: Type.Array(VariableView),
    tags: Type.Array(Type.String()),
    origin: Type.Enum([...ORIGINS]),
    commit_id: nullable(
      Type.String({ description: 'Of a template of the repository: the commit that brought this version' }),
    ),
    connections: Type.Array(Type.String(), {
      description: 'The names of the connections that its sources use',
    }),
    personal: Type.Boolean({
      description:
        'A source or a metric of it has a rule of rows, or it reads "reader": each run needs a reader',
    }),
    reader_attributes: Type.Array(Type.String(), {
      description: 'The attributes beside "id" that a reader must have',
    }),
  },
  { title: 'Template' },
)
export type TemplateView = Static<typeof TemplateView>

/** A fault in a template, with a remedy. Lines and columns count from 1. */
export const Fault = Type.Object(
  {
    line: Type.Integer(),
    column: Type.Integer(),
    code: Type.String({ description: 'A short name such as unknown_key' }),
    message: Type.String(),
    remedy: Type.String(),
    severity: Type.Enum(['error', 'warning']),
    /** The name of the partial that has the fault; null for the template itself. */
    partial: nullable(Type.String()),
  },
  { title: 'Fault' },
)
export type Fault = Static<typeof Fault>

export function faultToFieldError(fault: Fault): FieldError {
  return {
    path: fault.partial ?? 'template',
    message: `${fault.message} ${fault.remedy}`,
    line: fault.line,
    column: fault.column,
  }
}

/** A query in a database's own SQL dialect. */
export interface SourceQuery {
  text: string
  /** Returns the position in the template of an offset into `text`. */
  placeOf(offset: number): { line: number; column: number }
  /**
   * Of a metric: returns the query in the dialect of the connection's kind. `condition`: SQL of the rule; null counts
   * each row.
   */
  textFor?: (kind: string, condition: string | null) => string
  /**
   * Of a metric: the rule of the rows that count for a reader, and a query of the columns that the rule names, which
   * gives their types.
   */
  rule?: RowRule | null
  ruleColumns?: (kind: string) => string
  /** The zone in which the database cuts days. The default is that of the template. */
  zone?: string
  /**
   * Of a metric's series: returns a query of the one column that is cut into days, in the dialect of the connection's
   * kind.
   */
  timeFor?: (kind: string) => string
  /** Of a metric with statistics by day, or of a block whose rows are kept by day. */
  partitions?: PartitionedQuery
}

/** The column whose days divide the rows of a block, and the promises of the source. */
export interface BlockDays {
  column: string
  rules: PartitionRules
}

/** The days of a metric or of a block: the queries of them, and the promises of the source. */
export interface PartitionedQuery {
  /** The name under which the days are kept: that of the metric, or TEMPLATE/BLOCK. */
  metric: string
  rules: PartitionRules
  grain: Grain
  by: readonly string[]
  statistics: readonly StatisticKind[]
  /** SQL of the days between which rows count: two days, or `$name.start` and `$name.end`. Null counts all days. */
  period: { start: string; end: string } | null
  /**
   * Returns the query of the rows, each with its step, its keys and the values of its statistics. `wide`: the values
   * whose sum needs more than 64 bits. `condition`: SQL of the rule of the rows; null lets each row count. `block`: the
   * query of a block without an end, and its columns.
   */
  rowsFor(
    kind: string,
    window: PartitionWindow,
    wide: readonly boolean[],
    condition: string | null,
    block: { text: string; columns: readonly string[] },
  ): string
  /** Returns the query of one row: the first day of all rows. `text`: the query of a block. */
  firstFor(kind: string, text: string): string
  /** Returns the query of the days of rows that were marked since a day. `text`: the query of a block. */
  changedFor(kind: string, text: string): string
  /** Of a block, whose rows are kept as they are: the column whose days divide them. */
  day?: string
  /** Of tests, for which rows without a time count, too: the names of their counts, and the latest time of a row. */
  untimed?: {
    names: readonly string[]
    newestFor(kind: string, window: PartitionWindow, condition: string | null): string
  }
}

/**
 * Tells whether rows are read from PARTITION_FROM on, and before PARTITION_UNTIL; or those without a time.
 */
export type PartitionWindow = { from: boolean; until: boolean } | 'untimed'

/** A source: files of the data folder or a connection, or the rows of a query over a connection. */
export interface Source {
  name: string
  /** The connection; null reads the data folder. */
  connection: { name: string; line: number; column: number } | null
  /** The file as it is written; it may hold Liquid over `vars`. Null if there is a query. */
  file: string | null
  query: SourceQuery | null
  /** Declared column types. */
  columns: Record<string, string>
  /** The declared dialect of its files. */
  dialect: Dialect
  /** The rule of the rows that a reader sees. Absent or null for all rows. */
  rows?: RowRule | null
  /** The condition on the rows that are read of Parquet. What can hold none of them is not fetched. */
  where?: { text: string; placeOf(offset: number): { line: number; column: number } } | null
  /** True if its rows stay in the database, so that analyses ask it for what they need. */
  stays?: boolean
  /** The position of `file` or `query`. */
  line: number
  column: number
}

/** The limits of a run: milliseconds, bytes, counts. */
export interface Limits {
  timeout_ms: number
  memory_bytes: number
  threads: number
  rows: number
  output_bytes: number
}

export const DEFAULT_LIMITS: Limits = {
  timeout_ms: 60_000,
  memory_bytes: 1_000_000_000,
  threads: 1,
  rows: 10_000,
  output_bytes: 10_000_000,
}

export interface SqlBlock {
  kind: 'sql'
  name: string
  sql: string
  /** The line of the first line of SQL in the source. */
  line: number
  /** The metrics of a fence `metric NAME`, from which `sql` is made. */
  metrics?: readonly MetricInBlock[]
  /** The variable that lists the metrics, and the block and its sources for its values. */
  metricsOf?: string
  expand?: (values: Record<string, unknown>) => { block: SqlBlock; sources: Source[]; faults: Fault[] }
}

export interface AnalysisBlock {
  kind: 'analysis'
  name: string
  method: string
  of: string
  /** The keys other than `method` and `of`, as YAML gives them. */
  options: Record<string, unknown>
  /** The line of the first line of YAML. */
  line: number
  /** The line of each key (`method`, `of`, options). */
  lines: Record<string, number>
}

export type Block = SqlBlock | AnalysisBlock

/** The meaning of a column to a reader. Sentences, tables and axes use it wherever a column has that name. */
export interface ColumnMeaning {
  label: string | null
  /** The unit, such as "minutes", "EUR" or "%". */
  unit: string | null
  /** A format code (docs/templates/text.md). */
  fmt: string | null
  /** The direction that is good. */
  good: 'up' | 'down' | 'none'
  target: number | null
}

/**
 * A figure that the page shows as a tile: an analysis, or a column or field of a block, with its position in the
 * front matter.
 */
export interface TileChoice {
  block: string
  field: string | null
  line: number
  column: number
}

/** The settings of the front matter, with defaults filled in. */
export interface TemplateSettings {
  description: string | null
  tags: string[]
  /** The language model that wrote the template; null if people did. */
  written_by: string | null
  variables: Variable[]
  sources: Source[]
  time_zone: string
  limits: Limits
  charts: ChartForm
  deliver_if: { expression: string; line: number } | null
  lineage: boolean
  /** The meanings, by the column's name in lower case. */
  columns: Map<string, ColumnMeaning>
  /** Null if the tiles are chosen by the outcomes. */
  tiles: TileChoice[] | null
}

export interface Template extends TemplateSettings {
  template_id: string
  version: string
  /** The title. It may hold Liquid over `vars`. */
  title: string
  title_line: number
  /** The blocks in the order of the file. */
  blocks: Block[]
  /** The source with front matter and fences blanked out, so its line numbers are those of the source. */
  body: string
  source: string
  partials: Record<string, string>
}

/** A template as text, as stored with a job and passed to the analysis. `partials` holds the partials it can include. */
export interface TemplateSource {
  template_id: string
  version: string
  source: string
  partials: Record<string, string>
  /** The commit of the repository that brought it. Null or absent if it comes from elsewhere. */
  commit_id?: string | null
}
