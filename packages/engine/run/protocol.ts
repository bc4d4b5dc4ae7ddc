/**
 * What the parent and an analysis child say to each other, typed once for both sides. Everything is JSON over the IPC
 * channel of fork(). A child does one task at a time; `cancel` interrupts it, and the parent kills what does not stop.
 */
import type { OpenConnection } from '@assay/model/connection'
import type { JobErrorCode } from '@assay/model/errors'
import type { RemoteRoots, Uploads } from '@assay/model/file'
import type { Chart, Column, Findings, PageInsight } from '@assay/model/insight'
import type { Progress } from '@assay/model/job'
import type { Fault, Limits, TemplateSource } from '@assay/model/template'
import type { Narrated } from '../printing/narrative.ts'

/**
 * What `file:` sources may read: `sample/NAME` the shipped tables (name -> absolute path), `uploads/PATH` the workspace's
 * uploads, all else below `data`.
 */
export interface Roots {
  sample: Record<string, string>
  data: string | null
  uploads?: Uploads
  remote?: RemoteRoots
}

/** An argument of a child that does one task only: it does not warm up. */
export const COLD = '--cold'

/** The most that a template may ask for. */
export type Caps = Limits

export interface RunTask {
  kind: 'run'
  template: TemplateSource
  variables: Record<string, unknown>
  /** The job's start, RFC 3339: periods are resolved from it. */
  started_at: string
  roots: Roots
  caps: Caps
}

export interface CheckTask {
  kind: 'check'
  template: TemplateSource
  roots: Roots
}

/** The columns of each source of a template, and the data files that there are, for forms. */
export interface DescribeTask {
  kind: 'describe'
  template: TemplateSource
  roots: Roots
}

export interface DrawTask {
  kind: 'draw'
  /** Vega-Lite specifications. */
  specs: Record<string, unknown>[]
  /** `svg` unless given; `png` in base64. */
  form?: 'svg' | 'png'
}

/** An insight as HTML: a page, or the body of a mail, whose pictures are called by the `cids` of their charts. */
export type RenderTask = { kind: 'render' } & (
  | {
      form: 'page'
      insight: PageInsight
      /** One for each chart; a chart without one is shown as text. */
      svgs: string[]
    }
  | { form: 'mail'; markdown: string; charts: Chart[]; cids: Record<string, string> }
)

/** Connects, asks who is there, and goes: how a connection is tested. */
export interface ProbeTask {
  kind: 'probe'
  connection: OpenConnection
  roots: Roots
}

export type Task = RunTask | CheckTask | DescribeTask | DrawTask | RenderTask | ProbeTask

/** `detail` is a sentence without secrets. */
export type Probed = { ok: true; server: string; read_only: string } | { ok: false; detail: string }

export interface Description {
  sources: Record<string, { columns: Column[] } | { error: string }>
  files: string[]
}

export interface Failure {
  code: JobErrorCode
  detail: string
}

/**
 * Outcomes are values: an analysis that fails is `failed`, never an exception. `crashed`: the child died of something
 * that may not be the template's fault, the attempt is lost. `stopped`: the caller's signal was aborted.
 */
export type RunResult =
  | { status: 'done'; findings: Findings }
  | { status: 'failed'; error: Failure }
  | { status: 'crashed'; detail: string }
  | { status: 'stopped' }

export interface Results {
  run: RunResult
  check: Fault[]
  describe: Description
  /** One drawing for each specification. */
  draw: string[]
  render: string
  probe: Probed
}

/** A connection that was asked for; or why not, in a sentence. */
export type Lent = { connection: OpenConnection } | { refused: string }

/** What a language model is asked, and what it answered. */
export interface NarrationRequest {
  instructions: string
  prompt: string
}

export type ToChild =
  /** `temp_folder`: the job's own, not there yet; the parent removes what is left of it. */
  | { type: 'task'; id: number; task: Task; temp_folder: string }
  | { type: 'cancel'; id: number }
  | { type: 'lent'; id: number; name: string; lent: Lent }
  | { type: 'narrated'; id: number; narrated: Narrated[] }

export type FromChild =
  /** Loaded, its memory bounded, an engine open. */
  | { type: 'ready' }
  /** The template is read, or a rendering begins: from here on its own limit of time holds, not the cap. */
  | { type: 'started'; id: number; timeout_ms: number }
  | { type: 'progress'; id: number; progress: Progress }
  /** A source names this connection; and the source has been read. */
  | { type: 'borrow'; id: number; name: string }
  | { type: 'give_back'; id: number; name: string }
  /** Answered by `narrated`, one for each. */
  | { type: 'narrate'; id: number; requests: NarrationRequest[] }
  | { type: 'result'; id: number; result: Results[Task['kind']] }
  /** The child cannot do the task at all (a fault of ours): the parent logs it and replaces the child. */
  | { type: 'fault'; id: number; message: string }
