/**
 * Traces by OpenTelemetry. Where no endpoint is set there is no `Traces` at all: whoever could tell of something asks by
 * `traces?.`, so that it costs nothing, and none of the packages that trace is loaded.
 *
 * A job has one trace over all nodes, and nothing is stored for it: its trace id is its `assignment_id` (a UUID is 16
 * bytes), the span of its creation has the last half of it as its id, and every other span of the job is below that one.
 * An attribute holds ids, names, codes and times: never a secret, a variable, a body, or a URL.
 */
import type { Clock } from '@assay/model/clock'
import type { Logger } from './log.ts'

/** What is undefined or null is left out. */
export type Attributes = Record<string, string | number | boolean | null | undefined>

export interface SpanStart {
  name: string
  kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal'
  /**
   * What it belongs to: the trace of a job (`job`), of which it is the root (`creates`), or that of a caller as his W3C
   * `traceparent` says. Left out, or no traceparent: a trace of its own.
   */
  of?: { job: string } | { creates: string } | { traceparent: string | undefined }
  attributes?: Attributes
  /** Milliseconds since 1970; now unless given. */
  at?: number
  /** Another span that led to it. */
  causedBy?: Span
}

export interface Span {
  /** W3C `traceparent`, for who is asked next. */
  readonly traceparent: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  set(attributes: Attributes): void
  /** `at`: milliseconds since 1970. */
  event(name: string, at: number, attributes?: Attributes): void
  /** Points at the trace of a job. */
  link(assignment_id: string): void
  /** `error`: a code of a closed list; null or left out: it went well. `at`: now unless given. */
  end(error?: string | null, at?: number): void
}

export interface Traces {
  start(span: SpanStart): Span
  /** Sends what is left, for at most so many milliseconds. Never rejects. */
  close(ms: number): Promise<void>
}

export interface TracesOptions {
  /** Where spans are sent, whole. */
  url: string
  headers: Record<string, string>
  node_id: string
  version: string
  clock: Clock
  log: Logger
}

/** Null: no endpoint is set. */
export async function openTraces({
  url,
  ...options
}: Omit<TracesOptions, 'url'> & { url: string | null }): Promise<Traces | null> {
  if (url === null) return null
  const { createTraces } = await import('./traces-otlp.ts')
  return createTraces({ url, ...options })
}
