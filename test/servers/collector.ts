/** A collector for tests: a real HTTP server that accepts OTLP as JSON, keeps the spans, and answers as the test says. */
import { modes, type Receiver, startReceiver } from './receiver.ts'

export interface KeptSpan {
  traceId: string
  spanId: string
  /** The id of the parent; empty for a root. */
  parentSpanId: string
  name: string
  kind: number
  attributes: Record<string, unknown>
  events: string[]
  links: { traceId: string; spanId: string }[]
  error: string | null
  /** The start in milliseconds since 1970. */
  start: number
  end: number
  /** The value of `service.instance.id`. */
  node: unknown
}

export interface Collector extends Receiver {
  spans(): KeptSpan[]
}

interface Value {
  stringValue?: string
  intValue?: number | string
  doubleValue?: number
  boolValue?: boolean
}
interface Pair {
  key: string
  value: Value
}
interface RawSpan {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  startTimeUnixNano: string
  endTimeUnixNano: string
  attributes: Pair[]
  events?: { name: string }[]
  links?: { traceId: string; spanId: string }[]
  status?: { code?: number; message?: string }
}
interface Batch {
  resourceSpans: { resource: { attributes: Pair[] }; scopeSpans: { spans: RawSpan[] }[] }[]
}

function valuesOf(pairs: Pair[]): Record<string, unknown> {
  return Object.fromEntries(
    pairs.map(({ key, value }) => [
      key,
      value.stringValue ?? value.boolValue ?? Number(value.intValue ?? value.doubleValue),
    ]),
  )
}

function kept(span: RawSpan, node: unknown): KeptSpan {
  const { traceId, spanId, parentSpanId = '', name, kind, attributes, events = [], links = [], status } = span
  const ms = (nanoseconds: string): number => Number(BigInt(nanoseconds) / 1000n) / 1000
  return {
    traceId,
    spanId,
    parentSpanId,
    name,
    kind,
    node,
    attributes: valuesOf(attributes),
    events: events.map((event) => event.name),
    links: links.map((link) => ({ traceId: link.traceId, spanId: link.spanId })),
    error: status?.code === 2 ? (status.message ?? '') : null,
    start: ms(span.startTimeUnixNano),
    end: ms(span.endTimeUnixNano),
  }
}

export async function startCollector(
  mode = modes.ok('{}', { 'content-type': 'application/json' }),
): Promise<Collector> {
  const receiver = await startReceiver({ mode })
  return {
    ...receiver,
    spans: () =>
      receiver.arrivals.flatMap(({ body }) =>
        (JSON.parse(body.toString('utf8')) as Batch).resourceSpans.flatMap(({ resource, scopeSpans }) =>
          scopeSpans.flatMap(({ spans }) =>
            spans.map((span) => kept(span, valuesOf(resource.attributes)['service.instance.id'])),
          ),
        ),
      ),
  }
}
