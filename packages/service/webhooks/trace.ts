/**
 * Traces an attempt of a delivery as a span, in the trace of the event's job or in one of its own. The span holds
 * neither the address nor the answer.
 */
import type { Event } from '@assay/model/event'
import type { ClaimedDelivery } from '@assay/store/store'
import type { Span, Traces } from '../runtime/traces.ts'
import type { Sent } from './send.ts'

export interface DeliveryTrace {
  /** The `traceparent` header for the receiver. */
  traceparent: string
  /** Ends the span. `sent` is null if the attempt was abandoned. */
  end(sent: Sent | null): void
}

/**
 * Adds the phases of an attempt as events at their ends. An attempt over an open connection has only the last phase.
 */
function tellPhases(span: Span, { phases }: Sent['record']): void {
  let at = span.startedAt
  for (const name of ['dns', 'connect', 'tls', 'first_byte'] as const) {
    const ms = phases[name]
    if (ms === null) continue
    at += ms
    span.event(name, at, { duration_ms: ms })
  }
}

export function traceDelivery(
  traces: Traces | null | undefined,
  { delivery_id, workspace_id, webhook, event, body, attempt }: ClaimedDelivery,
): DeliveryTrace | null {
  if (!traces) return null
  const { assignment_id } = (JSON.parse(body) as { data: Event['data'] }).data
  const { webhook_id, kind } = webhook
  const { event_id, type: event_type } = event
  const span = traces.start({
    name: 'delivery attempt',
    kind: 'client',
    ...(typeof assignment_id === 'string' ? { of: { job: assignment_id } } : {}),
    attributes: { delivery_id, webhook_id, workspace_id, kind, event_id, event_type, attempt },
  })
  return {
    traceparent: span.traceparent,
    end(sent) {
      if (sent === null) return span.end('given_up')
      const { status_code, error } = sent.record
      tellPhases(span, sent.record)
      span.set({ 'http.response.status_code': status_code, outcome: error?.class ?? 'delivered' })
      span.end(error?.class ?? null)
    },
  }
}
