/** Sends one request with its token and keys, repeats it if it may be repeated, and throws a refusal as a `ClientError`. */
import type { Problem } from './api.generated.ts'
import { askedWait, passes, pause, waitBefore } from './retry.ts'

/**
 * A refusal (`problem` is set), or no usable answer: the code "unreachable" or "timeout" with `status` 0, or
 * "not_assay" if a page answers.
 */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly status: number
  /** A code of docs/errors.md, or one of those above. */
  readonly code: string
  readonly problem: Problem | null
  /** Milliseconds after which the service allows a repeat; null if it does not say. */
  retryAfterMs: number | null = null

  constructor(message: string, status: number, code: string, problem: Problem | null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.code = code
    this.problem = problem
  }
}

export interface ClientOptions {
  /** The address of the service. It may end with `/v1alpha`. */
  url: string
  /** The token. Null uses the browser's own sign-in, on a page of the service. */
  token: string | null
  fetch?: typeof globalThis.fetch
  /** The most repeats of a call that may be repeated (default: 5). */
  retries?: number
  /**
   * The time in milliseconds for one try of a request with its answer (default: 60,000, and 180,000 for operations
   * that compute, such as previews, drafts and PDFs). `Infinity` means no limit. Uploads and streams have none once
   * they are under way.
   */
  timeoutMs?: number
}

export interface RequestOptions {
  query?: object
  body?: string | Blob | Uint8Array<ArrayBuffer> | undefined
  headers?: Record<string, string | undefined>
  /** True for a POST whose repeat has no effect, or that has an idempotency key. */
  repeatable?: boolean
  signal?: AbortSignal | undefined
  timeoutMs?: number | undefined
  /** True if the operation computes before it answers. */
  slow?: boolean
  /** True if the answer is returned as soon as it begins. */
  stream?: boolean
}

const RETRIES = 5
const TIMEOUT_MS = 60_000
const SLOW_MS = 180_000
/** The most milliseconds that a timer holds. */
const LONGEST_TIMER_MS = 2 ** 31 - 1
/** Statuses whose answers have no body. */
const EMPTY: readonly number[] = [204, 205, 304]

const invalid = (message: string): ClientError => new ClientError(message, 0, 'invalid', null)

function baseOf(url: string): string {
  const base = url.replace(/\/+$/, '').replace(/\/v1alpha$/, '')
  if (!/^https?:\/\//i.test(base) || !URL.canParse(base))
    throw invalid(`${JSON.stringify(url)} is not an address: write it as http://127.0.0.1:8080.`)
  return `${base}/v1alpha`
}

async function errorOf(response: Response, asked: string): Promise<ClientError> {
  const body = await response.text().catch(() => '')
  try {
    const problem = JSON.parse(body) as Problem
    const faults = (problem.errors ?? []).map(({ path, message }) => `\n  ${path}: ${message}`)
    const message = faults.length > 1 ? `${problem.title}:${faults.join('')}` : problem.detail
    if (typeof message !== 'string') throw new TypeError('It is the answer of another program.')
    return new ClientError(message, response.status, problem.code ?? 'internal', problem)
  } catch {
    const message = `${asked} was answered ${response.status} without a problem document, so by a proxy or another service: check the address.`
    return new ClientError(message, response.status, 'internal', null)
  }
}

/** Tells whether a page of HTML was answered in place of an answer of the interface. */
function isPage(response: Response, headers: Headers): boolean {
  const accept = headers.get('accept')!
  const wanted = accept === '*/*' || accept.includes('text/html')
  return !wanted && /^text\/html\b/i.test(response.headers.get('content-type') ?? '')
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return (cause as { code?: string }).code ?? (cause instanceof Error ? cause.message : String(cause))
}

/** Reads the whole body of the answer, so that a connection that breaks within it counts as broken. */
async function whole(response: Response): Promise<Response> {
  const { status, statusText, headers } = response
  const body = EMPTY.includes(status) ? null : await response.arrayBuffer()
  return new Response(body, { status, statusText, headers })
}

interface Try {
  signal: AbortSignal | undefined
  limit: number
  stream: boolean
}

/** Makes one try. Rejects with a `TimeoutError` after `limit` milliseconds. */
async function tried(fetching: (signal: AbortSignal) => Promise<Response>, { signal, limit, stream }: Try) {
  const control = new AbortController()
  const abort = (): void => control.abort(signal?.reason)
  if (signal?.aborted) abort()
  signal?.addEventListener('abort', abort, { once: true })
  const late = (): void => control.abort(new DOMException('The time is up.', 'TimeoutError'))
  const timer = limit > LONGEST_TIMER_MS ? undefined : setTimeout(late, limit)
  let open = false
  try {
    const response = await fetching(control.signal)
    open = stream && response.ok
    return open ? response : await whole(response)
  } finally {
    clearTimeout(timer)
    if (!open) signal?.removeEventListener('abort', abort)
  }
}

export function createSender(options: ClientOptions) {
  const { token, retries = RETRIES, fetch = globalThis.fetch } = options
  const base = baseOf(options.url)

  function headersOf(request: RequestOptions): Headers {
    const headers = new Headers({ accept: 'application/json' })
    if (token !== null) headers.set('authorization', `Bearer ${token}`)
    for (const [name, value] of Object.entries(request.headers ?? {}))
      if (value !== undefined) headers.set(name, value)
    return headers
  }

  return async function send(method: string, path: string, request: RequestOptions = {}): Promise<Response> {
    const { query = {}, body, signal, repeatable = method !== 'POST', slow = false, stream = false } = request
    const limit = request.timeoutMs ?? options.timeoutMs ?? (slow ? SLOW_MS : TIMEOUT_MS)
    if (!(limit > 0)) throw invalid('timeoutMs must be a number of milliseconds above 0, or Infinity.')
    const address = new URL(base + path)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) address.searchParams.set(name, String(value))
    const headers = headersOf(request)
    const asked = `${method} ${address.origin}${address.pathname}`
    const init = { method, headers, ...(body === undefined ? {} : { body }) }
    const ask = (own: AbortSignal) => fetch(address, { ...init, signal: own })

    const answer = async (): Promise<Response | ClientError> => {
      try {
        const response = await tried(ask, { signal, limit, stream })
        if (!response.ok && response.status !== 304)
          return Object.assign(await errorOf(response, asked), { retryAfterMs: askedWait(response.headers) })
        if (!isPage(response, headers)) return response
        await response.body?.cancel()
      } catch (error) {
        if (signal?.aborted) throw error
        if (error instanceof Error && error.name === 'TimeoutError')
          return new ClientError(
            `${asked} was not answered within ${limit / 1000} seconds.`,
            0,
            'timeout',
            null,
          )
        const message = `${address.origin} cannot be reached (${reasonOf(error)}).`
        return new ClientError(message, 0, 'unreachable', null, error)
      }
      const message = `${asked} was answered with a page (text/html), so ${JSON.stringify(options.url)} is not the address of the interface: write that of the service, such as http://127.0.0.1:8080.`
      return new ClientError(message, 200, 'not_assay', null)
    }

    for (let retry = 0; ; retry += 1) {
      const found = await answer()
      if (!(found instanceof ClientError)) return found
      const passing = found.status === 0 || passes(found.status, found.code)
      const wait = waitBefore(retry, found.retryAfterMs)
      if (!passing || !repeatable || retry >= retries || wait === null) throw found
      await pause(signal, wait)
    }
  }
}

export type Send = ReturnType<typeof createSender>

/** Encodes one name in a path. Throws for an empty one, "." and "..", which would lead to another operation. */
export function segment(name: string): string {
  if (/^\.{0,2}$/.test(name)) throw invalid(`${JSON.stringify(name)} cannot be a name.`)
  return encodeURIComponent(name)
}
