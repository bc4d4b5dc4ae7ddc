/**
 * The pool of analysis processes. Each process does one task at a time and is warm before a task comes.
 *
 * scheduler.ts says how many processes there are, and what runs next. Processes are started on demand, with one
 * unused process ahead while there is room. A process serves one workspace only; it is replaced after many tasks or
 * when its memory has grown.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, systemClock } from '@assay/model/clock'
import type { JobErrorCode } from '@assay/model/errors'
import type { Progress } from '@assay/model/job'
import { DEFAULT_LIMITS, type Fault } from '@assay/model/template'
import type { TablesFile } from '../../export/tables.ts'
import type { MetricHead } from '../../metrics/reader.ts'
import type { ConnectionAccess } from '../connection-requests.ts'
import { foldersOf } from '../jail/folders.ts'
import { type Folder, type JailMode, type JailReport, wallsHere } from '../jail/jail.ts'
import type { Narrator } from '../narration-requests.ts'
import type {
  Caps,
  CheckTask,
  ConvertTask,
  DescribeTask,
  Description,
  DrawTask,
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
import { type AnalysisProcess, type Ending, startProcess } from './child-process.ts'
import { processesOf, type Schedulable, Scheduler, type Usage } from './scheduler.ts'

/** The log that the pool writes to. */
export interface PoolLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** The pool's metrics. `measureChildren` registers a function that is called before each reading. */
export interface PoolMetrics {
  measureChildren(measure: () => void): void
  children: { set(labels: { state: string }, count: number): void }
  childrenMemory: { set(bytes: number): void }
}

export interface PoolOptions {
  /** Jobs at a time; the number of processors unless given. */
  size?: number
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
  /** For one job: starts one process at once, does not warm it up, and keeps no other ready. */
  single?: boolean
  /** Walls around each process: where the machine has them, required, or none. None unless given. */
  jail?: JailMode
  /** Folders that tasks will read, so that a process can be ready behind walls before its task is known. */
  folders?: readonly Folder[]
  /** Answers the requests of templates to a language model. */
  narrator?: Narrator | undefined
  /** Whether a workspace may reach a host; undefined: wherever the operator allows. */
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
  /** Caps of the workspace; null: none. */
  max_running: number | null
  max_queued: number | null
}

export interface SmallTaskOptions {
  /** The workspace whose data the task reads or holds. Without one a process that serves no workspace runs the task. */
  workspace_id?: string
  signal?: AbortSignal
  connections?: ConnectionAccess
  /** For work of the service itself: the task waits however many tasks wait already. */
  patient?: boolean
}

/** The task did not complete: it was aborted, took too long, or its process died. The message says which. */
export class TaskError extends Error {}

export interface PoolStats {
  states: Record<'starting' | 'idle' | 'busy', number>
  /** Tasks that wait. */
  waiting: number
  /** Memory of all processes; 0 on systems that do not report it. */
  resident_bytes: number
  children: { pid: number | undefined; state: string; owner: string | null; tasks: number }[]
  usage: Usage[]
  /** Milliseconds that processes have worked for each owner, of those that had work last. */
  worked: ReadonlyMap<string, number>
}

export interface Pool {
  /** Runs a job. Never rejects: failures are results. The pool's `caps` apply. */
  run(task: Omit<RunTask, 'caps'>, options: RunOptions): Promise<RunResult>
  /** Like run(), behind all waiting jobs. Rejects with `workspace_busy` if too many previews of the workspace wait. */
  preview(task: Omit<RunTask, 'caps'>, options: PreviewOptions): Promise<RunResult>
  /** These nine reject with TaskError, or with `workspace_busy`. */
  check(task: CheckTask, options?: SmallTaskOptions): Promise<Fault[]>
  describe(task: DescribeTask, options?: SmallTaskOptions): Promise<Description>
  draw(task: DrawTask, options?: SmallTaskOptions): Promise<string[]>
  /** Renders HTML, or a PDF as base64, within its own time limit. */
  render(task: RenderTask, options?: SmallTaskOptions): Promise<string>
  tables(task: TablesTask, options?: SmallTaskOptions): Promise<TablesFile>
  probe(task: ProbeTask, options?: SmallTaskOptions): Promise<Probed>
  read(task: ReadTask, options?: SmallTaskOptions): Promise<Results['read']>
  readMetrics(task: ReadMetricsTask, options?: SmallTaskOptions): Promise<MetricHead[]>
  convert(task: ConvertTask, options?: SmallTaskOptions): Promise<Results['convert']>
  stats(): PoolStats
  /** The walls around its processes. */
  readonly jail: JailReport
  /** Kills every process; running tasks end as `stopped`. */
  stop(): Promise<void>
}

/** Tasks before a process is replaced. Starting one costs 0.25 s of a core, 0.25 ms per task at this number. */
const TASKS_MAX = 1000
/** Idle processes that are never ended: the one last used, and an unused one. */
const KEPT = 2
/** The others end after this idle time, checked every LOOK_MS. */
const IDLE_MS = 300_000
const LOOK_MS = 60_000
/** A warm process has about 120 MB. One that is larger than this after a task is replaced. */
const RESIDENT_MAX_BYTES = 400_000_000
const SMALL_TIMEOUT_MS = 30_000
/** A check reads columns only, and a template's blocks are bounded: the largest takes a second or two. */
const CHECK_TIMEOUT_MS = 15_000
const NOBODY = '(none)'
/** Owners whose time is kept. */
const OWNERS_MOST = 1000

interface QueuedTask extends Schedulable {
  task: Task
  signal: AbortSignal | undefined
  onBegin: (() => void) | undefined
  onProgress: ((progress: Progress) => void) | undefined
  connections: ConnectionAccess | undefined
  resolve(ending: Ending<Task['kind']>): void
}

type Submitted = Schedulable &
  Omit<RunOptions, 'workspace_id'> & { max_queued?: number | null; patient?: boolean | undefined }

/** A pool with its processes. Call `stop` to end them. */
export function createPool(options: PoolOptions = {}): Pool {
  return new ProcessPool(options)
}

const NO_LOG: PoolLog = { warn: () => undefined, error: () => undefined }

class ProcessPool implements Pool {
  readonly jail: JailReport
  readonly #options: PoolOptions & Required<Pick<PoolOptions, 'size' | 'clock' | 'log' | 'caps' | 'tempRoot'>>
  /** The most recently used last. */
  #children: AnalysisProcess[] = []
  readonly #scheduler: Scheduler<QueuedTask>
  readonly #worked = new Map<string, number>()
  #stopping = false
  #watching = false
  readonly #stopped = new AbortController()
  /** The temporary folder is this pool's to remove. */
  readonly #ownsTemp: boolean

  constructor(options: PoolOptions) {
    this.#options = {
      ...options,
      size: options.size ?? availableParallelism(),
      clock: options.clock ?? systemClock,
      log: options.log ?? NO_LOG,
      caps: options.caps ?? DEFAULT_LIMITS,
      tempRoot: options.tempRoot ?? mkdtempSync(path.join(tmpdir(), 'assay-engine-')),
    }
    this.jail = wallsHere(options.jail ?? 'off')
    this.#ownsTemp = options.tempRoot === undefined
    this.#scheduler = new Scheduler(this.#options.size)
    options.metrics?.measureChildren(() => this.#measure(options.metrics!))
    // Ready for the first task; when that begins, the next one starts.
    this.#start()
  }

  run(task: Omit<RunTask, 'caps'>, { workspace_id, ...options }: RunOptions): Promise<RunResult> {
    return this.#analyse(task, { queue: 'job', owner: workspace_id, ...options })
  }

  preview(task: Omit<RunTask, 'caps'>, { workspace_id, ...options }: PreviewOptions): Promise<RunResult> {
    return this.#analyse(task, { queue: 'preview', owner: workspace_id, ...options })
  }

  async #analyse(task: Omit<RunTask, 'caps'>, submitted: Submitted): Promise<RunResult> {
    const ending = await this.#submit({ ...task, caps: this.#options.caps }, submitted)
    switch (ending.kind) {
      case 'result':
        return ending.result as RunResult
      case 'stopped':
        return { status: 'stopped' }
      case 'timed_out':
        return failed(
          'timed_out',
          `The analysis took longer than ${ending.after_ms / 1000} s (limits.timeout).`,
        )
      case 'fault':
        return { status: 'crashed', detail: ending.message }
      case 'died':
        return ending.memory
          ? failed('memory_exceeded', 'The analysis needed more memory than limits.memory allows.')
          : { status: 'crashed', detail: ending.detail }
    }
  }

  check(task: CheckTask, options?: SmallTaskOptions): Promise<Fault[]> {
    return this.#smallTask<'check'>(task, options)
  }

  describe(task: DescribeTask, options?: SmallTaskOptions): Promise<Description> {
    return this.#smallTask<'describe'>(task, options)
  }

  draw(task: DrawTask, options?: SmallTaskOptions): Promise<string[]> {
    return this.#smallTask<'draw'>(task, options)
  }

  render(task: RenderTask, options?: SmallTaskOptions): Promise<string> {
    return this.#smallTask<'render'>(task, options)
  }

  tables(task: TablesTask, options?: SmallTaskOptions): Promise<TablesFile> {
    return this.#smallTask<'tables'>(task, options)
  }

  probe(task: ProbeTask, options?: SmallTaskOptions): Promise<Probed> {
    return this.#smallTask<'probe'>(task, options)
  }

  read(task: ReadTask, options?: SmallTaskOptions): Promise<Results['read']> {
    return this.#smallTask<'read'>(task, options)
  }

  readMetrics(task: ReadMetricsTask, options?: SmallTaskOptions): Promise<MetricHead[]> {
    return this.#smallTask<'read-metrics'>(task, options)
  }

  convert(task: ConvertTask, options?: SmallTaskOptions): Promise<Results['convert']> {
    return this.#smallTask<'convert'>(task, options)
  }

  async #smallTask<Kind extends Task['kind']>(
    task: Task,
    { workspace_id = NOBODY, ...options }: SmallTaskOptions = {},
  ): Promise<Results[Kind]> {
    const ending = await this.#submit(task, { queue: 'small', owner: workspace_id, ...options })
    if (ending.kind === 'result') return ending.result as Results[Kind]
    if (ending.kind === 'stopped') throw new TaskError(`The ${task.kind} was stopped.`)
    if (ending.kind === 'timed_out')
      throw new TaskError(`The ${task.kind} took longer than ${ending.after_ms / 1000} s.`)
    throw new TaskError(ending.kind === 'fault' ? ending.message : ending.detail)
  }

  async #submit(task: Task, submitted: Submitted): Promise<Ending<Task['kind']>> {
    const { queue, owner, max_running = null, max_queued = null, patient = false } = submitted
    const { signal, onBegin, onProgress, connections } = submitted
    if (this.#stopping || signal?.aborted) return { kind: 'stopped' }
    const { promise, resolve } = Promise.withResolvers<Ending<Task['kind']>>()
    const waiting: QueuedTask = {
      task,
      queue,
      owner,
      max_running,
      signal,
      onBegin,
      onProgress,
      connections,
      resolve,
    }
    if (!patient) this.#scheduler.admit(waiting, max_queued)
    this.#scheduler.add(waiting)
    const leave = (): void => {
      if (this.#scheduler.remove(waiting)) resolve({ kind: 'stopped' })
    }
    signal?.addEventListener('abort', leave, { once: true })
    this.#dispatch()
    return promise
  }

  #dispatch(): void {
    while (!this.#stopping) {
      const waiting = this.#scheduler.next()
      const child = waiting && this.#childFor(waiting)
      if (!waiting || !child) return
      this.#scheduler.begin(waiting)
      void this.#perform(waiting, child)
    }
  }

  /** A free process of this owner, else an unused one, else a new one, which may replace one of another owner. */
  #childFor({ owner, task }: QueuedTask): AnalysisProcess | null {
    const wanted = foldersOf(task)
    const free = this.#children.filter(
      (child) => child.state === 'idle' || (child.state === 'starting' && child.tasks === 0),
    )
    const own = free.findLast((child) => child.owner === owner && child.sees(wanted))
    const unused = free.filter((child) => child.owner === null && child.sees(wanted))
    const chosen =
      own ?? unused.find((child) => child.state === 'idle') ?? unused[0] ?? this.#replacement(free, wanted)
    if (chosen) chosen.owner = owner
    this.#keepOneReady()
    return chosen
  }

  #replacement(free: AnalysisProcess[], wanted: readonly Folder[]): AnalysisProcess | null {
    if (this.#children.length >= processesOf(this.#options.size)) {
      const oldest = free[0]
      if (!oldest) return null
      this.#remove(oldest)
    }
    return this.#start(wanted, true)
  }

  async #perform(waiting: QueuedTask, child: AnalysisProcess): Promise<void> {
    waiting.onBegin?.()
    const began = this.#options.clock.monotonic()
    this.#children = [...this.#children.filter((one) => one !== child), child]
    const ending = await child
      .perform(waiting.task, {
        timeout_ms: this.#timeoutOf(waiting.task),
        signal: waiting.signal,
        onProgress: waiting.onProgress,
        connections: waiting.connections,
      })
      .catch((error: unknown): Ending<Task['kind']> => ({ kind: 'fault', message: (error as Error).message }))
      .then((ended): Ending<Task['kind']> => (this.#stopping ? { kind: 'stopped' } : ended))
    this.#scheduler.end(waiting)
    this.#note(waiting.owner, this.#options.clock.monotonic() - began)
    if (ending.kind === 'fault' || ending.kind === 'died') {
      this.#options.log.error(
        { pid: child.pid, task: waiting.task.kind, ending },
        'an analysis process failed',
      )
    }
    waiting.resolve(ending)
    this.#renew(child, ending)
    this.#dispatch()
  }

  #note(owner: string, ms: number): void {
    const before = this.#worked.get(owner) ?? 0
    this.#worked.delete(owner)
    this.#worked.set(owner, before + ms)
    if (this.#worked.size > OWNERS_MOST) this.#worked.delete(this.#worked.keys().next().value!)
  }

  #timeoutOf({ kind }: Task): number {
    if (kind === 'run') return this.#options.caps.timeout_ms
    return kind === 'check' || kind === 'read' || kind === 'read-metrics'
      ? CHECK_TIMEOUT_MS
      : SMALL_TIMEOUT_MS
  }

  /** After a task: replaces a worn-out process, and keeps one unused process warm. */
  #renew(child: AnalysisProcess, ending: Ending<Task['kind']>): void {
    if (this.#stopping) return
    const worn =
      child.state === 'ended' ||
      ending.kind === 'fault' ||
      child.tasks >= TASKS_MAX ||
      child.residentBytes() > RESIDENT_MAX_BYTES
    if (worn) {
      this.#remove(child)
      this.#keepOneReady()
      return
    }
    const idle = this.#children.filter((one) => one.state === 'idle')
    const fresh = this.#children.some((one) => one.owner === null)
    if (!fresh && idle.length > 1 && this.#scheduler.waiting === 0) {
      this.#remove(idle[0]!)
      this.#start()
    }
  }

  /** While there is room, keeps one unused process warm for the next task. */
  #keepOneReady(): void {
    if (this.#stopping || this.#options.single) return
    const ready = this.#children.some(({ owner }) => owner === null)
    if (!ready && this.#children.length < processesOf(this.#options.size)) this.#start()
  }

  /** `wanted`: folders of its task, where known. `awaited`: a task waits, to which a warm-up costs more than it saves. */
  #start(wanted: readonly Folder[] = [], awaited = false): AnalysisProcess {
    const { clock, tempRoot, log, narrator, vetDial, spillBytes, size } = this.#options
    const { single = false, folders = [] } = this.#options
    const child: AnalysisProcess = startProcess({
      clock,
      tempRoot,
      cold: single || awaited,
      spill_bytes: spillBytes === undefined ? null : Math.floor(spillBytes / processesOf(size)),
      folders: this.jail.walls.length > 0 ? [...folders, ...wanted] : null,
      narrator,
      vetDial,
      onState: () => this.#onState(child),
      onOutput: (text) => log.warn({ pid: child.pid, text }, 'an analysis process printed'),
    })
    this.#children.unshift(child)
    void this.#watchIdle()
    return child
  }

  /** While there are more processes than KEPT: ends those that have been idle for IDLE_MS. */
  async #watchIdle(): Promise<void> {
    if (this.#watching) return
    this.#watching = true
    const { clock } = this.#options
    while (!this.#stopping && this.#children.length > KEPT) {
      await clock.sleep(LOOK_MS, this.#stopped.signal)
      const last = this.#children.findLast(({ owner }) => owner !== null)
      const fresh = this.#children.find(({ owner }) => owner === null)
      for (const child of this.#children) {
        const idle = child.state === 'idle' && clock.monotonic() - child.idleSince >= IDLE_MS
        if (idle && child !== last && child !== fresh) this.#remove(child)
      }
    }
    this.#watching = false
  }

  #remove(child: AnalysisProcess): void {
    this.#children = this.#children.filter((one) => one !== child)
    child.end()
  }

  #onState(child: AnalysisProcess): void {
    if (child.state === 'ended') this.#children = this.#children.filter((one) => one !== child)
    if (child.state === 'idle') this.#dispatch()
  }

  #measure(metrics: PoolMetrics): void {
    const { states, resident_bytes } = this.stats()
    for (const [state, count] of Object.entries(states)) metrics.children.set({ state }, count)
    metrics.childrenMemory.set(resident_bytes)
  }

  stats(): PoolStats {
    const states = { starting: 0, idle: 0, busy: 0 }
    let resident = 0
    for (const child of this.#children) {
      if (child.state === 'ended') continue
      states[child.state] += 1
      resident += child.residentBytes()
    }
    const children = this.#children.map(({ pid, state, owner, tasks }) => ({ pid, state, owner, tasks }))
    const usage = this.#scheduler.usage()
    return {
      states,
      waiting: this.#scheduler.waiting,
      resident_bytes: resident,
      children,
      usage,
      worked: this.#worked,
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.#stopped.abort()
    for (const waiting of this.#scheduler.clear()) waiting.resolve({ kind: 'stopped' })
    const children = this.#children
    for (const child of children) child.end()
    await Promise.all(children.map((child) => child.ended))
    if (this.#ownsTemp) rmSync(this.#options.tempRoot, { recursive: true, force: true })
  }
}

function failed(code: JobErrorCode, detail: string): RunResult {
  return { status: 'failed', error: { code, detail } }
}
