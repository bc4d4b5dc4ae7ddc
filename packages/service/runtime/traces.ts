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
   * The trace of the span: that of a job (`job`), that of a job with this span as its root (`creates`), or that of a
   * caller by the W3C `traceparent`. Without any of these, or without a traceparent, the span begins a new trace.
   */
  of?: { job: string } | { creates: string } | { traceparent: string | undefined }
  attributes?: Attributes
  /** The start in milliseconds since 1970; the default is now. */
  at?: number
  /** The span of another trace that led to this one. */
  causedBy?: Span
}

export interface Span {
  /** The W3C `traceparent` for the next service that is called. */
  readonly traceparent: string
  /** The start in milliseconds since 1970. */
  readonly startedAt: number
  set(attributes: Attributes): void
  /** Adds an event. `at`: milliseconds since 1970. */
  event(name: string, at: number, attributes?: Attributes): void
  /** Links the span to the trace of a job. */
  link(assignment_id: string): void
  /**
   * Ends the span. `error`: a code of a closed list; null or absent for success. `at`: milliseconds since 1970, by
   * default now.
   */
  end(error?: string | null, at?: number): void
}

export interface Traces {
  start(span: SpanStart): Span
  /** Sends the remaining spans, for at most `ms` milliseconds. Never rejects. */
  close(ms: number): Promise<void>
}

export interface TracesOptions {
  /** The full address to which spans are sent. */
  url: string
  headers: Record<string, string>
  node_id: string
  version: string
  clock: Clock
  log: Logger
}
