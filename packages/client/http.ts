/** Sends one request with its token and keys, repeats it if it may be repeated, and throws a refusal as a `ClientError`. */
import type { Problem } from './api.generated.ts'

/** A refusal (`problem` is set), or no usable answer at all (`status` 0 and `code` "unreachable"). */
export class ClientError extends Error {
  override readonly name = 'ClientError'
  readonly status: number
  /** One of docs/errors.md. */
  readonly code: string
  readonly problem: Problem | null

  constructor(message: string, status: number, code: string, problem: Problem | null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.code = code
    this.problem = problem
  }
}

export interface ClientOptions {
  /** Address of the service without `/v1alpha`. */
  url: string
  /** Null: the browser's own sign-in, on a page of the service. */
  token: string | null
  fetch?: typeof globalThis.fetch
  /** How often a call that may be repeated is repeated. */
  retries?: number
}

export interface RequestOptions {
  query?: object
  body?: string | Blob | Uint8Array<ArrayBuffer> | undefined
  headers?: Record<string, string | undefined>
  /** True for a POST whose repeat has no effect, or that has an idempotency key. */
  repeatable?: boolean
  signal?: AbortSignal | undefined
}

const RETRIES = 5
const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 10_000

export function pause(signal?: AbortSignal, ms = FIRST_WAIT_MS): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    })
  })
}

function waitBefore(retry: number, response: Response | undefined): number {
  const asked = Number(response?.headers.get('retry-after') ?? Number.NaN) * 1000
  const grown = FIRST_WAIT_MS * 2 ** retry * (0.5 + Math.random())
  return Math.min(Number.isFinite(asked) ? Math.max(asked, FIRST_WAIT_MS) : grown, LONGEST_WAIT_MS)
}

async function errorOf(response: Response): Promise<ClientError> {
  const body = await response.text().catch(() => '')
  try {
    const problem = JSON.parse(body) as Problem
    const faults = (problem.errors ?? []).map(({ path, message }) => `\n  ${path}: ${message}`)
    const message = faults.length > 1 ? `${problem.title}:${faults.join('')}` : problem.detail
    return new ClientError(message, response.status, problem.code ?? 'internal', problem)
  } catch {
    const message = `The service answered ${response.status} without a problem document.`
    return new ClientError(message, response.status, 'internal', null)
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return (cause as { code?: string }).code ?? (cause instanceof Error ? cause.message : String(cause))
}

export function createSender({ url, token, retries = RETRIES, fetch = globalThis.fetch }: ClientOptions) {
  const base = `${url.replace(/\/+$/, '')}/v1alpha`

  return async function send(method: string, path: string, request: RequestOptions = {}): Promise<Response> {
    const { query = {}, body, signal, repeatable = method !== 'POST' } = request
    const address = new URL(base + path)
    for (const [name, value] of Object.entries(query))
      if (value !== undefined) address.searchParams.set(name, String(value))
    const headers = new Headers({ accept: 'application/json' })
    if (token !== null) headers.set('authorization', `Bearer ${token}`)
    for (const [name, value] of Object.entries(request.headers ?? {}))
      if (value !== undefined) headers.set(name, value)
    const init = { method, headers, ...(body === undefined ? {} : { body }), ...(signal ? { signal } : {}) }
    for (let retry = 0; ; retry += 1) {
      let response: Response | undefined
      try {
        response = await fetch(address, init)
        if (response.ok || response.status === 304) return response
        const again = response.status === 429 || response.status === 503
        if (!again || !repeatable || retry >= retries) throw await errorOf(response)
        await response.body?.cancel()
      } catch (error) {
        if (error instanceof ClientError || signal?.aborted) throw error
        if (!repeatable || retry >= retries) {
          const message = `${address.origin} cannot be reached (${reasonOf(error)}).`
          throw new ClientError(message, 0, 'unreachable', null, error)
        }
      }
      await pause(signal, waitBefore(retry, response))
    }
  }
}

export type Send = ReturnType<typeof createSender>

/** One name in a path. An empty one, "." and ".." would lead to another operation. */
export function segment(name: string): string {
  if (/^\.{0,2}$/.test(name))
    throw new ClientError(`${JSON.stringify(name)} cannot be a name.`, 0, 'invalid', null)
  return encodeURIComponent(name)
}
