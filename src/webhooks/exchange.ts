/**
 * One request and its answer under one deadline for the whole: resolving, connecting, sending, and reading the body. A
 * timer for idleness would be beaten by a receiver that drips (measured: undici's `bodyTimeout` is one). The body is read
 * as it comes, kept up to a cap and never decompressed. It always resolves: a failure is a value.
 */
import { createHash, type Hash } from 'node:crypto'
import type { Dispatcher } from 'undici'
import type { ConnectPhases, Guard } from '../outgoing/guard.ts'

/** The deadline came before the answer was complete. */
export class DeadlineError extends Error {}
/** The caller gave up: nothing is known about the receiver. */
export class AbandonedError extends Error {}

export interface ExchangeRequest {
  url: URL
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
  status: number | null
  headers: Record<string, string>
  body: Buffer
  /** The body was longer than what is kept, or ended early. */
  truncated: boolean
  /** Bytes of the body that were read. */
  read: number
  /** They are all that it has. */
  whole: boolean
  /** SHA-256 of the bytes that were read, in hex, where those are more than what is kept. */
  sha256: string | null
  phases: ConnectPhases & { first_byte: number | null; total: number }
  /** What went wrong below HTTP; null: the answer is complete, or cut where it was longer than what is read. */
  failure: Error | null
}

/** A body a little longer than what is kept is read to its end, so that the connection can be used again. */
const READ_BEYOND = 48 * 1024
const NOTHING = Buffer.alloc(0)
const SOCKET_CODES = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

function flatten(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  const flat: Record<string, string> = {}
  for (const name of Object.keys(headers)) {
    const value = headers[name] ?? ''
    flat[name] = typeof value === 'string' ? value : value.join(', ')
  }
  return flat
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

  body(): Pick<Exchange, 'body' | 'read' | 'sha256'> {
    const { chunks, read } = this
    const body = chunks.length === 1 ? chunks[0]! : chunks.length === 0 ? NOTHING : Buffer.concat(chunks)
    return { body, read, sha256: this.hash?.digest('hex') ?? null }
  }
}

/** Collects one try; `done` is called once, with what failed or null. */
function collector(guard: Guard, keep: number, done: (failure: Error | null) => void) {
  const started = performance.now()
  const reader = new BodyReader(keep)
  let sentAt = started
  let over = false
  let controller: Dispatcher.DispatchController | undefined
  const state: Pick<Exchange, 'status' | 'headers' | 'whole'> & {
    connecting: (ConnectPhases & { reused: boolean }) | null
    firstByte: number | null
  } = { status: null, headers: {}, whole: false, connecting: null, firstByte: null }
  const finish = (failure: Error | null): void => {
    if (over) return
    over = true
    state.connecting ??= guard.phasesOf(handler)
    done(failure)
  }
  const handler: Dispatcher.DispatchHandler = {
    onRequestStart(control) {
      controller = control
      if (over) return control.abort(new AbandonedError('The exchange is over.'))
      state.connecting = guard.phasesOf(handler)
      sentAt = performance.now()
    },
    onResponseStart(_control, status, headers) {
      if (status < 200) return
      state.firstByte = performance.now() - sentAt
      state.status = status
      state.headers = flatten(headers)
    },
    onResponseData(control, chunk) {
      reader.add(chunk)
      if (reader.read > keep + READ_BEYOND) {
        finish(null)
        control.abort(new AbandonedError('The body is longer than what is read.'))
      }
    },
    onResponseEnd() {
      state.whole = true
      finish(null)
    },
    onResponseError: (_control, error) => finish(error),
  }
  return {
    handler,
    state,
    body: () => reader.body(),
    stop(reason: Error) {
      finish(reason)
      controller?.abort(reason)
    },
  }
}

/** A kept connection that the other side had closed meanwhile: nothing was answered, the next is tried, at last a fresh one. */
function wasStale(failure: Error | null, state: ReturnType<typeof collector>['state']): boolean {
  const code = (failure as { code?: string } | null)?.code ?? ''
  return state.status === null && state.connecting?.reused === true && SOCKET_CODES.has(code)
}

/** One listener for each signal, however many exchanges would hear it: to add one costs more than to send. */
const hearers = new WeakMap<AbortSignal, Set<() => void>>()

/** Answers how to hear no more. */
function onAbort(signal: AbortSignal, hear: () => void): () => void {
  let all = hearers.get(signal)
  if (!all) {
    const made = new Set<() => void>()
    hearers.set(signal, (all = made))
    const tell = (): void => {
      for (const each of made) each()
    }
    signal.addEventListener('abort', tell, { once: true })
  }
  all.add(hear)
  return () => all.delete(hear)
}

export function exchange(guard: Guard, request: ExchangeRequest): Promise<Exchange> {
  const started = performance.now()
  return new Promise((resolve) => {
    let current: ReturnType<typeof collector>
    let hearNoMore: (() => void) | undefined
    const giveUp = (): void => current.stop(new AbandonedError('The sender is stopping.'))
    const timer = setTimeout(
      () => current.stop(new DeadlineError('No complete answer in time.')),
      request.deadline,
    )
    const end = (failure: Error | null): void => {
      clearTimeout(timer)
      hearNoMore?.()
      const { status, headers, whole, connecting, firstByte } = current.state
      const { dns, connect, tls } = connecting ?? { dns: null, connect: null, tls: null }
      const phases = { dns, connect, tls, first_byte: firstByte, total: performance.now() - started }
      const answer = current.body()
      const truncated = status !== null && (!whole || answer.sha256 !== null)
      resolve({ status, headers, ...answer, truncated, whole, phases, failure })
    }
    const start = (): void => {
      const done = (failure: Error | null): void =>
        wasStale(failure, current.state) ? start() : end(failure)
      current = collector(guard, request.keep, done)
      const { url, method, headers, body } = request
      try {
        guard.dispatcher.dispatch(
          { origin: url.origin, path: pathOf(url), method, headers, body },
          current.handler,
        )
      } catch (error) {
        current.stop(error as Error)
      }
    }
    if (request.signal) hearNoMore = onAbort(request.signal, giveUp)
    start()
    if (request.signal?.aborted) giveUp()
  })
}
