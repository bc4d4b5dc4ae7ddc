/**
 * An insight: the result of a completed job. It never changes. The Markdown holds a placeholder line for each chart
 * (`chartPlaceholder(id)`); the reader chooses the form of the charts.
 */
import type { Static } from 'typebox'
import type { FoundColumn, FoundDialect } from './files/dialect.ts'
import { type Mark, MarkView } from './insights/provenance.ts'
import { type Reading, ReadingView } from './insights/reading.ts'
import type { FailedTest, MetricLineage } from './metric.ts'
import { nullable, Type } from './schema.ts'

/** A value of a query as JSON: integers beyond 2^53 and decimals are strings, dates are in ISO form. */
export type Cell = null | boolean | number | string | Cell[] | { [key: string]: Cell }

const COLUMN_TYPES = [
  'boolean',
  'integer',
  'number',
  'decimal',
  'text',
  'date',
  'timestamp',
  'time',
  'interval',
  'list',
  'struct',
  'other',
] as const
export type ColumnType = (typeof COLUMN_TYPES)[number]

/**
 * A column of a table. Templates and readers see `type`; `database_type` is DuckDB's name. Cells by type: boolean; integer
 * (a number, or a string beyond 2^53); number (a double, or one of the strings "NaN", "Infinity", "-Infinity"); decimal
 * (its digits as a string); date "YYYY-MM-DD"; timestamp "YYYY-MM-DDTHH:MM:SS[.ffffff]", with "Z" if it has a zone; text.
 */
export interface Column {
  name: string
  type: ColumnType
  database_type: string
}

/** A table: the rows of a block. `total` counts all of them; `rows` holds at most `limits.rows`. */
export interface Table {
  columns: Column[]
  rows: Cell[][]
  total: number
}

/** How sure a claim is: adjusted p at most 0.01, at most 0.05, the rest; `withheld` where a blocker forbids the claim. */
export const GRADES = ['firm', 'likely', 'unclear', 'withheld'] as const
export type Grade = (typeof GRADES)[number]

/** What stands against a claim: a code of docs/verdicts.md, and a sentence for the reader. */
export interface Doubt {
  code: string
  says: string
}

/** What a reader is told of an outcome. */
export interface Verdict {
  /** One sentence without statistics. With a blocker: what the first blocker says. */
  headline: string
  grade: Grade
  blockers: Doubt[]
  caveats: Doubt[]
  /** Estimate, interval, test, p and n in one sentence. */
  evidence: string
  /** The headline, then what blockers and caveats say. */
  summary: string
  /** What blockers and caveats say, one by one. */
  notes: string[]
}

/** An outcome: the result of one method, for Liquid and JSON. It holds no NaN and no infinity: null means unknown. */
export interface Outcome extends Verdict {
  n: number
  method: string
  [field: string]: unknown
}

export const CHART_FORMS = ['mermaid', 'image', 'text', 'none'] as const
export type ChartForm = (typeof CHART_FORMS)[number]

/** The forms that a reader may request. `link` leaves `![title](chart:id)`, for readers that draw the charts themselves. */
export const READ_CHART_FORMS = [...CHART_FORMS, 'link'] as const
export type ReadChartForm = (typeof READ_CHART_FORMS)[number]

export const CHART_TYPES = [
  'line',
  'bar',
  'area',
  'point',
  'pie',
  'histogram',
  'forecast',
  'interval',
  'waterfall',
  'heatmap',
  'funnel',
] as const
export type ChartType = (typeof CHART_TYPES)[number]

/** A chart: its columns (enough for mermaid and text) and its Vega-Lite specification. */
export interface Chart {
  id: string
  type: ChartType
  title: string
  block: string
  x: string
  y: string[]
  series: string | null
  /** The column with one panel for each value. */
  by?: string | null
  /** A Vega-Lite 6 specification with the rows inside. */
  spec: Record<string, unknown>
}

export interface Fact {
  name: string
  value: Cell
  text: string
}

export interface SourceLineage {
  name: string
  /** `etag`: as the server of a fetched file sent it. */
  files: { path: string; bytes: number; fingerprint: string; modified_at: string; etag?: string }[]
  rows: number | null
  format: string
  /** Which of its rows the reader sees; `rows` counts these. */
  rule?: string
  /** For a table in text: how it was read. */
  dialect?: FoundDialect
  /** For JSON: the columns of dates that can be read in two ways. */
  readings?: FoundColumn[]
  /** For JSON: the list within the object of the file that holds the rows, such as `data`. */
  list?: string
  /** For a query over a connection, which has no files: the query as it was sent, with placeholders for parameters. */
  remote?: {
    connection: string
    kind: string
    query: string
    bytes: number
    elapsed_ms: number
    /** For rows that could have stayed in the database: what reads them here, in words. */
    moved?: string
    /** Of a metric whose days are kept: how many came from what was kept, what was read, and why nothing was kept. */
    days?: { kept: number; read: { from: string; until: string }[]; note: string | null }
  }
}

export interface BlockLineage {
  name: string
  kind: 'sql' | 'analysis'
  sql: string | null
  rows: number | null
  elapsed_ms: number
  /** For an analysis in a database: the statements sent, and the rows and bytes that came back. */
  asked?: { connection: string; kind: string; sql: string[]; rows: number; bytes: number }
}

/** The lineage of an insight: how it was computed. Elapsed times, memory and host are here only, never in the Markdown. */
export interface Lineage {
  template_id: string
  template_version: string
  /** The commit of the repository that brought this version. */
  template_commit?: string
  assay_version: string
  engine: string
  started_at: string
  time_zone: string
  variables: Record<string, unknown>
  /** Of a personal template: for whom it was run. */
  reader?: { id: string }
  sources: SourceLineage[]
  blocks: BlockLineage[]
  /** The language model that wrote the template, where one did. */
  written_by?: string
  /** The metrics that it used, with their tests. */
  metrics?: MetricLineage[]
  /** Text that a language model wrote: the blocks it describes, the model, the SHA-256 of the prompt. */
  narratives?: { blocks: string[]; model: string; prompt_sha256: string }[]
  elapsed_ms: number
  peak_memory_bytes: number | null
  host: string
}

export interface Insight {
  insight_id: string
  assignment_id: string
  template_id: string
  template_version: string
  title: string
  markdown: string
  tables: Record<string, Table>
  charts: Chart[]
  analyses: Record<string, Outcome>
  facts: Fact[]
  /** Where the printed values come from. Insights from before it was recorded have none. */
  provenance?: Mark[]
  lineage: Lineage
  /** The form that the template asks for. */
  chart_form: ChartForm
  /** Null in insights from before readings were made. */
  reading: Reading | null
  created_at: string
}

/** What only the JSON form of an insight shows: JSON as it is stored, in UTF-8. */
export type InsightData = Record<'tables' | 'analyses' | 'facts' | 'lineage', Uint8Array> & {
  provenance: Uint8Array | null
}
/** The data behind the text of a page, as it is stored. */
export type StoredBehind = Pick<InsightData, 'tables' | 'analyses' | 'provenance'>
/** An insight without its data. */
export type InsightHead = Omit<Insight, keyof InsightData>

/** The part of an insight that its page shows. */
export type PageInsight = Pick<
  Insight,
  | 'insight_id'
  | 'template_id'
  | 'template_version'
  | 'title'
  | 'markdown'
  | 'charts'
  | 'reading'
  | 'created_at'
>

/** The number that an insight is about. */
export interface Figure {
  /** "share of late flights" */
  label: string
  value: number
  /** As the template declares it. */
  unit: string | null
  /** As the insight prints it: "22.3 %". */
  text: string
}

/** What a run tells for its card (insights/insight-card.ts). */
export interface CardFound {
  headline: string | null
  grade: Grade | null
  figure: Figure | null
  /** The period that it reports on: its first day and its words. */
  period: { start: string; label: string } | null
  tags: string[]
  /** The ids of the metrics that it tells of. */
  metrics?: string[]
  /** Those of its metrics; absent: none failed. */
  failed_tests?: FailedTest[]
  /** The same for all runs of a template whose variables differ in nothing but the period. */
  series: string
  /** The title, the headline and the variables in lower case. */
  search: string
}

/** The result of an analysis: an insight without ids. */
export type Findings = Omit<Insight, 'insight_id' | 'assignment_id' | 'created_at'> & {
  skipped: 'condition' | null
  /** For the list of insights; it is kept beside the insight, not in it. */
  card?: CardFound
}

/** U+2063 is an invisible separator. Escaping removes it from data, so data cannot forge a placeholder. */
export function chartPlaceholder(id: string): string {
  return `\u2063chart:${id}\u2063`
}
export const CHART_PLACEHOLDER = /^\u2063chart:([a-z0-9_-]+)\u2063$/gm

const DoubtView = Type.Object({
  code: Type.String({ description: 'A code of docs/verdicts.md, such as days_missing' }),
  says: Type.String({ description: 'A sentence for the reader' }),
})

/** What every outcome holds; each method adds its own fields. */
const OutcomeView = Type.Object(
  {
    headline: Type.String({ description: 'One sentence without statistics' }),
    grade: Type.Enum([...GRADES]),
    blockers: Type.Array(DoubtView),
    caveats: Type.Array(DoubtView),
    evidence: Type.String({ description: 'The statistics in one sentence' }),
    summary: Type.String({ description: 'The headline, then what blockers and caveats say' }),
    n: Type.Integer(),
    method: Type.String(),
    notes: Type.Array(Type.String()),
  },
  { additionalProperties: true },
)

/** The JSON form of an insight. */
export const InsightView = Type.Object(
  {
    insight_id: Type.String({ format: 'uuid' }),
    assignment_id: Type.String({ format: 'uuid' }),
    template_id: Type.String(),
    template_version: Type.String(),
    title: Type.String(),
    markdown: Type.String(),
    tables: Type.Record(Type.String(), Type.Unknown()),
    charts: Type.Array(Type.Record(Type.String(), Type.Unknown())),
    analyses: Type.Record(Type.String(), OutcomeView),
    facts: Type.Array(Type.Record(Type.String(), Type.Unknown())),
    provenance: Type.Optional(
      Type.Array(MarkView, {
        description:
          'Where each printed value comes from, in the order of the Markdown; text without an entry stands in the template. Absent in insights from before it was recorded',
      }),
    ),
    lineage: Type.Record(Type.String(), Type.Unknown()),
    reading: nullable(ReadingView),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Insight' },
)
export type InsightView = Static<typeof InsightView>
