/**
 * Makes one attempt: one POST and its record. The record holds no registered header value, even if the receiver sends
 * it back, and no credential of the receiver.
 */
import { createHash } from 'node:crypto'
import { iso } from '@assay/model/clock'
import type { Attempt, AttemptRecord } from '@assay/model/delivery'
import type { Guard } from '@assay/net/guard'
import { type Targets, vetUrl } from '@assay/net/target'
import { AbandonedError, type Exchange, exchange } from './exchange.ts'
import { attemptError } from './failure.ts'
import type { AttemptHeaders } from './sign.ts'

/** The most bytes of the answer's body in the record. */
export const RESPONSE_KEPT = 16 * 1024
/** The time in milliseconds for the whole exchange. */
const DEADLINE = 15_000
/**
 * The most bytes of a registered value. That many bytes beyond the kept ones are read, so that a value at the end is
 * still found and hidden.
 */
const LONGEST_VALUE = 4096

export interface Sender {
  guard: Guard
  targets: Targets
  /** The time in milliseconds for the exchange; the default is DEADLINE. */
  deadline?: number
}

export interface AttemptRequest {
  number: number
  /** The present time in milliseconds since 1970. */
  now: number
  url: string
  headers: AttemptHeaders
  body: Buffer
  signal?: AbortSignal | undefined
}

/** The requests of the receiver in its headers; null if it makes none. */
export interface Directives {
  retryAfter: string | null
  control: string | null
  /** True if some reader got the message. The receiver then works although more tries follow. */
  reached?: boolean
}

export interface Sent {
  record: AttemptRecord
  directives: Directives
}

const NO_PHASES = { dns: null, connect: null, tls: null, first_byte: null }

/** The characters that JSON escapes. Values are Latin-1. */
const ESCAPED = /["\\]/

/** Hides the secrets in a text, also in their JSON form, because an answer often repeats the request. */
function strike(text: string, secrets: readonly string[]): string {
  let struck = text
  for (const secret of secrets) {
    if (struck.includes(secret)) struck = struck.replaceAll(secret, '••••')
    if (!ESCAPED.test(secret)) continue
    struck = struck.replaceAll(JSON.stringify(secret).slice(1, -1), '••••')
  }
  return struck
}

const CREDENTIAL = /cookie|authorization|authenticat|token|secret|password|signature|session|api-?key/i

/** Returns the headers of an answer without secrets. NUL is replaced, because PostgreSQL's text cannot hold it. */
function responseHeaders(headers: Exchange['headers'], secrets: readonly string[]): Record<string, string> {
  const shown: Record<string, string> = {}
  for (const name of Object.keys(headers))
    shown[name] = CREDENTIAL.test(name) ? '••••' : strike(headers[name]!, secrets).replaceAll('\0', '\uFFFD')
  return shown
}

/** Returns the kept body as text. A compressed body is only described, because a few bytes could become gigabytes. */
function shownBody(result: Exchange, secrets: readonly string[]): { body: string; truncated: boolean } {
  const encoding = result.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity' && result.body.length > 0)
    return {
      body: `(${result.body.length} bytes of ${encoding}, not decoded)`.slice(0, 200),
      truncated: result.truncated,
    }
  if (result.body.length === 0) return { body: '', truncated: result.truncated }
  const longer = result.body.length > RESPONSE_KEPT
  const text = new TextDecoder().decode(result.body, { stream: result.truncated || longer })
  const struck = strike(text, secrets).replaceAll('\0', '\uFFFD')
  const bytes = Buffer.from(struck)
  if (bytes.length <= RESPONSE_KEPT) return { body: struck, truncated: result.truncated || longer }
  const cut = new TextDecoder().decode(bytes.subarray(0, RESPONSE_KEPT), { stream: true })
  return { body: cut, truncated: true }
}

/** Returns the body for a record. A cut body has its length, if known, and the hash of the bytes that were read. */
function responseBody(
  result: Exchange,
  secrets: readonly string[],
): Omit<NonNullable<Attempt['response']>, 'headers'> {
  const shown = shownBody(result, secrets)
  if (!shown.truncated) return shown
  const said = /^\d{1,15}$/.exec(result.headers['content-length'] ?? '')?.[0]
  return {
    ...shown,
    cut: {
      read_bytes: result.read,
      total_bytes: result.whole ? result.read : said === undefined ? null : Number(said),
      sha256: result.sha256 ?? createHash('sha256').update(result.body).digest('hex'),
    },
  }
}

function hundredths(ms: number | null): number | null {
  return ms === null ? null : Math.round(ms * 100) / 100
}

function rounded({ dns, connect, tls, first_byte, total }: Exchange['phases']): Attempt['phases'] {
  return {
    dns: hundredths(dns),
    connect: hundredths(connect),
    tls: hundredths(tls),
    first_byte: hundredths(first_byte),
    total: hundredths(total) ?? 0,
  }
}

/** Returns the record of an attempt that could not be made, because the request itself is at fault. */
export function unsent(request: Omit<AttemptRequest, 'headers' | 'signal'>, error: Attempt['error']): Sent {
  return {
    record: {
      number: request.number,
      started_at: iso(request.now),
      duration_ms: 0,
      status_code: null,
      error,
      phases: { ...NO_PHASES, total: 0 },
      request: { method: 'POST', url: request.url, headers: {} },
      response: null,
    },
    directives: { retryAfter: null, control: null },
  }
}

function recordOf(request: AttemptRequest, result: Exchange): Sent {
  const { shown, secrets } = request.headers
  const { headers, status } = result
  const phases = rounded(result.phases)
  const response =
    status === null ? null : { headers: responseHeaders(headers, secrets), ...responseBody(result, secrets) }
  return {
    record: {
      number: request.number,
      started_at: iso(request.now),
      duration_ms: phases.total,
      status_code: status,
      error: attemptError(result),
      phases,
      request: { method: 'POST', url: request.url, headers: shown },
      response,
    },
    directives: {
      retryAfter: headers['retry-after'] ?? null,
      control: headers['webhook-delivery'] ?? null,
    },
  }
}

/**
 * Sends one POST and returns its record. Returns null if `signal` was aborted: nothing is known then, and nothing is
 * recorded.
 */
export async function send(sender: Sender, request: AttemptRequest): Promise<Sent | null> {
  const vetted = vetUrl(request.url, sender.targets)
  if (!vetted.ok) return unsent(request, { class: 'ssrf_blocked', detail: vetted.fault })
  const result = await exchange(sender.guard, {
    url: vetted.url,
    origin: vetted.url.origin,
    headers: request.headers.sent,
    body: request.body,
    deadline: sender.deadline ?? DEADLINE,
    keep: RESPONSE_KEPT + LONGEST_VALUE,
    signal: request.signal,
  })
  return result.failure instanceof AbandonedError ? null : recordOf(request, result)
}
