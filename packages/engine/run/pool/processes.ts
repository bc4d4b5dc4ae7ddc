/**
 * Keeps the processes of a pool, and decides which one takes a task. Processes start on demand. While there is room,
 * one unused process is kept ahead; it starts some seconds after the last one was taken. A process serves one
 * workspace only. It is replaced after many tasks or when its memory has grown.
 */
import type { Clock } from '@assay/model/clock'
import type { Folder } from '../jail/jail.ts'
import { type AnalysisProcess, type ProcessOptions, startProcess } from './child-process.ts'
import type { PoolLog } from './contract.ts'
import { processesOf } from './scheduler.ts'

/**
 * The number of tasks after which a process is replaced. A start costs 0.25 s of a core, which is 0.25 ms for each task
 * at this number.
 */
const TASKS_MAX = 1000
/**
 * The milliseconds after which an unused process is started, from the start of the pool or from when the last unused
 * one was taken.
 */
export const SPARE_AFTER_MS = 10_000
/** The milliseconds for which a workspace counts among those that share the processes. */
const SHARED_MS = 60_000
/** The number of idle processes that are never ended: the one last used, and an unused one. */
const KEPT = 2
/** The milliseconds after which other idle processes end. They are checked every LOOK_MS. */
const IDLE_MS = 300_000
const LOOK_MS = 60_000
/** The resident bytes of a process after a task beyond which it is replaced. A warm process has about 120 MB. */
const RESIDENT_MAX_BYTES = 400_000_000

interface Options extends Pick<ProcessOptions, 'tempRoot' | 'narrator' | 'vetDial'> {
  clock: Clock
  log: PoolLog
  /** The number of tasks at a time. */
  size: number
  /** True for one process that is started at once, without a warm-up and without another ahead. */
  single: boolean
  /** The folders that every process sees behind walls; null without walls. */
  folders: readonly Folder[] | null
  /** Tells whether a task waits for a process. */
  isAwaited(): boolean
  /** Tells whether a task of this owner runs or waits. */
  isActive(owner: string): boolean
  /** Called when a process is free for a task. */
  onIdle(): void
}

export class Processes {
  readonly #options: Options
  /** All processes, the most recently used last. */
  #all: AnalysisProcess[] = []
  /** When each owner last took a process, the latest last. */
  readonly #taken = new Map<string, number>()
  #watching = false
  #preparing = false
  readonly #stopped = new AbortController()

  constructor(options: Options) {
    this.#options = options
    if (options.single) this.#start()
    else void this.#keepOneReady()
  }

  get all(): readonly AnalysisProcess[] {
    return this.#all
  }

  /**
   * Returns a free process of this owner, or an unused one, or a new one, which may replace one of another owner.
   * Null if there is no room. Throws if a new one cannot be started.
   */
  takeFor(owner: string, wanted: readonly Folder[]): AnalysisProcess | null {
    const free = this.#all.filter(
      (child) => child.state === 'idle' || (child.state === 'starting' && child.tasks === 0),
    )
    const own = free.findLast((child) => child.owner === owner && child.sees(wanted))
    const unused = free.filter((child) => child.owner === null && child.sees(wanted))
    const known = own ?? unused.find((child) => child.state === 'idle') ?? unused[0]
    const chosen = known ?? this.#replacement(free, wanted)
    if (chosen) {
      chosen.owner = owner
      this.#taken.delete(owner)
      this.#taken.set(owner, this.#options.clock.monotonic())
    }
    void this.#keepOneReady()
    return chosen
  }

  #replacement(free: AnalysisProcess[], wanted: readonly Folder[]): AnalysisProcess | null {
    if (this.#all.length >= processesOf(this.#options.size)) {
      const oldest = free[0]
      if (!oldest) return null
      this.#remove(oldest)
    }
    return this.#start(wanted, true)
  }

  /** Records that a task begins in the process. */
  use(child: AnalysisProcess): void {
    this.#all = [...this.#all.filter((one) => one !== child), child]
  }

  /** Called after a task. Replaces the process if it is worn out or had a fault, and keeps an unused one ready. */
  renew(child: AnalysisProcess, faulty: boolean): void {
    if (this.#stopped.signal.aborted) return
    const worn =
      child.state === 'ended' ||
      faulty ||
      child.tasks >= TASKS_MAX ||
      child.residentBytes() > RESIDENT_MAX_BYTES
    if (!worn) {
      this.#prepareForNext()
      return void this.#keepOneReady()
    }
    this.#remove(child)
    if (!this.#options.single && !this.#hasUnused()) this.#startAhead()
  }

  /**
   * Where more workspaces take turns than there are processes, the next task is of one that has none. So a process of
   * a workspace without work is replaced by an unused one at once, which loads while the next task waits for its turn.
   */
  #prepareForNext(): void {
    if (this.#options.single || this.#hasUnused() || !this.#isShared()) return
    const left = this.#all.find(
      ({ state, owner }) => state === 'idle' && owner !== null && !this.#options.isActive(owner),
    )
    if (!left) return
    this.#remove(left)
    this.#startAhead(true)
  }

  /** Tells whether more owners than there can be processes took one lately. */
  #isShared(): boolean {
    const since = this.#options.clock.monotonic() - SHARED_MS
    for (const [owner, at] of this.#taken) {
      if (at >= since) break
      this.#taken.delete(owner)
    }
    return this.#taken.size > processesOf(this.#options.size)
  }

  #hasUnused(): boolean {
    return this.#all.some(({ owner }) => owner === null)
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
    if (this.#stopped.signal.aborted || this.#hasUnused()) return
    const hasRoom = this.#all.length < processesOf(this.#options.size)
    const idle = this.#all.filter(({ state }) => state === 'idle')
    if (!hasRoom && (idle.length < 2 || this.#options.isAwaited())) return
    if (!hasRoom) this.#remove(idle[0]!)
    this.#startAhead()
  }

  /** Starts a process ahead. A failure, such as a full disk, is only logged: the next task tries again. */
  #startAhead(cold = false): void {
    try {
      this.#start([], cold)
    } catch (error) {
      this.#options.log.warn({ err: error }, 'no analysis process could be started ahead')
    }
  }

  /**
   * Starts a process. `wanted` are the folders of its task, if known. `cold` means that a task waits or comes soon, for
   * which a warm-up costs more than it saves.
   */
  #start(wanted: readonly Folder[] = [], cold = false): AnalysisProcess {
    const { clock, tempRoot, log, narrator, vetDial, single, folders } = this.#options
    const child: AnalysisProcess = startProcess({
      clock,
      tempRoot,
      cold: single || cold,
      folders: folders && [...folders, ...wanted],
      narrator,
      vetDial,
      onState: () => this.#onState(child),
      onOutput: (text) => log.warn({ pid: child.pid, text }, 'an analysis process printed'),
    })
    this.#all.unshift(child)
    void this.#watchIdle()
    return child
  }

  /** Ends processes that have been idle for IDLE_MS while there are more than KEPT. */
  async #watchIdle(): Promise<void> {
    if (this.#watching) return
    this.#watching = true
    const { clock } = this.#options
    while (!this.#stopped.signal.aborted && this.#all.length > KEPT) {
      await clock.sleep(LOOK_MS, this.#stopped.signal)
      const last = this.#all.findLast(({ owner }) => owner !== null)
      const fresh = this.#all.find(({ owner }) => owner === null)
      for (const child of this.#all) {
        const idle = child.state === 'idle' && clock.monotonic() - child.idleSince >= IDLE_MS
        if (idle && child !== last && child !== fresh) this.#remove(child)
      }
    }
    this.#watching = false
  }

  #remove(child: AnalysisProcess): void {
    this.#all = this.#all.filter((one) => one !== child)
    child.end()
  }

  #onState(child: AnalysisProcess): void {
    if (child.state === 'ended') this.#all = this.#all.filter((one) => one !== child)
    if (child.state === 'idle') this.#options.onIdle()
  }

  /** Ends all processes. Resolves when they have ended; none starts after that. */
  async stop(): Promise<void> {
    this.#stopped.abort()
    const all = this.#all
    for (const child of all) child.end()
    await Promise.all(all.map((child) => child.ended))
  }
}
