/** The types of the pool: its options, tasks and results. */
import type { Clock } from '@assay/model/clock'
import type { Progress } from '@assay/model/job'
import type { Fault } from '@assay/model/template'
import type { TablesFile } from '../../export/tables.ts'
import type { MetricHead } from '../../metrics/reader.ts'
import type { ConnectionAccess } from '../connection-requests.ts'
import type { Folder, JailMode, JailReport } from '../jail/jail.ts'
import type { Narrator } from '../narration-requests.ts'
import type {
  AuditDayTask,
  Caps,
  CheckTask,
  ConvertTask,
  DescribeTask,
  Description,
  DrawTask,
  ExplainTask,
  Probed,
  ProbeTask,
  ReadMetricsTask,
  ReadTask,
  RenderTask,
  Results,
  RunResult,
  RunTask,
  TablesTask,
  Task,
} from '../protocol.ts'
import type { VetDial } from '../socket-requests.ts'
import type { Ending } from './ending.ts'
import type { Usage } from './scheduler.ts'
import type { Texts } from './texts.ts'

/** The log that the pool writes to. */
export interface PoolLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** The memory that a node runs in. */
export interface Box {
  memory_bytes: number
  /**
   * Returns how many processes the system has killed so far because memory ran out; null if it does not report that.
   */
  kills(): number | null
}

/** Whose work a task is: `new` work of the workspace, a page for a `reader` of a link, or work that was `accepted` before. */
export type Claim = 'new' | 'reader' | 'accepted'

/** The budgets of workspaces in the pool, and what they have used. */
export interface WorkspaceBudgets {
  /**
   * Called before a task is queued. Resolves to the bytes that all tasks of the workspace may spill to disk together,
   * or null for the limit of the pool. Rejects with `workspace_busy` if the budget of the claim is used up, but never
   * for `accepted` work.
   */
  admit(workspace_id: string, claim: Claim): Promise<number | null>
  /** Counts milliseconds of processor time. */
  spend(workspace_id: string, ms: number, claim: Claim): void
}

/** The pool's metrics. `measureChildren` registers a function that is called before each reading. */
export interface PoolMetrics {
  measureChildren(measure: () => void): void
  children: { set(labels: { state: string }, count: number): void }
  childrenMemory: { set(bytes: number): void }
}

export interface PoolOptions {
  /** The number of jobs at a time; by default the number of processors, as far as the memory reaches. */
  size?: number
  /** The memory that the node runs in; by default that of its container or machine. */
  box?: Box
  clock?: Clock
  /** Without one nothing is logged. */
  log?: PoolLog
  /** The highest limits a template may set; the default limits unless given. */
  caps?: Caps
  /** A folder that this pool alone uses. Each job gets a subfolder, removed when the job ends. By default a new folder. */
  tempRoot?: string
  metrics?: PoolMetrics
  /** Bytes that all tasks together may spill to disk; without it only the factor of a job's memory counts. */
  spillBytes?: number
  /** Without it no workspace has a budget. */
  budgets?: WorkspaceBudgets
  /** For one job: starts one process at once, does not warm it up, and keeps no other ready. */
  single?: boolean
  /** Walls around each process: where the machine has them, required, or none. None unless given. */
  jail?: JailMode
  /** Folders that tasks will read, so that a process can be ready behind walls before its task is known. */
  folders?: readonly Folder[]
  /** Answers the requests of templates to a language model. */
  narrator?: Narrator | undefined
  /** Tells whether a workspace may reach a host; undefined if every host that the operator allows is open. */
  vetDial?: VetDial | undefined
}

export interface RunOptions {
  workspace_id: string
  signal?: AbortSignal
  /** Called when the task starts to run in a process. */
  onBegin?: () => void
  onProgress?: (progress: Progress) => void
  connections?: ConnectionAccess
}

export interface PreviewOptions extends RunOptions {
  /** The caps of the workspace; null for none. */
  max_running: number | null
  max_queued: number | null
}

export interface SmallTaskOptions {
  /** The workspace whose data the task reads, in whose turn it runs, and whose budget it uses. */
  workspace_id: string
  signal?: AbortSignal
  connections?: ConnectionAccess
  /**
   * For work of the service itself and for accepted jobs: the task waits, however much of its budget the workspace has
   * used.
   */
  patient?: boolean
  /** For a reader of a link: the task waits in a turn of its own, and uses the budget of the workspace's readers. */
  reader?: boolean
  /**
   * Reads the large texts of the task when its turn comes, so that a refused or waiting task holds none. If it rejects,
   * the task rejects with the same error.
   */
  texts?: () => Promise<Texts>
}

/** The task did not complete: it was aborted, took too long, or its process died. The message says which. */
export class TaskError extends Error {
  /** Whether the task itself is too large: it took longer than any may, or needed more memory than there is. */
  readonly isTooLarge: boolean
  /** Whether it ended before its time: its caller gave up, or the pool stops. */
  readonly isStopped: boolean

  constructor(message: string, { isTooLarge = false, isStopped = false } = {}) {
    super(message)
    this.isTooLarge = isTooLarge
    this.isStopped = isStopped
  }

  static of(
    task: Task['kind'],
    ending: Exclude<Ending<Task['kind']>, { kind: 'result' | 'unread' }>,
  ): TaskError {
    switch (ending.kind) {
      case 'stopped':
        return new TaskError(`The ${task} was stopped.`, { isStopped: true })
      case 'timed_out':
        return new TaskError(`The ${task} took longer than ${ending.after_ms / 1000} s.`, {
          isTooLarge: true,
        })
      case 'fault':
        return new TaskError(ending.message)
      case 'died':
        return new TaskError(ending.detail, { isTooLarge: ending.memory })
    }
  }
}

export interface PoolStats {
  states: Record<'starting' | 'idle' | 'busy', number>
  /** Tasks that wait. */
  waiting: number
  /** Memory of all processes; 0 on systems that do not report it. */
  resident_bytes: number
  children: { pid: number | undefined; state: string; owner: string | null; tasks: number }[]
  usage: Usage[]
  /** The milliseconds that processes have worked for each owner; only the owners who had work last are kept. */
  worked: ReadonlyMap<string, number>
  /** The milliseconds of processor time of the same owners. */
  spent: ReadonlyMap<string, number>
}

export interface Pool {
  /** Runs a job. Never rejects: failures are results. The pool's `caps` apply. */
  run(task: Omit<RunTask, 'caps'>, options: RunOptions): Promise<RunResult>
  /** Like run(), behind all waiting jobs. Rejects with `workspace_busy` if too many previews of the workspace wait, or its budget is used up. */
  preview(task: Omit<RunTask, 'caps'>, options: PreviewOptions): Promise<RunResult>
  /** These eleven reject with TaskError, or with `workspace_busy`. */
  check(task: CheckTask, options: SmallTaskOptions): Promise<Fault[]>
  describe(task: DescribeTask, options: SmallTaskOptions): Promise<Description>
  draw(task: DrawTask, options: SmallTaskOptions): Promise<string[]>
  /** Renders HTML, or a PDF as base64, within its own time limit. */
  render(task: RenderTask, options: SmallTaskOptions): Promise<string>
  tables(task: TablesTask, options: SmallTaskOptions): Promise<TablesFile>
  probe(task: ProbeTask, options: SmallTaskOptions): Promise<Probed>
  auditDay(task: AuditDayTask, options: SmallTaskOptions): Promise<boolean>
  explain(task: ExplainTask, options: SmallTaskOptions): Promise<Results['explain']>
  read(task: ReadTask, options: SmallTaskOptions): Promise<Results['read']>
  readMetrics(task: ReadMetricsTask, options: SmallTaskOptions): Promise<MetricHead[]>
  convert(task: ConvertTask, options: SmallTaskOptions): Promise<Results['convert']>
  stats(): PoolStats
  /** The walls around its processes. */
  readonly jail: JailReport
  /** Kills every process; running tasks end as `stopped`. */
  stop(): Promise<void>
}
