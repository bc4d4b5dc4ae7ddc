/**
 * The pool of analysis processes. Each process does one task at a time and is warm before a task comes. scheduler.ts
 * decides what runs next, processes.ts which process takes it.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '@assay/model/clock'
import type { Progress } from '@assay/model/job'
import { DEFAULT_LIMITS } from '@assay/model/template'
import type { ConnectionAccess } from '../connection-requests.ts'
import { foldersOf } from '../jail/folders.ts'
import { type JailReport, wallsHere } from '../jail/jail.ts'
import type { Results, RunResult, RunTask, Task } from '../protocol.ts'
import { HERE, runIn, workersHere } from './box.ts'
import type { AnalysisProcess, TaskOptions } from './child-process.ts'
import {
  type Claim,
  type Pool,
  type PoolLog,
  type PoolMetrics,
  type PoolOptions,
  type PoolStats,
  type PreviewOptions,
  type RunOptions,
  type SmallTaskOptions,
  TaskError,
} from './contract.ts'
import type { Ending } from './ending.ts'
import { fillOnce } from './launch.ts'
import { meterTask } from './meter.ts'
import { Processes } from './processes.ts'
import { processesOf, type Schedulable, Scheduler } from './scheduler.ts'

export { HERE, workersHere } from './box.ts'
export {
  type Claim,
  type Pool,
  type PoolOptions,
  type PreviewOptions,
  type RunOptions,
  type SmallTaskOptions,
  TaskError,
  type WorkspaceBudgets,
} from './contract.ts'

const SMALL_TIMEOUT_MS = 30_000
/**
 * The time limit of a check in milliseconds. A check reads columns only, and the blocks of a template are bounded, so
 * the largest takes a second or two.
 */
const CHECK_TIMEOUT_MS = 15_000
const CHECKS: ReadonlySet<Task['kind']> = new Set(['check', 'read', 'read-metrics'])
/** The milliseconds that a check may take on a machine that is too busy to give it that time. */
const CHECK_STARVED_MS = 60_000
/** Tasks whose time counts but is never refused, because otherwise nobody could list templates and mend them. */
const COUNTED_ONLY: ReadonlySet<Task['kind']> = new Set(['read', 'read-metrics'])
/** The most owners whose time is kept. */
const OWNERS_MOST = 1000

interface QueuedTask extends Schedulable {
  task: Task
  claim: Claim
  signal: AbortSignal | undefined
  onBegin: (() => void) | undefined
  onProgress: ((progress: Progress) => void) | undefined
  onMemory: ((bytes: number) => void) | undefined
  connections: ConnectionAccess | undefined
  spill_bytes: number | null
  texts: SmallTaskOptions['texts']
  resolve(ending: Ending<Task['kind']>): void
}

type Submitted = Schedulable &
  Omit<RunOptions, 'workspace_id'> &
  Pick<SmallTaskOptions, 'texts' | 'patient'> & {
    max_queued?: number | null
    onMemory?: (bytes: number) => void
  }

/** A pool with its processes. Call `stop` to end them. */
export function createPool(options: PoolOptions = {}): Pool {
  return new ProcessPool(options)
}

const NO_LOG: PoolLog = { warn: () => undefined, error: () => undefined }

class ProcessPool implements Pool {
  readonly jail: JailReport
  readonly #options: PoolOptions &
    Required<Pick<PoolOptions, 'size' | 'box' | 'clock' | 'log' | 'caps' | 'tempRoot'>>
  readonly #processes: Processes
  readonly #scheduler: Scheduler<QueuedTask>
  readonly #worked = new Map<string, number>()
  readonly #spent = new Map<string, number>()
  #stopping = false
  #resting = false
  readonly #stopped = new AbortController()
  /** True if the pool made its temporary folder and must remove it. */
  readonly #ownsTemp: boolean

  constructor(options: PoolOptions) {
    this.#options = {
      ...options,
      size: options.size ?? workersHere(),
      box: options.box ?? HERE,
      clock: options.clock ?? systemClock,
      log: options.log ?? NO_LOG,
      caps: options.caps ?? DEFAULT_LIMITS,
      tempRoot: options.tempRoot ?? mkdtempSync(path.join(tmpdir(), 'assay-engine-')),
    }
    this.jail = wallsHere(options.jail ?? 'off')
    this.#ownsTemp = options.tempRoot === undefined
    this.#scheduler = new Scheduler(this.#options.size, () => this.#options.clock.monotonic())
    options.metrics?.measureChildren(() => this.#measure(options.metrics!))
    const { single = false, folders = [] } = options
    const walled = this.jail.walls.length > 0
    if (walled && !single) fillOnce(this.#options.tempRoot)
    this.#processes = new Processes({
      ...this.#options,
      single,
      folders: walled ? folders : null,
      narrator: options.narrator,
      vetDial: options.vetDial,
      isAwaited: () => this.#scheduler.waiting > 0,
      isActive: (owner) => this.#scheduler.isActive(owner),
      onIdle: () => this.#dispatch(),
    })
  }

  run(task: Omit<RunTask, 'caps'>, { workspace_id, ...options }: RunOptions): Promise<RunResult> {
    return this.#analyse(task, { queue: 'job', owner: workspace_id, ...options })
  }

  preview(task: Omit<RunTask, 'caps'>, { workspace_id, ...options }: PreviewOptions): Promise<RunResult> {
    return this.#analyse(task, { queue: 'preview', owner: workspace_id, ...options })
  }

  #analyse(task: Omit<RunTask, 'caps'>, submitted: Submitted): Promise<RunResult> {
    return runIn(this.#options, (caps, isRepeat, onMemory) =>
      this.#submit(
        { ...task, caps },
        // A repeated task was admitted and has begun at its first run.
        { ...submitted, ...(isRepeat ? { onBegin: () => undefined, patient: true } : {}), onMemory },
      ),
    )
  }

  readonly check: Pool['check'] = (task, options) => this.#smallTask<'check'>(task, options)
  readonly describe: Pool['describe'] = (task, options) => this.#smallTask<'describe'>(task, options)
  readonly draw: Pool['draw'] = (task, options) => this.#smallTask<'draw'>(task, options)
  readonly render: Pool['render'] = (task, options) => this.#smallTask<'render'>(task, options)
  readonly tables: Pool['tables'] = (task, options) => this.#smallTask<'tables'>(task, options)
  readonly probe: Pool['probe'] = (task, options) => this.#smallTask<'probe'>(task, options)
  readonly auditDay: Pool['auditDay'] = (task, options) => this.#smallTask<'audit-day'>(task, options)
  readonly explain: Pool['explain'] = (task, options) => this.#smallTask<'explain'>(task, options)
  readonly read: Pool['read'] = (task, options) => this.#smallTask<'read'>(task, options)
  readonly readMetrics: Pool['readMetrics'] = (task, options) =>
    this.#smallTask<'read-metrics'>(task, options)
  readonly convert: Pool['convert'] = (task, options) => this.#smallTask<'convert'>(task, options)

  async #smallTask<Kind extends Task['kind']>(
    task: Task,
    { workspace_id, ...options }: SmallTaskOptions,
  ): Promise<Results[Kind]> {
    const ending = await this.#submit(task, { queue: 'small', owner: workspace_id, ...options })
    if (ending.kind === 'result') return ending.result as Results[Kind]
    if (ending.kind === 'unread') throw ending.error
    throw TaskError.of(task.kind, ending)
  }

  async #submit(task: Task, submitted: Submitted): Promise<Ending<Task['kind']>> {
    const { queue, owner, max_running = null, max_queued = null, patient = false } = submitted
    const { signal, onBegin, onProgress, onMemory, connections, texts, reader = false } = submitted
    const { budgets } = this.#options
    const accepted = queue === 'job' || patient || COUNTED_ONLY.has(task.kind)
    const claim = accepted ? 'accepted' : reader ? 'reader' : 'new'
    const own = budgets ? await budgets.admit(owner, claim) : null
    if (this.#stopping || signal?.aborted) return { kind: 'stopped' }
    const { promise, resolve } = Promise.withResolvers<Ending<Task['kind']>>()
    const waiting: QueuedTask = {
      task,
      claim,
      queue,
      owner,
      reader,
      max_running,
      signal,
      onBegin,
      onProgress,
      onMemory,
      connections,
      spill_bytes: this.#shareOf(own),
      texts,
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

  /** Returns an equal share of what the pool and the workspace may spill, so that no task changes how another one ends. */
  #shareOf(own: number | null): number | null {
    const { spillBytes, size } = this.#options
    if (own === null && spillBytes === undefined) return null
    const all = Math.min(own ?? Number.POSITIVE_INFINITY, spillBytes ?? Number.POSITIVE_INFINITY)
    return Math.floor(all / processesOf(size))
  }

  #dispatch(): void {
    while (!this.#stopping) {
      const waiting = this.#scheduler.next()
      const child = waiting && this.#childFor(waiting)
      if (!waiting || child === null) return void this.#awaitRest()
      if (child === 'failed') continue
      this.#scheduler.begin(waiting)
      void this.#perform(waiting, child)
    }
  }

  /** Looks for work again when the pause of a waiting workspace is over. */
  async #awaitRest(): Promise<void> {
    const ms = this.#scheduler.nextRest
    if (ms === null || this.#resting) return
    this.#resting = true
    await this.#options.clock.sleep(ms, this.#stopped.signal)
    this.#resting = false
    this.#dispatch()
  }

  /** Returns a process for the task; null if it must wait; 'failed' if none can start, and then the task has ended. */
  #childFor(waiting: QueuedTask): AnalysisProcess | 'failed' | null {
    const { owner, task } = waiting
    try {
      return this.#processes.takeFor(owner, foldersOf(task))
    } catch (error) {
      const detail = `No analysis process can be started: ${(error as Error).message}`
      this.#scheduler.remove(waiting)
      this.#options.log.error({ task: task.kind, detail }, 'an analysis process failed')
      waiting.resolve({ kind: 'died', memory: false, detail })
      return 'failed'
    }
  }

  async #perform(waiting: QueuedTask, child: AnalysisProcess): Promise<void> {
    waiting.onBegin?.()
    const { clock, budgets } = this.#options
    const began = clock.monotonic()
    const { owner, claim } = waiting
    const measured = meterTask(child, clock, (ms) => {
      note(this.#spent, owner, ms)
      budgets?.spend(owner, ms, claim)
    })
    this.#processes.use(child)
    const ending = await child
      .perform(waiting.task, {
        ...this.#timesOf(waiting.task),
        signal: waiting.signal,
        onProgress: waiting.onProgress,
        onMemory: waiting.onMemory,
        connections: waiting.connections,
        spill_bytes: waiting.spill_bytes,
        texts: waiting.texts,
      })
      .catch((error: unknown): Ending<Task['kind']> => ({ kind: 'fault', message: (error as Error).message }))
      .then((ended): Ending<Task['kind']> => (this.#stopping ? { kind: 'stopped' } : ended))
    this.#scheduler.end(waiting)
    measured()
    note(this.#worked, owner, clock.monotonic() - began)
    if (ending.kind === 'fault' || ending.kind === 'died') {
      this.#options.log.error(
        { pid: child.pid, task: waiting.task.kind, ending },
        'an analysis process failed',
      )
    }
    waiting.resolve(ending)
    this.#processes.renew(child, ending.kind === 'fault')
    this.#dispatch()
  }

  #timesOf({ kind }: Task): Pick<TaskOptions, 'timeout_ms' | 'starved_ms'> {
    if (kind === 'run') return { timeout_ms: this.#options.caps.timeout_ms }
    return CHECKS.has(kind)
      ? { timeout_ms: CHECK_TIMEOUT_MS, starved_ms: CHECK_STARVED_MS }
      : { timeout_ms: SMALL_TIMEOUT_MS }
  }

  #measure(metrics: PoolMetrics): void {
    const { states, resident_bytes } = this.stats()
    for (const [state, count] of Object.entries(states)) metrics.children.set({ state }, count)
    metrics.childrenMemory.set(resident_bytes)
  }

  stats(): PoolStats {
    const states = { starting: 0, idle: 0, busy: 0 }
    let resident = 0
    const { all } = this.#processes
    for (const child of all) {
      if (child.state === 'ended') continue
      states[child.state] += 1
      resident += child.residentBytes()
    }
    const children = all.map(({ pid, state, owner, tasks }) => ({ pid, state, owner, tasks }))
    const usage = this.#scheduler.usage()
    return {
      states,
      waiting: this.#scheduler.waiting,
      resident_bytes: resident,
      children,
      usage,
      worked: this.#worked,
      spent: this.#spent,
    }
  }

  async stop(): Promise<void> {
    this.#stopping = true
    this.#stopped.abort()
    for (const waiting of this.#scheduler.clear()) waiting.resolve({ kind: 'stopped' })
    await this.#processes.stop()
    if (this.#ownsTemp) rmSync(this.#options.tempRoot, { recursive: true, force: true })
  }
}

/** Adds milliseconds to an owner. Only the owners who last had work are kept. */
function note(known: Map<string, number>, owner: string, ms: number): void {
  const before = known.get(owner) ?? 0
  known.delete(owner)
  known.set(owner, before + ms)
  if (known.size > OWNERS_MOST) known.delete(known.keys().next().value!)
}
