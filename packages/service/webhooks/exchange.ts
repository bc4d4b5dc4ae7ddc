/**
 * One request and its answer under one deadline for the whole: resolving, connecting, sending, and reading the body. A
 * timer for idleness would be beaten by a receiver that drips (measured: undici's `bodyTimeout` is one). The body is read
 * as it comes, kept up to a cap and never decompressed. It always ends: a failure is a value. There is one object for each
 * exchange and neither a promise nor a timer of its own: at thousands a second these cost more than what they are for.
 */
import { createHash, type Hash } from 'node:crypto'
import type { ConnectPhases, Guard, Line } from '@assay/net/guard'
import type { Dispatcher } from 'undici'

/** The deadline came before the answer was complete. */
export class DeadlineError extends Error {}
/** The caller gave up: nothing is known about the receiver. */
export class AbandonedError extends Error {}

export interface ExchangeRequest {
  url: URL
  /** `url.origin`, which takes as long to make as to look up a connection by it. */
  origin: string
  method: 'POST'
  /** Name, value, name, value. */
  headers: string[]
  body: Buffer
  /** Milliseconds for all of it. */
  deadline: number
  /** Bytes of the answer's body that are kept. */
  keep: number
  /** Ends the exchange with an AbandonedError. */
  signal?: AbortSignal | undefined
}

export interface Exchange {
  /** Null: there was no answer. */
  readonly status: number | null
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  /** The body was longer than what is kept, or ended early. */
  readonly truncated: boolean
  /** Bytes of the body that were read. */
  readonly read: number
  /** They are all that it has. */
  readonly whole: boolean
  /** SHA-256 of the bytes that were read, in hex, where those are more than what is kept. */
  readonly sha256: string | null
  readonly phases: ConnectPhases & { first_byte: number | null; total: number }
  /** What went wrong below HTTP; null: the answer is complete, or cut where it was longer than what is read. */
  readonly failure: Error | null
}

/** A body a little longer than what is kept is read to its end, so that the connection can be used again. */
const READ_BEYOND = 48 * 1024
const NOTHING = Buffer.alloc(0)
const NO_HEADERS: Readonly<Record<string, string>> = {}
const SOCKET_CODES = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  for (const name of Object.keys(headers)) {
    const value = headers[name]
    if (typeof value !== 'string') headers[name] = value?.join(', ') ?? ''
  }
  return headers as Record<string, string>
}

function pathOf(url: URL): string {
  return `${url.pathname}${url.search}`
}

/** The body as it comes: the first bytes are kept, all that were read are counted, and hashed where they are more. */
class BodyReader {
  readonly keep: number
  read = 0
  private kept = 0
  private readonly chunks: Buffer[] = []
  private hash: Hash | null = null

  constructor(keep: number) {
    this.keep = keep
  }

  add(chunk: Buffer): void {
    this.read += chunk.length
    const part = chunk.subarray(0, this.keep - this.kept)
    if (part.length > 0) this.chunks.push(part)
    this.kept += part.length
    if (this.read === this.kept) return
    if (this.hash === null) {
      this.hash = createHash('sha256')
      for (const kept of this.chunks) this.hash.update(kept)
      this.hash.update(chunk.subarray(part.length))
    } else this.hash.update(chunk)
  }

  body(): Buffer {
    const { chunks } = this
    return chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks)
  }

  /** Of all that was read; null: that is what is kept. */
  sha256(): string | null {
    return this.hash?.copy().digest('hex') ?? null
  }
}

/** Those that hear of one thing, however many: one listener or timer for all of them, since each costs more than to send. */
const hearers = new WeakMap<AbortSignal, Set<Running>>()

function hearersOf(signal: AbortSignal): Set<Running> {
  const known = hearers.get(signal)
  if (known) return known
  const all = new Set<Running>()
  hearers.set(signal, all)
  const tell = (): void => {
    for (const each of all) each.stop(new AbandonedError('The sender is stopping.'))
  }
  signal.addEventListener('abort', tell, { once: true })
  return all
}

/** Each has the same time, so the first that began is the first whose time is over. */
class Deadline {
  readonly #ms: number
  readonly #running = new Set<Running>()
  #timer: NodeJS.Timeout | null = null

  constructor(ms: number) {
    this.#ms = ms
  }

  add(running: Running): void {
    this.#running.add(running)
    if (this.#running.size > 1) return
    if (this.#timer) this.#timer.ref()
    else this.#wait(this.#ms)
  }

  delete(running: Running): void {
    if (this.#running.delete(running) && this.#running.size === 0) this.#timer?.unref()
  }

  #wait(ms: number): void {
    this.#timer = setTimeout(() => this.#look(), Math.max(1, Math.ceil(ms)))
  }

  #look(): void {
    this.#timer = null
    const over = performance.now() - this.#ms
    for (const running of this.#running) {
      if (running.began > over) return this.#wait(running.began - over)
      running.stop(new DeadlineError('No complete answer in time.'))
    }
  }
}

const deadlines = new Map<number, Deadline>()

function deadlineOf(ms: number): Deadline {
  const known = deadlines.get(ms)
  if (known) return known
  const made = new Deadline(ms)
  deadlines.set(ms, made)
  return made
}

/** One exchange while it runs, and then what became of it. */
class Running implements Exchange, Dispatcher.DispatchHandler {
  readonly began = performance.now()
  status: number | null = null
  headers = NO_HEADERS
  whole = false
  failure: Error | null = null
  readonly phases: Exchange['phases'] = { dns: null, connect: null, tls: null, first_byte: null, total: 0 }
  readonly #guard: Guard
  readonly #request: ExchangeRequest
  readonly #done: (exchange: Exchange) => void
  readonly #deadline: Deadline
  readonly #hearers: Set<Running> | null
  #body: BodyReader | null = null
  #line: Line | null = null
  #reused: boolean | null = null
  #sentAt = 0
  #over = false
  #controller: Dispatcher.DispatchController | null = null

  constructor(guard: Guard, request: ExchangeRequest, done: (exchange: Exchange) => void) {
    this.#guard = guard
    this.#request = request
    this.#done = done
    this.#deadline = deadlineOf(request.deadline)
    this.#hearers = request.signal ? hearersOf(request.signal) : null
  }

  get body(): Buffer {
    return this.#body?.body() ?? NOTHING
  }

  get read(): number {
    return this.#body?.read ?? 0
  }

  get sha256(): string | null {
    return this.#body?.sha256() ?? null
  }

  get truncated(): boolean {
    return this.status !== null && (!this.whole || this.read > this.#request.keep)
  }

  start(): void {
    this.#deadline.add(this)
    this.#hearers?.add(this)
    this.#send()
    if (this.#request.signal?.aborted) this.stop(new AbandonedError('The sender is stopping.'))
  }

  stop(reason: Error): void {
    this.#finish(reason)
    this.#controller?.abort(reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#over) return controller.abort(new AbandonedError('The exchange is over.'))
    this.#controller = controller
    this.#connected()
    this.#sentAt = performance.now()
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200 || this.#over) return
    this.phases.first_byte = performance.now() - this.#sentAt
    this.status = status
    this.headers = flatten(headers)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return
    const { keep } = this.#request
    this.#body ??= new BodyReader(keep)
    this.#body.add(chunk)
    if (this.#body.read <= keep + READ_BEYOND) return
    this.#finish(null)
    controller.abort(new AbandonedError('The body is longer than what is read.'))
  }

  onResponseEnd(): void {
    if (this.#over) return
    this.whole = true
    this.#finish(null)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    if (!this.#wasStale(error)) return this.#finish(error)
    this.#leave(false)
    this.#send()
  }

  #send(): void {
    const { url, origin, method, headers, body } = this.#request
    this.#line = this.#guard.take(origin)
    this.#reused = null
    this.#controller = null
    this.#line.dispatch({ path: pathOf(url), method, headers, body }, this)
  }

  /** What connecting cost is known once it has ended, well or not. */
  #connected(): void {
    if (this.#reused !== null) return
    const { dns, connect, tls, reused } = this.#line!.phases()
    this.#reused = reused
    Object.assign(this.phases, { dns, connect, tls })
  }

  /** A kept connection that the other side had closed meanwhile: nothing was answered, the next is tried, at last a fresh one. */
  #wasStale(error: Error): boolean {
    if (this.#over || this.status !== null || this.#reused !== true) return false
    return SOCKET_CODES.has((error as { code?: string }).code ?? '')
  }

  #leave(whole: boolean): void {
    this.#guard.give(this.#line!, whole)
  }

  /** What follows the end of an answer may send at once, on the same line: of the parser's state nothing is in its way. */
  #finish(failure: Error | null): void {
    if (this.#over) return
    this.#connected()
    this.#over = true
    this.failure = failure
    this.phases.total = performance.now() - this.began
    this.#deadline.delete(this)
    this.#hearers?.delete(this)
    this.#leave(this.whole)
    if (this.whole) this.#done(this)
    else queueMicrotask(() => this.#done(this))
  }
}

/** `done` is called once; it must not throw. Where the answer is complete what it sends next goes over the same connection. */
export function exchange(guard: Guard, request: ExchangeRequest, done: (exchange: Exchange) => void): void {
  new Running(guard, request, done).start()
}
