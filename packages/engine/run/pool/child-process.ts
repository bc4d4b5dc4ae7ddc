/**
 * The parent's side of one analysis process, which does one task at a time. Every task ends: at its deadline, or when it
 * is canceled, the process is asked to stop and is killed after GRACE_MS (DuckDB's interrupt is cooperative: a single
 * large call was measured to run on for a minute).
 */
import type { ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import path from 'node:path'
import type { Readable } from 'node:stream'
import type { Clock } from '@assay/model/clock'
import type { OpenConnection } from '@assay/model/connection'
import type { Progress } from '@assay/model/job'
import { answerPartitions, type PartitionRequest } from '../../partitions/requests.ts'
import { NARRATIONS_MOST } from '../../printing/narrative.ts'
import type { ConnectionAccess } from '../connection-requests.ts'
import { foldersOf, makeFolder, removeFolder, View, withTemp } from '../jail/folders.ts'
import { descendants, type Folder, narrow } from '../jail/jail.ts'
import type { Narrator } from '../narration-requests.ts'
import type { FromChild, NarrationRequest, Task, ToChild } from '../protocol.ts'
import { type DialWanted, dialFor, type VetDial } from '../socket-requests.ts'
import { type Channel, listenTo } from './channel.ts'
import { Deadline } from './deadline.ts'
import { death, type Ending } from './ending.ts'
import { type Launched, launch } from './launch.ts'
import { processorMsOf, residentOf, wantsProcessor } from './meter.ts'
import { ReceivedRows } from './table-rows.ts'
import { sendTexts, type Texts } from './texts.ts'

export interface TaskOptions {
  /** The time limit until the process reports the limit of the template. */
  timeout_ms: number
  /**
   * The limit by the clock in milliseconds for a task with less than `timeout_ms` of processor time. Without it the
   * clock alone counts.
   */
  starved_ms?: number | undefined
  signal?: AbortSignal | undefined
  onProgress?: ((progress: Progress) => void) | undefined
  /** Receives the memory in bytes that the task may use when it begins. */
  onMemory?: ((bytes: number) => void) | undefined
  /** Gives the task the connections that its sources name. Without it the task gets none. */
  connections?: ConnectionAccess | undefined
  /** Bytes that the task may spill to disk; null: a multiple of its memory. */
  spill_bytes: number | null
  texts?: (() => Promise<Texts>) | undefined
}

export interface AnalysisProcess {
  readonly pid: number | undefined
  /** `idle`: loaded, alive and without a task. */
  readonly state: 'starting' | 'idle' | 'busy' | 'ended'
  /** The workspace whose data it has read; null if it is unused. It serves no other workspace. */
  owner: string | null
  readonly tasks: number
  /** The time at which it became idle, by the clock's `monotonic`. */
  readonly idleSince: number
  /** Tells whether the process sees these folders. Always true without walls. */
  sees(folders: readonly Folder[]): boolean
  /** Returns the bytes of memory; 0 on systems that do not report it. */
  residentBytes(): number
  /** Milliseconds of processor time so far; null if the system does not report it or the process ended by itself. */
  processorMs(): number | null
  perform<T extends Task>(task: T, options: TaskOptions): Promise<Ending<T['kind']>>
  end(): void
  readonly ended: Promise<void>
}

export interface ProcessOptions {
  clock: Clock
  tempRoot: string
  /** True skips the warm-up: the process is ready sooner and slower in its first task. */
  cold: boolean
  /**
   * The folders that the process sees behind walls until its first task, which leaves it only its own. Null without
   * walls.
   */
  folders: readonly Folder[] | null
  /** Asks the language model; undefined if the operator has named none. */
  narrator?: Narrator | undefined
  /** Tells whether a workspace may reach a host; undefined if every host that the operator allows is open. */
  vetDial?: VetDial | undefined
  onState(): void
  /** Called with the first kilobytes that the process prints. It should print nothing. */
  onOutput(text: string): void
}

/** The milliseconds between the request to stop and SIGKILL. */
const GRACE_MS = 400
/**
 * The longest start of a process in milliseconds. A start takes a second, and many on a busy machine whose files are
 * not in memory.
 */
const START_MS = 60_000
/** The milliseconds reserved for the end of a task when a language model takes too long. */
const ENDING_MS = 5000
const OUTPUT_BYTES = 8_192
/** The longest limit in milliseconds that a process may name for a task with a shorter cap: that of an explanation. */
const OWN_LIMIT_MS = 120_000
/** An explicit reason of aborts. Without one V8 captures a stack trace for each abort. */
const OVER = 'over'

/** Keeps the end of a process's output, which holds the reason of a crash. */
function lastOf(stream: Readable | null, onOutput: (text: string) => void): () => string {
  let kept = ''
  let told = 0
  stream?.setEncoding('utf8').on('data', (text: string) => {
    kept = (kept + text).slice(-OUTPUT_BYTES)
    if (told < OUTPUT_BYTES) onOutput(text.slice(0, OUTPUT_BYTES))
    told += text.length
  })
  return () => kept
}

/** Starts a process, behind walls if `folders` are given. */
export const startProcess = (options: ProcessOptions): AnalysisProcess =>
  new ForkedProcess(launch(options), options)

interface Running {
  id: number
  task: Task
  /** The connections that the task has asked for and received. */
  acquired: Map<string, OpenConnection>
  onProgress: ((progress: Progress) => void) | undefined
  onStarted(started: Extract<FromChild, { type: 'started' }>): void
  connections: ConnectionAccess | undefined
  /** Returns the milliseconds until the deadline. */
  left(): number
  /** Aborted when the task ends. */
  over: AbortSignal
  /** The rows of its result that have arrived. */
  rows: ReceivedRows
  settle(ending: Ending<Task['kind']>): void
}

class ForkedProcess implements AnalysisProcess {
  state: AnalysisProcess['state'] = 'starting'
  owner: string | null = null
  tasks = 0
  idleSince = 0
  readonly ended: Promise<void>
  readonly #process: ChildProcess
  readonly #options: ProcessOptions
  #running: Running | null = null
  /** The folders that the process sees; null without walls. */
  #view: View | null
  /** True while the process sees the folders of all workspaces. */
  #wide: boolean
  readonly #temp: string
  readonly #channel: Channel
  /** The processor time that was read before the process was killed. */
  #spentAtEnd: number | null = null
  readonly #loaded = Promise.withResolvers<void>()

  constructor({ process: process_, view, temp }: Launched, options: ProcessOptions) {
    this.#view = view
    this.#wide = view !== null
    this.#temp = temp
    this.#process = process_
    this.#options = options
    const errors = lastOf(process_.stderr, options.onOutput)
    lastOf(process_.stdout, options.onOutput)
    this.#channel = listenTo(process_, {
      now: () => options.clock.monotonic(),
      onMessage: (message) => this.#receive(message),
      onBroken: (reason) => this.#distrust(reason),
    })
    process_.on('error', () => this.end())
    this.ended = new Promise((resolve) => {
      const finish = (code: number | null, signal: NodeJS.Signals | null): void => {
        this.#enter('ended')
        this.#loaded.resolve()
        if (view !== null) void removeFolder(temp)
        this.#running?.settle(death(code, signal, errors()))
        resolve()
      }
      process_.once('close', finish)
      process_.once('exit', (code, signal) => {
        if (this.state !== 'ended') return
        process_.off('close', finish)
        this.#letGo()
        finish(code, signal)
      })
    })
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  #enter(state: AnalysisProcess['state']): void {
    if (this.state === state || this.state === 'ended') return
    this.state = state
    if (state === 'idle') this.idleSince = this.#options.clock.monotonic()
    this.#options.onState()
  }

  /** Ends a process that sends what it should not. */
  #distrust(reason: string): void {
    this.#running?.settle({ kind: 'fault', message: reason })
    this.end()
  }

  #receive(message: FromChild): void {
    const distrust = (error: unknown): void => this.#distrust(`It sent no sound request: ${String(error)}`)
    if (message.type === 'ready') {
      this.#loaded.resolve()
      if (this.state === 'starting') this.#enter('idle')
      return
    }
    const running = this.#running
    if (!running || running.id !== message.id) return
    if (message.type === 'progress') running.onProgress?.(message.progress)
    else if (message.type === 'started') running.onStarted(message)
    else if (message.type === 'acquire') this.#acquire(message.name, running).catch(distrust)
    else if (message.type === 'release') running.connections?.release(message.name)
    else if (message.type === 'dial') this.#dial(message, running).catch(distrust)
    else if (message.type === 'narrate') this.#narrate(message.requests, running).catch(distrust)
    else if (message.type === 'find' || message.type === 'keep')
      this.#keepDays(message, running).catch(distrust)
    else if (message.type === 'rows') running.rows.add(message)
    else if (message.type === 'result')
      running.settle({ kind: 'result', result: running.rows.into(message.result) })
    else running.settle({ kind: 'fault', message: message.message })
  }

  async #acquire(name: string, { id, connections, over, acquired: own }: Running): Promise<void> {
    const acquired = (await connections?.acquire(name, over)) ?? {
      refused: `There is no connection "${name}" here.`,
    }
    if ('connection' in acquired) own.set(name, acquired.connection)
    if (!over.aborted) this.#send({ type: 'acquired', id, name, acquired })
  }

  async #dial(
    message: Extract<FromChild, { type: 'dial' }>,
    { id, task, acquired, over }: Running,
  ): Promise<void> {
    const { vetDial } = this.#options
    const vet = vetDial && ((wanted: DialWanted) => vetDial({ ...wanted, workspace_id: this.owner ?? '' }))
    const dialed = await dialFor(message, task, acquired, vet)
    const { call } = message
    if ('failure' in dialed) {
      if (!over.aborted) this.#send({ type: 'dialed', id, call, failure: dialed.failure })
    } else if (over.aborted || !this.#process.connected) dialed.socket.destroy()
    else
      this.#process.send(
        { type: 'dialed', id, call, failure: null } satisfies ToChild,
        dialed.socket,
        () => undefined,
      )
  }

  async #narrate(requests: NarrationRequest[], { id, over, left }: Running): Promise<void> {
    const { narrator } = this.#options
    const before = left()
    const within_ms = before - Math.min(before / 2, ENDING_MS)
    const given = { workspace_id: this.owner ?? '', signal: over, within_ms }
    // A process that a template has taken over may send more requests than its task has.
    const narrated = narrator
      ? await Promise.all(requests.slice(0, NARRATIONS_MOST).map((request) => narrator(request, given)))
      : requests.map(() => ({ missing: 'off' as const }))
    if (!over.aborted) this.#send({ type: 'narrated', id, narrated })
  }

  async #keepDays(request: PartitionRequest, { id, over, connections }: Running): Promise<void> {
    const kept = await answerPartitions(request, connections?.keeper)
    if (!over.aborted) this.#send({ type: 'kept', id, kept })
  }

  #send(message: ToChild): void {
    if (this.#process.connected) this.#process.send(message, () => undefined)
  }

  #pids(): (number | undefined)[] {
    return this.#view === null ? [this.pid] : [this.pid, ...descendants(this.pid)]
  }

  residentBytes(): number {
    return this.#pids().reduce<number>((sum, pid) => sum + residentOf(pid), 0)
  }

  processorMs(): number | null {
    return this.state === 'ended' ? this.#spentAtEnd : processorMsOf(this.#pids())
  }

  sees(folders: readonly Folder[]): boolean {
    return this.#view?.covers(folders) ?? true
  }

  /** Removes the folders of other workspaces before the first task. Resolves with the reason if that failed, else null. */
  async #narrow(task: Task): Promise<string | null> {
    const view = this.#view
    if (!this.#wide || view === null) return null
    await this.#loaded.promise
    const kept = foldersOf(task)
    for (const { path: folder, writable } of kept) if (writable) makeFolder(folder)
    this.#view = new View(kept)
    this.#wide = false
    if (view.isOnly(this.#view.folders)) return null
    return narrow(this.pid!, view.folders, withTemp(this.#view.folders, view.folders, this.#temp)).then(
      () => null,
      (error: unknown) => `Its folders could not be narrowed: ${(error as Error).message}`,
    )
  }

  end(): void {
    this.#spentAtEnd = this.processorMs()
    if (this.#view !== null) for (const pid of descendants(this.pid)) tryKill(pid)
    this.#process.kill('SIGKILL')
    this.#enter('ended')
  }

  /**
   * Closes the channel and the pipes. A process below bubblewrap may outlive it while the walls are built; it holds
   * the pipes open and ends when its channel closes. The pool does not wait for its output.
   */
  #letGo(): void {
    if (this.#process.connected) this.#process.disconnect()
    this.#process.stdout?.destroy()
    this.#process.stderr?.destroy()
  }

  async perform<T extends Task>(task: T, options: TaskOptions): Promise<Ending<T['kind']>> {
    const { signal, timeout_ms } = options
    const starting = this.state === 'starting'
    this.#enter('busy')
    // The start of a process on a busy machine does not count in the time of the task.
    const ending =
      (starting ? await this.#within(START_MS, signal, this.#loaded.promise) : null) ??
      (this.#wide ? await this.#within(timeout_ms, signal, this.#narrow(task)) : null)
    if (ending !== null) {
      this.end()
      return ending
    }
    return this.#perform(task, options)
  }

  /**
   * Runs a step that must precede the task, until the deadline or a cancel. Resolves with null when it is done, or
   * with the reason why it cannot be.
   */
  async #within(
    ms: number,
    signal: AbortSignal | undefined,
    doing: Promise<string | null | void>,
  ): Promise<Exclude<Ending<Task['kind']>, { kind: 'result' }> | null> {
    const over = new AbortController()
    const late = this.#options.clock.sleep(ms, over.signal)
    const canceled = new Promise<void>((resolve) => {
      signal?.addEventListener('abort', () => resolve(), { once: true, signal: over.signal })
      if (signal?.aborted) resolve()
    })
    try {
      return await Promise.race([
        doing.then((detail) =>
          typeof detail === 'string' ? { kind: 'died' as const, memory: false, detail } : null,
        ),
        late.then(() => ({ kind: 'timed_out' as const, after_ms: ms })),
        canceled.then(() => ({ kind: 'stopped' as const })),
      ])
    } finally {
      over.abort(OVER)
    }
  }

  async #perform<T extends Task>(task: T, options: TaskOptions): Promise<Ending<T['kind']>> {
    const { clock } = this.#options
    const { spill_bytes } = options
    this.tasks += 1
    this.#channel.reset()
    const id = this.tasks
    this.#enter('busy')
    const folder = path.join(this.#temp, `job-${randomUUID()}`)
    const over = new AbortController()
    let reason: Ending<Task['kind']> | null = null
    let begun = false
    const stop = (why: Ending<Task['kind']>): void => {
      if (reason || over.signal.aborted) return
      reason = why
      // The process has no task to end while its texts are read and sent.
      if (!begun) return this.#running?.settle(why)
      this.#send({ type: 'cancel', id })
      void clock.sleep(GRACE_MS, over.signal).then(() => {
        if (!over.signal.aborted) this.end()
      })
    }
    const deadline = new Deadline({
      clock,
      usedMs: () => this.processorMs(),
      wants: () => wantsProcessor(this.#pids()),
      onLate: (after_ms) => stop({ kind: 'timed_out', after_ms }),
    })
    const cancel = (): void => stop({ kind: 'stopped' })
    try {
      if (this.state === 'ended') return { kind: 'died', memory: false, detail: 'The process had ended.' }
      const ending = await new Promise<Ending<Task['kind']>>((resolve) => {
        const { onProgress, connections } = options
        this.#running = {
          id,
          task,
          acquired: new Map(),
          onProgress,
          onStarted({ timeout_ms, memory_bytes }) {
            deadline.set(Math.min(timeout_ms, Math.max(options.timeout_ms, OWN_LIMIT_MS)))
            if (memory_bytes !== undefined) options.onMemory?.(memory_bytes)
          },
          connections,
          left: () => deadline.left(),
          over: over.signal,
          rows: new ReceivedRows(),
          settle: resolve,
        }
        deadline.set(options.timeout_ms, options.starved_ms)
        options.signal?.addEventListener('abort', cancel, { once: true })
        const begin = (): void => {
          if (over.signal.aborted) return
          begun = true
          this.#send({ type: 'task', id, task, temp_folder: folder, spill_bytes })
          if (options.signal?.aborted) cancel()
        }
        if (options.texts === undefined) begin()
        else
          sendTexts(this.#process, id, options.texts, over.signal).then(begin, (error) =>
            resolve({ kind: 'unread', error }),
          )
      })
      return (reason ?? ending) as Ending<T['kind']>
    } finally {
      over.abort(OVER)
      options.connections?.end()
      deadline.clear()
      options.signal?.removeEventListener('abort', cancel)
      this.#running = null
      if (this.#process.connected) this.#enter('idle')
      void removeFolder(folder)
    }
  }
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended by itself.
  }
}
