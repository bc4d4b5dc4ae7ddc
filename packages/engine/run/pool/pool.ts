/**
 * The pool of analysis processes. Each process does one task at a time and is warm before a task comes.
 *
 * scheduler.ts decides how many processes there are and what runs next. Processes start on demand. While there is room,
 * one unused process is kept ahead; it starts some seconds after the last one was taken. A process serves one workspace
 * only; it is replaced after many tasks or when its memory has grown.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '@assay/model/clock'
import type { Progress } from '@assay/model/job'
import { DEFAULT_LIMITS } from '@assay/model/template'
import type { ConnectionAccess } from '../connection-requests.ts'
import { foldersOf } from '../jail/folders.ts'
import { type Folder, type JailReport, wallsHere } from '../jail/jail.ts'
import type { Results, RunResult, RunTask, Task } from '../protocol.ts'
import { HERE, runIn, workersHere } from './box.ts'
import { type AnalysisProcess, fillOnce, startProcess, type TaskOptions } from './child-process.ts'
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
import { meterTask } from './meter.ts'
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

/**
 * The number of tasks after which a process is replaced. A start costs 0.25 s of a core, which is 0.25 ms for each task
 * at this number.
 */
const TASKS_MAX = 1000
/** When an unused process is started, after the start of the pool or after the last unused one was taken. */
export const SPARE_AFTER_MS = 10_000
/** Idle processes that are never ended: the one last used, and an unused one. */
const KEPT = 2
/** The others end after this idle time, checked every LOOK_MS. */
const IDLE_MS = 300_000
const LOOK_MS = 60_000
/** A warm process has about 120 MB. One that is larger than this after a task is replaced. */
const RESIDENT_MAX_BYTES = 400_000_000
const SMALL_TIMEOUT_MS = 30_000
/** A check reads columns only, and the blocks of a template are bounded, so the largest takes a second or two. */
const CHECK_TIMEOUT_MS = 15_000
const CHECKS: ReadonlySet<Task['kind']> = new Set(['check', 'read', 'read-metrics'])
/** How long a check may take on a machine that is too busy to give it that time. */
const CHECK_STARVED_MS = 60_000
/** Their time counts but is never refused, because otherwise nobody could list templates and mend them. */
const COUNTED_ONLY: ReadonlySet<Task['kind']> = new Set(['read', 'read-metrics'])
/** Owners whose time is kept. */
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
  /** The most recently used last. */
  #children: AnalysisProcess[] = []
  readonly #scheduler: Scheduler<QueuedTask>
  readonly #worked = new Map<string, number>()
  readonly #spent = new Map<string, number>()
  #stopping = false
  #watching = false
  #preparing = false
  #resting = false
  readonly #stopped = new AbortController()
  /** The temporary folder is this pool's to remove. */
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
    if (this.#options.single) this.#start()
    else {
      if (this.jail.walls.length > 0) fillOnce(this.#options.tempRoot)
      void this.#keepOneReady()
    }
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
        // The repeat of a task was admitted and has begun at its first run.
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

  /**
   * Returns an equal share of what the pool and the workspace may spill, so that no task changes how another one ends.
   */
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

  /**
   * Returns a free process of this owner, else an unused one, else a new one, which may replace one of another owner.
   * Returns 'failed' if none can start; the task has then ended.
   */
  #childFor(waiting: QueuedTask): AnalysisProcess | 'failed' | null {
    const { owner, task } = waiting
    const wanted = foldersOf(task)
    const free = this.#children.filter(
      (child) => child.state === 'idle' || (child.state === 'starting' && child.tasks === 0),
    )
    const own = free.findLast((child) => child.owner === owner && child.sees(wanted))
    const unused = free.filter((child) => child.owner === null && child.sees(wanted))
    const known = own ?? unused.find((child) => child.state === 'idle') ?? unused[0]
    try {
      const chosen = known ?? this.#replacement(free, wanted)
      if (chosen) chosen.owner = owner
      void this.#keepOneReady()
      return chosen
    } catch (error) {
      const detail = `No analysis process can be started: ${(error as Error).message}`
      this.#scheduler.remove(waiting)
      this.#options.log.error({ task: task.kind, detail }, 'an analysis process failed')
      waiting.resolve({ kind: 'died', memory: false, detail })
      return 'failed'
    }
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
    const { clock, budgets } = this.#options
    const began = clock.monotonic()
    const { owner, claim } = waiting
    const measured = meterTask(child, clock, (ms) => {
      note(this.#spent, owner, ms)
      budgets?.spend(owner, ms, claim)
    })
    this.#children = [...this.#children.filter((one) => one !== child), child]
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
    this.#renew(child, ending)
    this.#dispatch()
  }

  #timesOf({ kind }: Task): Pick<TaskOptions, 'timeout_ms' | 'starved_ms'> {
    if (kind === 'run') return { timeout_ms: this.#options.caps.timeout_ms }
    return CHECKS.has(kind)
      ? { timeout_ms: CHECK_TIMEOUT_MS, starved_ms: CHECK_STARVED_MS }
      : { timeout_ms: SMALL_TIMEOUT_MS }
  }

  /** Replaces a worn-out process after a task, and keeps an unused one ready. */
  #renew(child: AnalysisProcess, ending: Ending<Task['kind']>): void {
    if (this.#stopping) return
    const worn =
      child.state === 'ended' ||
      ending.kind === 'fault' ||
      child.tasks >= TASKS_MAX ||
      child.residentBytes() > RESIDENT_MAX_BYTES
    if (!worn) return void this.#keepOneReady()
    this.#remove(child)
    if (!this.#options.single && !this.#hasUnused()) this.#startAhead()
  }

  #hasUnused(): boolean {
    return this.#children.some(({ owner }) => owner === null)
  }

  /**
   * Starts an unused process for the next task, if there is still none after some seconds. If there is no room, it
   * replaces one of several idle ones.
   */
  async #keepOneReady(): Promise<void> {
    if (this.#preparing || this.#options.single || this.#hasUnused()) return
    this.#preparing = true
    await this.#options.clock.sleep(SPARE_AFTER_MS, this.#stopped.signal)
    this.#preparing = false
    if (this.#stopping || this.#hasUnused()) return
    const hasRoom = this.#children.length < processesOf(this.#options.size)
    const idle = this.#children.filter(({ state }) => state === 'idle')
    if (!hasRoom && (idle.length < 2 || this.#scheduler.waiting > 0)) return
    if (!hasRoom) this.#remove(idle[0]!)
    this.#startAhead()
  }

  /** Starts a process ahead. A failure, such as a full disk, is ignored: the next task tries again. */
  #startAhead(): void {
    try {
      this.#start()
    } catch (error) {
      this.#options.log.warn({ err: error }, 'no analysis process could be started ahead')
    }
  }

  /**
   * Starts a process. `wanted` are the folders of its task, if known. `awaited` means that a task waits, for which a
   * warm-up costs more than it saves.
   */
  #start(wanted: readonly Folder[] = [], awaited = false): AnalysisProcess {
    const { clock, tempRoot, log, narrator, vetDial } = this.#options
    const { single = false, folders = [] } = this.#options
    const child: AnalysisProcess = startProcess({
      clock,
      tempRoot,
      cold: single || awaited,
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
      spent: this.#spent,
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

/** Adds milliseconds to an owner. Only the owners who had work last are kept. */
function note(known: Map<string, number>, owner: string, ms: number): void {
  const before = known.get(owner) ?? 0
  known.delete(owner)
  known.set(owner, before + ms)
  if (known.size > OWNERS_MOST) known.delete(known.keys().next().value!)
}
