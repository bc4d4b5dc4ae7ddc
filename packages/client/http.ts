/**
 * How the client speaks: one request with its token and keys, repeated where it may be, its refusal as a `ClientError`;
 * and the shapes that all its nouns share.
 */
import type { FieldError } from '@assay/model/errors'

/** What the service answers where it refuses (RFC 9457). */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  /** One of docs/errors.md. */
  code: string
  request_id: string
  errors?: FieldError[]
}

/** A refusal (`problem` is set), or no usable answer at all (`status` 0 and `code` "unreachable"). */
export class ClientError extends Error {
  readonly status: number
  readonly code: string
  readonly problem: Problem | null

  constructor(message: string, status: number, code: string, problem: Problem | null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'ClientError'
    this.status = status
    this.code = code
    this.problem = problem
  }
}

export interface ClientOptions {
  /** Address of the service without `/v1alpha`. */
  url: string
  token: string
  fetch?: typeof globalThis.fetch
  /** How often a call that may be repeated is repeated. */
  retries?: number
}

export interface Page<Item> {
  items: Item[]
  next_cursor: string | null
}

export interface PageInput {
  limit?: number
  cursor?: string
}

/** Of another workspace, for an admin of the default one; the token's own unless given. */
export interface OfWorkspace {
  workspace_id?: string
}

/** What a creation may be given: the same key never makes a second one. A random key unless given. */
export interface CreateOptions {
  idempotencyKey?: string
}

type Query = Record<string, string | number | boolean | undefined>

export interface Call {
  query?: Query
  json?: unknown
  /** A body that is no JSON. */
  text?: { body: string; type: string }
  /** Bytes as they are; a blob may stand for a file, which is read as it is sent. */
  bytes?: Blob | Uint8Array<ArrayBuffer>
  headers?: Record<string, string | undefined>
  accept?: string
  idempotencyKey?: string
  /** A POST that does no more the second time. */
  repeatable?: boolean
  signal?: AbortSignal | undefined
}

const RETRIES = 5
export const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 10_000

export function pause(ms: number, signal?: AbortSignal): Promise<void> {
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

export function createCaller({ url, token, retries = RETRIES, fetch = globalThis.fetch }: ClientOptions) {
  const base = `${url.replace(/\/+$/, '')}/v1alpha`

  function requestOf(method: string, path: string, call: Call): [URL, RequestInit] {
    const address = new URL(base + path)
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) address.searchParams.set(name, String(value))
    }
    const headers: Record<string, string> = {
      authorization: `Bearer ${token}`,
      accept: call.accept ?? 'application/json',
    }
    if (call.json !== undefined) headers['content-type'] = 'application/json'
    if (call.text) headers['content-type'] = call.text.type
    if (call.idempotencyKey) headers['idempotency-key'] = call.idempotencyKey
    for (const [name, value] of Object.entries(call.headers ?? {}))
      if (value !== undefined) headers[name] = value
    const init: RequestInit = { method, headers }
    if (call.bytes) init.body = call.bytes
    if (call.json !== undefined) init.body = JSON.stringify(call.json)
    if (call.text) init.body = call.text.body
    if (call.signal) init.signal = call.signal
    return [address, init]
  }

  return async function send(method: string, path: string, call: Call = {}): Promise<Response> {
    const [address, init] = requestOf(method, path, call)
    const repeatable = method !== 'POST' || call.idempotencyKey !== undefined || call.repeatable === true
    for (let retry = 0; ; retry += 1) {
      let response: Response | undefined
      try {
        response = await fetch(address, init)
        if (response.ok || response.status === 304) return response
        const again = response.status === 429 || response.status === 503
        if (!again || !repeatable || retry >= retries) throw await errorOf(response)
        await response.body?.cancel()
      } catch (error) {
        if (error instanceof ClientError) throw error
        if (call.signal?.aborted) throw error
        if (!repeatable || retry >= retries) {
          const message = `${address.origin} cannot be reached (${reasonOf(error)}).`
          throw new ClientError(message, 0, 'unreachable', null, error)
        }
      }
      await pause(waitBefore(retry, response), call.signal)
    }
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return (cause as { code?: string }).code ?? (cause instanceof Error ? cause.message : String(cause))
}

export type Send = ReturnType<typeof createCaller>

export function jsonCaller(send: Send) {
  return async function json<T>(method: string, path: string, call: Call = {}): Promise<T> {
    const response = await send(method, path, call)
    return (await response.json()) as T
  }
}

export type Json = ReturnType<typeof jsonCaller>

/** One name in a path. An empty one, "." and ".." would lead to another operation. */
export function segment(name: string): string {
  if (/^\.{0,2}$/.test(name))
    throw new ClientError(`${JSON.stringify(name)} is no name of anything.`, 0, 'invalid', null)
  return encodeURIComponent(name)
}

export function createKey(options: CreateOptions | undefined): string {
  return options?.idempotencyKey ?? globalThis.crypto.randomUUID()
}
