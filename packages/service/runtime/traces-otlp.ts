/**
 * Traces by OpenTelemetry, sent by OTLP over HTTP (JSON). This file is loaded only if an endpoint is set. Sending never harms the
 * service: the queue of spans is bounded, one request is under way at a time, and losses are logged at most once a minute.
 */

import type { Clock } from '@assay/model/clock'
import {
  type Context,
  type Link,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import {
  BatchSpanProcessor,
  RandomIdGenerator,
  type SpanExporter,
  type SpanProcessor,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Logger } from './log.ts'
import type { Attributes, Span, SpanStart, Traces, TracesOptions } from './traces.ts'

/** The most spans that wait or are being sent. Each takes about 2 KB. */
const WAITING_MOST = 4096
const BATCH = 512
const SEND_EVERY_MS = 2000
/** The time in milliseconds for one batch with its repeats. */
const SEND_MS = 5000
const WARN_EVERY_MS = 60_000
const SUCCESS = 0

const KINDS: Record<SpanStart['kind'], SpanKind> = {
  server: SpanKind.SERVER,
  client: SpanKind.CLIENT,
  producer: SpanKind.PRODUCER,
  consumer: SpanKind.CONSUMER,
  internal: SpanKind.INTERNAL,
}

/**
 * Returns the context of a job's root span, which every node can derive. The variant bits of a UUID keep its last
 * half from being zero.
 */
function rootOf(assignment_id: string): SpanContext {
  const traceId = assignment_id.replaceAll('-', '').toLowerCase()
  return { traceId, spanId: traceId.slice(16), traceFlags: TraceFlags.SAMPLED, isRemote: true }
}

/**
 * Parses `traceparent` (W3C Trace Context, level 1; a later version may add more after a hyphen). Returns null if it is
 * not valid.
 */
function callerOf(traceparent: string | undefined): SpanContext | null {
  const match = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/.exec(traceparent ?? '')
  if (!match || match[1] === 'ff' || (match[1] === '00' && match[5] !== undefined)) return null
  const [, , traceId = '', spanId = '', flags = ''] = match
  const context = { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED }
  return trace.isSpanContextValid(context) ? { ...context, isRemote: true } : null
}

/** Logs lost spans at once, and then at most once a minute. */
function createLosses({ clock, log }: { clock: Clock; log: Logger }) {
  let spans = 0
  let toldAt = Number.NEGATIVE_INFINITY
  return (lost: number, reason: string): void => {
    spans += lost
    if (clock.monotonic() - toldAt < WARN_EVERY_MS) return
    log.warn({ spans, reason }, 'traces could not be sent')
    toldAt = clock.monotonic()
    spans = 0
  }
}

/** A batch processor whose bound includes spans that are being sent, and which reports dropped spans. */
function createProcessor(
  exporter: SpanExporter,
  lose: (spans: number, reason: string) => void,
): SpanProcessor {
  let waiting = 0
  const batches = new BatchSpanProcessor({
    exporter: {
      export(spans, done) {
        exporter.export(spans, (result) => {
          const code: number = result.code
          waiting -= spans.length
          if (code !== SUCCESS) lose(spans.length, result.error?.message || 'no answer')
          // The loss is reported here, so the processor is told of a success.
          done(Object.assign(result, { code: SUCCESS }))
        })
      },
      shutdown: () => exporter.shutdown(),
    },
    maxQueueSize: WAITING_MOST,
    maxExportBatchSize: BATCH,
    scheduledDelayMillis: SEND_EVERY_MS,
    exportTimeoutMillis: 2 * SEND_MS,
  })
  return {
    onStart: () => undefined,
    onEnd(span) {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return
      if (waiting >= WAITING_MOST) return lose(1, 'more spans than could be sent')
      waiting += 1
      batches.onEnd(span)
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: () => batches.shutdown(),
  }
}

function known(attributes: Attributes = {}): Record<string, string | number | boolean> {
  const kept = Object.entries(attributes).filter(([, value]) => value !== undefined && value !== null)
  return Object.fromEntries(kept) as Record<string, string | number | boolean>
}

class Recorded implements Span {
  readonly traceparent: string
  readonly startedAt: number
  readonly span: OtelSpan

  constructor(span: OtelSpan, startedAt: number) {
    const { traceId, spanId, traceFlags } = span.spanContext()
    this.traceparent = `00-${traceId}-${spanId}-0${traceFlags & TraceFlags.SAMPLED}`
    this.startedAt = startedAt
    this.span = span
  }

  set(attributes: Attributes): void {
    this.span.setAttributes(known(attributes))
  }

  event(name: string, at: number, attributes?: Attributes): void {
    this.span.addEvent(name, known(attributes), at)
  }

  link(assignment_id: string): void {
    this.span.addLink({ context: rootOf(assignment_id) })
  }

  end(error: string | null = null, at?: number): void {
    if (error !== null) {
      this.span.setAttribute('error.type', error)
      this.span.setStatus({ code: SpanStatusCode.ERROR, message: error })
    }
    this.span.end(at)
  }
}

function parentOf(of: SpanStart['of']): Context {
  if (of === undefined || 'creates' in of) return ROOT_CONTEXT
  const parent = 'job' in of ? rootOf(of.job) : callerOf(of.traceparent)
  return parent === null ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, parent)
}

export function createTraces(options: TracesOptions): Traces {
  const { url, headers, node_id, version, clock, log } = options
  const lose = createLosses(options)
  const exporter = new OTLPTraceExporter({ url, headers, timeoutMillis: SEND_MS, concurrencyLimit: 8 })
  const random = new RandomIdGenerator()
  /** The ids of the next span; null for random ones. */
  let given: SpanContext | null = null
  const provider = new TracerProvider({
    resource: resourceFromAttributes({
      'service.name': 'assay',
      'service.version': version,
      'service.instance.id': node_id,
    }),
    spanProcessors: [createProcessor(exporter, lose)],
    idGenerator: {
      generateTraceId: () => given?.traceId ?? random.generateTraceId(),
      generateSpanId: () => given?.spanId ?? random.generateSpanId(),
    },
  })
  const tracer = provider.getTracer('assay', version)
  return {
    start({ name, kind, of, attributes, at, causedBy }) {
      const links: Link[] = causedBy ? [{ context: (causedBy as Recorded).span.spanContext() }] : []
      const settings = { kind: KINDS[kind], attributes: known(attributes), links }
      given = of && 'creates' in of ? rootOf(of.creates) : null
      const span = tracer.startSpan(
        name,
        at === undefined ? settings : { ...settings, startTime: at },
        parentOf(of),
      )
      given = null
      return new Recorded(span, at ?? Date.now())
    },
    async close(ms) {
      const done = new AbortController()
      const sent = provider.shutdown().catch((error: unknown) => {
        log.warn({ err: error }, 'traces could not be sent')
      })
      await Promise.race([sent, clock.sleep(ms, done.signal)])
      done.abort()
    },
  }
}
