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

/**
 * How sure a claim is: `firm` for an adjusted p of at most 0.01, `likely` for at most 0.05, `unclear` for the rest,
 * and `withheld` if a blocker forbids the claim.
 */
export const GRADES = ['firm', 'likely', 'unclear', 'withheld'] as const
export type Grade = (typeof GRADES)[number]

/** A doubt about a claim: a code of docs/verdicts.md, and a sentence for the reader. */
export interface Doubt {
  code: string
  says: string
}

/** What a reader learns about an outcome. */
export interface Verdict {
  /** One sentence without statistics. If there is a blocker, it is the sentence of the first one. */
  headline: string
  grade: Grade
  blockers: Doubt[]
  caveats: Doubt[]
  /** Estimate, interval, test, p and n in one sentence. */
  evidence: string
  /** The headline and the sentences of blockers and caveats. */
  summary: string
  /** The sentences of blockers and caveats. */
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
  /** The column that has one panel for each value; null or absent if there is none. */
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
  /** The files that were read. `etag`: as the server of a fetched file sent it. */
  files: { path: string; bytes: number; fingerprint: string; modified_at: string; etag?: string }[]
  rows: number | null
  format: string
  /** The rule of the rows that the reader sees. `rows` counts these. */
  rule?: string
  /** The condition of a source of Parquet, and what was not fetched of the files that match. `rows` counts the rows that meet it. */
  where?: { text: string; left_out: { files: number; row_groups: number; bytes: number } | null }
  /** The dialect by which a table in text was read. */
  dialect?: FoundDialect
  /** The columns of dates in JSON that can be read in two ways. */
  readings?: FoundColumn[]
  /** The list within the object of a JSON file that holds the rows, such as `data`. */
  list?: string
  /** The query as it was sent, with placeholders for parameters. Only a query over a connection has it, and no files. */
  remote?: {
    connection: string
    kind: string
    query: string
    bytes: number
    elapsed_ms: number
    /** In words, why rows were read here that could have stayed in the database. */
    moved?: string
    /** For a metric whose days are kept: how many came from the kept days, which were read, and why nothing was kept. */
    days?: { kept: number; read: { from: string; until: string }[]; note: string | null }
  }
}

export interface BlockLineage {
  name: string
  kind: 'sql' | 'analysis'
  sql: string | null
  rows: number | null
  elapsed_ms: number
  /** For an analysis in a database: the statements that were sent, and the rows and bytes that came back. */
  asked?: { connection: string; kind: string; sql: string[]; rows: number; bytes: number }
}

/**
 * The lineage of an insight: how it was computed. Only the lineage has elapsed times, memory and host; the Markdown
 * never has.
 */
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
  /** The reader for whom a personal template was run. */
  reader?: { id: string }
  sources: SourceLineage[]
  blocks: BlockLineage[]
  /** The language model that wrote the template; absent if people did. */
  written_by?: string
  /** The metrics that the run used, with their tests. */
  metrics?: MetricLineage[]
  /** Texts that a language model wrote: the blocks it describes, the model, the SHA-256 of the prompt. */
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
  /** The origins of the printed values. Older insights have none. */
  provenance?: Mark[]
  lineage: Lineage
  /** The form of charts that the template asks for. */
  chart_form: ChartForm
  /** The reading of the insight; null in older insights. */
  reading: Reading | null
  created_at: string
}

/** The parts that only the JSON form of an insight shows: JSON as it is stored, in UTF-8. */
export type InsightData = Record<'tables' | 'analyses' | 'facts' | 'lineage', Uint8Array> & {
  provenance: Uint8Array | null
}
/** The data behind the text of a page, as they are stored. */
export type StoredBehind = Pick<InsightData, 'tables' | 'analyses' | 'provenance'>
/** An insight without its data. */
export type InsightHead = Omit<Insight, keyof InsightData>

/** The parts of an insight that its page shows. */
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
  /** The name of the figure, such as "share of late flights". */
  label: string
  value: number
  /** The unit as the template declares it; null for none. */
  unit: string | null
  /** The figure as the insight prints it: "22.3 %". */
  text: string
}

/** What a run gives for its card (insights/insight-card.ts). */
export interface CardFound {
  headline: string | null
  grade: Grade | null
  figure: Figure | null
  /** The period of the report: its first day and its words. Null if the template has none. */
  period: { start: string; label: string } | null
  tags: string[]
  /** The ids of the metrics that the insight is about. */
  metrics?: string[]
  /** The failed tests of its metrics; absent if none failed. */
  failed_tests?: FailedTest[]
  /** The key of the series. It is equal for all runs of a template whose variables differ in nothing but the period. */
  series: string
  /** The text for searches: title, headline and variables in lower case. */
  search: string
}

/** The result of an analysis: an insight without ids. */
export type Findings = Omit<Insight, 'insight_id' | 'assignment_id' | 'created_at'> & {
  skipped: 'condition' | null
  /** The data for the card, which is kept beside the insight, not in it. */
  card?: CardFound
}

/**
 * Returns the placeholder line of a chart. It begins with U+2063, an invisible separator. Escaping removes that
 * character from data, so data cannot forge a placeholder.
 */
export function chartPlaceholder(id: string): string {
  return `\u2063chart:${id}\u2063`
}
export const CHART_PLACEHOLDER = /^\u2063chart:([a-z0-9_-]+)\u2063$/gm

const DoubtView = Type.Object({
  code: Type.String({ description: 'A code of docs/verdicts.md, such as days_missing' }),
  says: Type.String({ description: 'A sentence for the reader' }),
})

/** The fields of every outcome. Each method adds its own. */
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
