/**
 * The tasks of an analysis process, their results, and the messages between it and its parent: JSON over the IPC channel
 * of fork(). A process does one task at a time; `cancel` interrupts it, and the parent kills a process that does not stop.
 */

import type { OpenConnection } from '@assay/model/connection'
import type { FoundColumn, FoundDialect } from '@assay/model/dialect'
import type { JobErrorCode } from '@assay/model/errors'
import type { Explained } from '@assay/model/explained'
import type { Cell, Chart, Column, Findings, Outcome, PageInsight } from '@assay/model/insight'
import type { Progress, RunStep } from '@assay/model/job'
import type { Reader } from '@assay/model/reader'
import type { Reading } from '@assay/model/reading'
import type { Fault, Limits, TemplateSource, Variable } from '@assay/model/template'
import type { StoredTables, TablesFile } from '../export/tables.ts'
import type { MetricHead, MetricText } from '../metrics/reader.ts'
import type { Drawing } from '../pages/chart-figure.ts'
import type { AuditedDay, KeptDays, KeptSeries, PartitionKeeper } from '../partitions/keeper.ts'
import type { Narrated } from '../printing/narrative.ts'
import type { ReadHead } from '../reading/lookup.ts'
import type { Roots } from '../sources/roots.ts'
import type { ConvertedVariables } from '../values/variables.ts'

export type { Roots } from '../sources/roots.ts'

/** The argument by which a process skips the warm-up. */
export const COLD = '--cold'

/** The highest limits a template may set. */
export type Caps = Limits

export interface RunTask {
  kind: 'run'
  template: TemplateSource
  variables: Record<string, unknown>
  /** The start of the job by RFC 3339, from which periods are counted. */
  started_at: string
  /** The analyses of the last delivered insight, for `new`; null or absent if there is none. */
  delivered?: Record<string, Outcome> | null
  /**
   * The reader of a personal template. The server sets it, never a client's variables; null or absent for no reader.
   */
  reader?: Reader | null
  roots: Roots
  caps: Caps
}

export interface CheckTask {
  kind: 'check'
  template: TemplateSource
  roots: Roots
}

/** Asks for the columns of each source and for the data files, to fill forms. */
export interface DescribeTask {
  kind: 'describe'
  template: TemplateSource
  roots: Roots
}

/** Reads templates that a client wrote, and returns what the service shows and needs of each. */
export interface ReadTask {
  kind: 'read'
  templates: TemplateSource[]
}

/** Reads definitions of metrics that a client wrote. */
export interface ReadMetricsTask {
  kind: 'read-metrics'
  metrics: MetricText[]
}

/** Converts the values of variables, by patterns that take long. One set of values for each item. */
export interface ConvertTask {
  kind: 'convert'
  variables: Variable[]
  items: Record<string, unknown>[]
}

export interface DrawTask {
  kind: 'draw'
  /** Vega-Lite specifications. */
  specs: Record<string, unknown>[]
  /**
   * The form of drawings. `svg` is the default. `png` is narrow and returned as base64. `pages` is a wide and a
   * narrow SVG for each specification, one after the other.
   */
  form?: 'svg' | 'png' | 'pages'
}

/** Texts that are too large for one message. They are read when the task's turn comes, and are sent in pieces before it. */
export interface WithTexts<Name extends string> {
  texts?: Partial<Record<Name, string>>
}

/** Writes the tables of an insight as a workbook or as CSV. The stored JSON arrives as texts. */
export interface TablesTask
  extends Omit<StoredTables, 'tables' | 'provenance'>,
    WithTexts<'tables' | 'provenance'> {
  kind: 'tables'
  form: 'xlsx' | 'csv'
}

/** Renders an insight: a page as HTML, a PDF as base64, or as HTML the body of a mail whose charts are the attached pictures named in `cids`. */
export type RenderTask = { kind: 'render' } & (
  | ({
      form: 'page' | 'pdf'
      insight: PageInsight
      /** The drawing of each chart. A chart without one is shown as text. */
      drawings: Drawing[]
      /** The texts of a page that also shows the rows behind its numbers. */
    } & WithTexts<'tables' | 'analyses' | 'provenance'>)
  | {
      form: 'mail'
      markdown: string
      charts: Chart[]
      reading: Reading | null
      cids: Record<string, string>
    }
)

/** Tests a connection: connects, reads the server's version and disconnects. */
export interface ProbeTask {
  kind: 'probe'
  connection: OpenConnection
  roots: Roots
}

/** Reads a kept day of a metric again. */
export interface AuditDayTask extends AuditedDay {
  kind: 'audit-day'
  roots: Roots
}

/** Explains what a run would do where. */
export interface ExplainTask
  extends Pick<RunTask, 'template' | 'variables' | 'started_at' | 'roots' | 'reader'> {
  kind: 'explain'
}

export type Task =
  | RunTask
  | ExplainTask
  | CheckTask
  | DescribeTask
  | DrawTask
  | RenderTask
  | TablesTask
  | ProbeTask
  | AuditDayTask
  | ReadTask
  | ReadMetricsTask
  | ConvertTask

/** The result of a test of a connection. `detail` is a sentence and holds no secret. */
export type Probed = { ok: true; server: string; read_only: string } | { ok: false; detail: string }

export interface Description {
  sources: Record<
    string,
    | { columns: Column[]; dialect?: FoundDialect; readings: readonly FoundColumn[]; list?: string }
    | { error: string }
  >
  files: string[]
}

export interface Failure {
  code: JobErrorCode
  detail: string
}

/**
 * `failed`: the analysis failed, by the fault of the template or its data. `crashed`: the process died, possibly not by
 * the template's fault; the attempt is lost. `stopped`: the caller's signal was aborted.
 */
export type RunResult =
  | { status: 'done'; findings: Findings }
  /** `steps`: those that the run took; the last one failed. */
  | { status: 'failed'; error: Failure; steps?: RunStep[] }
  | { status: 'crashed'; detail: string }
  | { status: 'stopped' }

export interface Results {
  run: RunResult
  check: Fault[]
  describe: Description
  /** One drawing for each specification. */
  draw: string[]
  render: string
  tables: TablesFile
  probe: Probed
  /** True if the day equals the kept one. */
  'audit-day': boolean
  explain: { status: 'done'; explained: Explained } | Extract<RunResult, { status: 'failed' }>
  read: ReadHead[]
  'read-metrics': MetricHead[]
  convert: ConvertedVariables[]
}

/** The requested connection, or the reason for the refusal as a sentence. */
export type Acquired = { connection: OpenConnection } | { refused: string }

/** A request to a language model. */
export interface NarrationRequest {
  instructions: string
  prompt: string
}

/** The reason why a socket could not be opened. */
export interface DialFailure {
  /** `blocked`: the target is not allowed. `refused`: not to this workspace, or not now. `unresolved`: the name has no address. */
  kind: 'blocked' | 'refused' | 'unresolved' | 'failed'
  message: string
  code: string
}

export type ToChild =
  /** `temp_folder`: a folder for this task alone, not created yet. The parent removes it after the task. */
  | { type: 'task'; id: number; task: Task; temp_folder: string; spill_bytes: number | null }
  /** A piece of a text of the next task. */
  | { type: 'text'; id: number; name: string; piece: string }
  | { type: 'cancel'; id: number }
  | { type: 'acquired'; id: number; name: string; acquired: Acquired }
  | { type: 'narrated'; id: number; narrated: Narrated[] }
  /** The answer to `find` or `keep`. */
  | { type: 'kept'; id: number; kept: KeptSeries | { refused: string | null } }
  /** The answer to `dial`. The socket is part of the message unless it failed. */
  | { type: 'dialed'; id: number; call: number; failure: DialFailure | null }

export type FromChild =
  /** The process is loaded, its memory is bounded and an engine is open. */
  | { type: 'ready' }
  /** The template is read, or a rendering begins: its own time limit replaces the cap. */
  | { type: 'started'; id: number; timeout_ms: number; memory_bytes?: number }
  | { type: 'progress'; id: number; progress: Progress }
  /** `acquire`: a source needs this connection. `release`: the source has been read. */
  | { type: 'acquire'; id: number; name: string }
  | { type: 'release'; id: number; name: string }
  /** Asks for a socket. `connection`: the one for which it is wanted, or null. `dialed` with the same `call` answers it. */
  | { type: 'dial'; id: number; call: number; connection: string | null; host: string; port: number }
  /** Asks the language model. `narrated` answers it, with one answer for each request. */
  | { type: 'narrate'; id: number; requests: NarrationRequest[] }
  /** Asks for kept days, or gives some to keep, one request at a time. `kept` answers it. */
  | { type: 'find'; id: number; wanted: Parameters<PartitionKeeper['find']>[0] }
  | { type: 'keep'; id: number; days: KeptDays }
  /** The rows of a large table of the result that follows, in their order. */
  | { type: 'rows'; id: number; table: string; rows: Cell[][] }
  | { type: 'result'; id: number; result: Results[Task['kind']] }
  /** The task failed by a defect of the program: the parent logs it and replaces the process. */
  | { type: 'fault'; id: number; message: string }
