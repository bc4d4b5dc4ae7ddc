/**
 * The pool of analysis children: analyses run in processes of their own, one task each, warm before a job comes.
 *
 * There are at most `size + 1` processes: `size` jobs at a time, and one more so that checks, descriptions and drawings
 * never wait for a job's end; places.ts says who is next. They are started as they are needed, one ahead: as long as there is room, one that has seen
 * nobody's data stands ready. A child serves one workspace only, and is replaced after many tasks or when it has grown.
 */

import type { Clock } from '@assay/model/clock'
import type { JobErrorCode } from '@assay/model/errors'
import type { Progress } from '@assay/model/job'
import type { Fault } from '@assay/model/template'
import { type ChildHandle, type Ending, startChild } from './child-handle.ts'
import type { Lender } from './lending.ts'
import type { Narrator } from './narrating.ts'
import { type Placed, Places } from './places.ts'
import type {
  Caps,
  CheckTask,
  DescribeTask,
  Description,
  DrawTask,
  Probed,
  ProbeTask,
  RenderTask,
  Results,
  RunResult,
  RunTask,
  Task,
} from './protocol.ts'

/** What the pool writes to a log: fields and a sentence. */
export interface PoolLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

/** Where the pool's figures go. `measureChildren` registers what is asked before each reading. */
export interface PoolMetrics {
  measureChildren(measure: () => void): void
  children: { set(labels: { state: string }, count: number): void }
  childrenMemory: { set(bytes: number): void }
}

export interface PoolOptions {
  /** Jobs at a time. */
  size: number
  clock: Clock
  log: PoolLog
  /** The most that a template may ask for. */
  caps: Caps
  /** A folder of this pool's own: each job gets one below it, removed when the job ends. */
  tempRoot: string
  metrics?: PoolMetrics
  /** For one job: one process, started at once and not warmed up, and none ahead. */
  single?: boolean
  /** Writes what templates ask a language model for. */
  narrator?: Narrator | undefined
}

export interface RunOptions {
  workspace_id: string
  signal?: AbortSignal
  /** It has a place, and runs from now on. */
  onBegin?: () => void
  onProgress?: (progress: Progress) => void
  lender?: Lender
}

export interface PreviewOptions extends RunOptions {
  /** The workspace's caps; null: none. */
  max_running: number | null
  max_queued: number | null
}

export interface SmallTaskOptions {
  /** Whose data the task may read or holds. Without one it is done in a process that serves no workspace. */
  workspace_id?: string
  signal?: AbortSignal
  lender?: Lender
  /** The service itself asks, not a request: it waits, however many do. */
  patient?: boolean
}

/** The task came to no end: it was aborted, took too long, or its process died. The message says which. */
export class TaskError extends Error {}

export interface PoolStats {
  states: Record<'starting' | 'idle' | 'busy', number>
  /** Tasks in line. */
  waiting: number
  /** Of all children together; 0 where the system does not say. */
  resident_bytes: number
  children: { pid: number | undefined; state: string; owner: string | null; tasks: number }[]
}

export interface Pool {
  /** Never rejects: what goes wrong is an outcome. `caps` are the pool's. */
  run(task: Omit<RunTask, 'caps'>, options: RunOptions): Promise<RunResult>
  /** As run(), after all jobs that wait. Rejects with `workspace_busy` where too many of the workspace wait. */
  preview(task: Omit<RunTask, 'caps'>, options: PreviewOptions): Promise<RunResult>
  /** These five reject with TaskError, or with `workspace_busy`. */
  check(task: CheckTask, options?: SmallTaskOptions): Promise<Fault[]>
  describe(task: DescribeTask, options?: SmallTaskOptions): Promise<Description>
  draw(task: DrawTask, options?: SmallTaskOptions): Promise<string[]>
  /** HTML, within a limit of time of its own. */
  render(task: RenderTask, options?: SmallTaskOptions): Promise<string>
  probe(task: ProbeTask, options?: SmallTaskOptions): Promise<Probed>
  stats(): PoolStats
  /** Kills every child; what was under way ends as `stopped`. */
  stop(): Promise<void>
}

/** A fresh child costs 0.25 s of a core: replaced so seldom, that is a quarter of a millisecond a task. */
const TASKS_MAX = 1000
/** Kept however long nobody asks: the last that was used, and one that has seen nobody's data. */
const KEPT = 2
/** The others end when nobody has needed them for so long, looked at as often. */
const IDLE_MS = 300_000
const LOOK_MS = 60_000
/** A child is about 120 MB when warm; one that an analysis has left larger than this is replaced. */
const RESIDENT_MAX_BYTES = 400_000_000
const SMALL_TIMEOUT_MS = 30_000
/** A check reads no data but the columns, and its blocks are bounded: the largest takes a second or two. */
const CHECK_TIMEOUT_MS = 15_000
const NOBODY = '(none)'

interface Waiting extends Placed {
  task: Task
  signal: AbortSignal | undefined
  onBegin: (() => void) | undefined
  onProgress: ((progress: Progress) => void) | undefined
  lender: Lender | undefined
  resolve(ending: Ending<Task['kind']>): void
}

type Submitted = Placed &
  Omit<RunOptions, 'workspace_id'> & { max_queued?: number | null; patient?: boolean | undefined }

export function createPool(options: PoolOptions): Pool {
  return new ChildPool(options)
}

class ChildPool implements Pool {
  readonly #options: PoolOptions
  /** The most recently used last. */
  #children: ChildHandle[] = []
  readonly #places: Places<Waiting>
  #stopping = false
  #watching = false
  readonly #stopped = new AbortController()

  constructor(options: PoolOptions) {
    this.#options = options
    this.#places = new Places(options.size)
    options.metrics?.measureChildren(() => this.#measure(options.metrics!))
    this.#start()
    // And one for what comes meanwhile.
    if (!options.single) this.#start()
  }

  run(task: Omit<RunTask, 'caps'>, { workspace_id, ...options }: RunOptions): Promise<RunResult> {
    return this.#analyse(task, { work: 'job', owner: workspace_id, ...options })
  }

  preview(task: Omit<RunTask, 'caps'>, { workspace_id, ...options }: PreviewOptions): Promise<RunResult> {
    return this.#analyse(task, { work: 'preview', owner: workspace_id, ...options })
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

  check(task: CheckTask, options: SmallTaskOptions = {}): Promise<Fault[]> {
    return this.#smallTask<'check'>(task, options)
  }

  describe(task: DescribeTask, options: SmallTaskOptions = {}): Promise<Description> {
    return this.#smallTask<'describe'>(task, options)
  }

  draw(task: DrawTask, options: SmallTaskOptions = {}): Promise<string[]> {
    return this.#smallTask<'draw'>(task, options)
  }

  render(task: RenderTask, options: SmallTaskOptions = {}): Promise<string> {
    return this.#smallTask<'render'>(task, options)
  }

  probe(task: ProbeTask, options: SmallTaskOptions = {}): Promise<Probed> {
    return this.#smallTask<'probe'>(task, options)
  }

  async #smallTask<Kind extends Task['kind']>(
    task: Task,
    { workspace_id = NOBODY, ...options }: SmallTaskOptions,
  ): Promise<Results[Kind]> {
    const ending = await this.#submit(task, { work: 'small', owner: workspace_id, ...options })
    if (ending.kind === 'result') return ending.result as Results[Kind]
    if (ending.kind === 'stopped') throw new TaskError(`The ${task.kind} was stopped.`)
    if (ending.kind === 'timed_out')
      throw new TaskError(`The ${task.kind} took longer than ${ending.after_ms / 1000} s.`)
    throw new TaskError(ending.kind === 'fault' ? ending.message : ending.detail)
  }

  async #submit(task: Task, submitted: Submitted): Promise<Ending<Task['kind']>> {
    const { work, owner, max_running = null, max_queued = null, patient = false } = submitted
    const { signal, onBegin, onProgress, lender } = submitted
    if (this.#stopping || signal?.aborted) return { kind: 'stopped' }
    const { promise, resolve } = Promise.withResolvers<Ending<Task['kind']>>()
    const waiting: Waiting = {
      task,
      work,
      owner,
      max_running,
      signal,
      onBegin,
      onProgress,
      lender,
      resolve,
    }
    if (!patient) this.#places.vet(waiting, max_queued)
    this.#places.add(waiting)
    const leave = (): void => {
      if (this.#places.remove(waiting)) resolve({ kind: 'stopped' })
    }
    signal?.addEventListener('abort', leave, { once: true })
    this.#dispatch()
    return promise
  }

  #dispatch(): void {
    while (!this.#stopping) {
      const waiting = this.#places.next()
      const child = waiting && this.#childFor(waiting.owner)
      if (!waiting || !child) return
      this.#places.begin(waiting)
      void this.#perform(waiting, child)
    }
  }

  /** One that serves this owner, else one that nobody has used, else a new one in the place of another owner's. */
  #childFor(owner: string): ChildHandle | null {
    const free = this.#children.filter(
      (child) => child.state === 'idle' || (child.state === 'starting' && child.tasks === 0),
    )
    const own = free.findLast((child) => child.owner === owner)
    const chosen =
      own ??
      free.find((child) => child.owner === null && child.state === 'idle') ??
      free.find((child) => child.owner === null) ??
      this.#replacement(free)
    if (chosen) chosen.owner = owner
    this.#keepOneReady()
    return chosen
  }

  #replacement(free: ChildHandle[]): ChildHandle | null {
    if (this.#children.length > this.#options.size) {
      const oldest = free[0]
      if (!oldest) return null
      this.#remove(oldest)
    }
    return this.#start()
  }

  async #perform(waiting: Waiting, child: ChildHandle): Promise<void> {
    waiting.onBegin?.()
    this.#children = [...this.#children.filter((one) => one !== child), child]
    const ending = await child
      .perform(waiting.task, {
        timeout_ms: this.#timeoutOf(waiting.task),
        signal: waiting.signal,
        onProgress: waiting.onProgress,
        lender: waiting.lender,
      })
      .catch((error: unknown): Ending<Task['kind']> => ({ kind: 'fault', message: (error as Error).message }))
      .then((ended): Ending<Task['kind']> => (this.#stopping ? { kind: 'stopped' } : ended))
    this.#places.end(waiting)
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

  #timeoutOf({ kind }: Task): number {
    if (kind === 'run') return this.#options.caps.timeout_ms
    return kind === 'check' ? CHECK_TIMEOUT_MS : SMALL_TIMEOUT_MS
  }

  /** After a task: replaces a child that is worn out, and keeps one warm that nobody has used. */
  #renew(child: ChildHandle, ending: Ending<Task['kind']>): void {
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
    if (!fresh && idle.length > 1 && this.#places.waiting === 0) {
      this.#remove(idle[0]!)
      this.#start()
    }
  }

  /** As long as there is room, one process that nobody has used is warm for the next task. */
  #keepOneReady(): void {
    if (this.#stopping || this.#options.single) return
    const ready = this.#children.some(({ owner }) => owner === null)
    if (!ready && this.#children.length <= this.#options.size) this.#start()
  }

  #start(): ChildHandle {
    const { clock, tempRoot, log, narrator, single = false } = this.#options
    const child: ChildHandle = startChild({
      clock,
      tempRoot,
      cold: single,
      narrator,
      onState: () => this.#onState(child),
      onOutput: (text) => log.warn({ pid: child.pid, text }, 'an analysis process printed'),
    })
    this.#children.unshift(child)
    void this.#watchIdle()
    return child
  }

  /** As long as there are more than are kept: ends those that nobody has needed for long. */
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

  #remove(child: ChildHandle): void {
    this.#children = this.#children.filter((one) => one !== child)
    child.end()
  }

  #onState(child: ChildHandle): void {
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
    return { states, waiting: this.#places.waiting, resident_bytes: resident, children }
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.#stopped.abort()
    for (const waiting of this.#places.clear()) waiting.resolve({ kind: 'stopped' })
    const children = this.#children
    for (const child of children) child.end()
    await Promise.all(children.map((child) => child.ended))
  }
}

function failed(code: JobErrorCode, detail: string): RunResult {
  return { status: 'failed', error: { code, detail } }
}
