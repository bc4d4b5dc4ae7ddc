/**
 * The contract of traces (OpenTelemetry). Without an endpoint there is no `Traces` object: callers write `traces?.`.
 *
 * A job has one trace over all nodes, and nothing is stored for it: the trace id is the `assignment_id` (16 bytes), the span
 * of the creation has its last 8 bytes as id, and every other span of the job is below that span.
 * An attribute holds ids, names, codes and times: never a secret, a variable, a body, or a URL.
 */
import type { Clock } from '@assay/model/clock'
import type { Logger } from './log.ts'

/** Attributes of a span. Undefined and null members are omitted. */
export type Attributes = Record<string, string | number | boolean | null | undefined>

export interface SpanStart {
  name: string
  kind: 'server' | 'client' | 'producer' | 'consumer' | 'internal'
  /**
   * The trace that the span belongs to: a job's (`job`), a job's of which it is the root (`creates`), or a caller's, by the
   * W3C `traceparent`. Absent, or without a traceparent: a new trace.
   */
  of?: { job: string } | { creates: string } | { traceparent: string | undefined }
  attributes?: Attributes
  /** Milliseconds since 1970; now unless given. */
  at?: number
  /** Another span that led to this one. */
  causedBy?: Span
}

export interface Span {
  /** W3C `traceparent`, for the next service that is called. */
  readonly traceparent: string
  /** Milliseconds since 1970. */
  readonly startedAt: number
  set(attributes: Attributes): void
  /** `at`: milliseconds since 1970. */
  event(name: string, at: number, attributes?: Attributes): void
  /** Links to the trace of a job. */
  link(assignment_id: string): void
  /** `error`: a code of a closed list; null or absent: success. `at`: now unless given. */
  end(error?: string | null, at?: number): void
}

export interface Traces {
  start(span: SpanStart): Span
  /** Sends the spans that are left, for at most `ms` milliseconds. Never rejects. */
  close(ms: number): Promise<void>
}

export interface TracesOptions {
  /** The whole address to which spans are sent. */
  url: string
  headers: Record<string, string>
  node_id: string
  version: string
  clock: Clock
  log: Logger
}
