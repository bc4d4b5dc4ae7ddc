/**
 * One POST and its answer under one deadline for resolving, connecting, sending and reading the body. It never rejects: a
 * failure is a value. undici's `bodyTimeout` limits idle time only, and a slow receiver would never reach it, so the deadline is
 * a timer of its own. The body is kept up to a cap and never decompressed.
 */
import { createHash, type Hash } from 'node:crypto'
import { ConnectionReport, type ConnectPhases, type Guard } from '@assay/net/guard'
import type { Dispatcher } from 'undici'

/** The deadline passed before the answer was complete. */
export class DeadlineError extends Error {}
/** The caller aborted the exchange. Nothing is known about the receiver. */
export class AbandonedError extends Error {}

export interface ExchangeRequest {
  url: URL
  /** The origin of the receiver, as `url.origin`. */
  origin: string
  /** Names and values of headers, in turn: name, value, name, value. */
  headers: string[]
  body: Buffer
  /** The time in milliseconds for the whole exchange. */
  deadline: number
  /** The number of bytes of the answer's body that are kept. */
  keep: number
  /** Its abort ends the exchange with an AbandonedError. */
  signal?: AbortSignal | undefined
}

export interface Exchange {
  /** The status of the answer; null if there was none. */
  status: number | null
  headers: Record<string, string>
  /** The first `keep` bytes at most. */
  body: Buffer
  /** True if the body was longer than what is kept, or ended early. */
  truncated: boolean
  /** The number of bytes of the body that were read. */
  read: number
  /** True if the body was read to its end. */
  whole: boolean
  /** The SHA-256 in hex of the bytes that were read, if they are more than what is kept; else null. */
  sha256: string | null
  phases: ConnectPhases & { first_byte: number | null; total: number }
  /** The failure below HTTP. Null if the answer is complete, or was longer than what is read. */
  failure: Error | null
}

/**
 * The bytes beyond the kept ones that are still read. A body that ends within them leaves the connection free for
 * another request.
 */
const READ_BEYOND = 48 * 1024
/** Codes of errors on a kept connection that the other side has closed. */
const STALE_CODES = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])
const NOTHING = Buffer.alloc(0)

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  for (const [name, value] of Object.entries(headers))
    if (typeof value !== 'string') headers[name] = value?.join(', ') ?? ''
  return headers as Record<string, string>
}

/**
 * The handler of one request. undici's own `request` makes a stream, a timeout signal and a joined signal for each, which
 * doubled the processor time of a delivery: see docs/decisions/0030-deliveries.md.
 */
class PostHandler implements Exchange, Dispatcher.DispatchHandler {
  status: number | null = null
  headers: Record<string, string> = {}
  body: Buffer = NOTHING
  read = 0
  whole = false
  sha256: string | null = null
  failure: Error | null = null
  readonly phases: Exchange['phases'] = { dns: null, connect: null, tls: null, first_byte: null, total: 0 }
  readonly #began = performance.now()
  readonly #guard: Guard
  readonly #request: ExchangeRequest
  readonly #report = new ConnectionReport()
  readonly #ended = Promise.withResolvers<Exchange>()
  readonly #late: NodeJS.Timeout
  readonly #chunks: Buffer[] = []
  #hash: Hash | null = null
  #over = false
  #controller: Dispatcher.DispatchController | null = null

  constructor(guard: Guard, request: ExchangeRequest) {
    this.#guard = guard
    this.#request = request
    this.#late = setTimeout(
      () => this.#stop(new DeadlineError('The answer was not complete in time.')),
      request.deadline,
    )
    request.signal?.addEventListener('abort', this.#abandon)
    this.#send()
    if (request.signal?.aborted) this.#abandon()
  }

  get truncated(): boolean {
    return this.status !== null && (!this.whole || this.read > this.#request.keep)
  }

  get ended(): Promise<Exchange> {
    return this.#ended.promise
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#over) controller.abort(new AbandonedError('The exchange is over.'))
    this.#controller = controller
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200 || this.#over) return
    const { dns, connect, tls } = this.#report.phases
    this.phases.first_byte = performance.now() - this.#began - (dns ?? 0) - (connect ?? 0) - (tls ?? 0)
    this.status = status
    this.headers = flatten(headers)
  }

  /** Keeps the first bytes, counts all, and hashes all if they are more than what is kept. */
  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#over) return
    const { keep } = this.#request
    const room = Math.max(0, keep - this.read)
    if (room > 0) this.#chunks.push(chunk.subarray(0, room))
    this.read += chunk.length
    if (this.#hash) this.#hash.update(chunk)
    else if (this.read > keep) {
      this.#hash = createHash('sha256')
      for (const kept of this.#chunks) this.#hash.update(kept)
      this.#hash.update(chunk.subarray(room))
    }
    if (this.read <= keep + READ_BEYOND) return
    this.#finish(null)
    controller.abort(new AbandonedError('The body is longer than what is read.'))
  }

  onResponseEnd(): void {
    this.whole = !this.#over
    this.#finish(null)
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    const code = (error as NodeJS.ErrnoException).code ?? ''
    const isStale = this.#report.reused && this.status === null && STALE_CODES.has(code)
    if (isStale && !this.#over) this.#send()
    else this.#finish(error)
  }

  /** Sends the request. It is sent again if the other side has closed the kept connection, at last on a new one. */
  #send(): void {
    const { url, origin, headers, body } = this.#request
    const path = `${url.pathname}${url.search}`
    const request = {
      origin,
      path,
      method: 'POST' as const,
      headers,
      body,
      headersTimeout: 0,
      bodyTimeout: 0,
      opaque: this.#report,
    }
    this.#guard.dispatcher.dispatch(request, this)
  }

  readonly #abandon = (): void => this.#stop(new AbandonedError('The sender is stopping.'))

  #stop(reason: Error): void {
    this.#finish(reason)
    this.#controller?.abort(reason)
  }

  #finish(failure: Error | null): void {
    if (this.#over) return
    this.#over = true
    clearTimeout(this.#late)
    this.#request.signal?.removeEventListener('abort', this.#abandon)
    this.failure = failure
    this.body = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
    this.sha256 = this.#hash?.digest('hex') ?? null
    Object.assign(this.phases, this.#report.phases, { total: performance.now() - this.#began })
    // The pool counts the connection as free only after this pass of the event loop. Without the delay each slot held
    // two connections (decision 0030).
    setImmediate(() => this.#ended.resolve(this))
  }
}

export function exchange(guard: Guard, request: ExchangeRequest): Promise<Exchange> {
  return new PostHandler(guard, request).ended
}
