/**
 * A span for each request, below the caller's where he sends a W3C `traceparent`; what it does to a job is a span in the
 * trace of that job, and each of the two points at the other. The route is told, never the address: it may hold a secret.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Attributes, Span, Traces } from '../../runtime/traces.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null: nothing is traced. */
    trace: RequestTrace | null
  }
}

export interface RequestTrace {
  /** What this request has done to a job, since it came. */
  job(name: 'job created' | 'job run request', job: Attributes & { assignment_id: string }): void
}

interface Tracing extends RequestTrace {
  span: Span
}

/** Asked every few seconds, and nothing to learn from. */
const QUIET = new Set(['/healthz', '/readyz', '/metrics'])

function traceOf(
  { method, headers, routeOptions: { url = 'none' }, id }: FastifyRequest,
  traces: Traces,
): Tracing {
  const { traceparent } = headers
  const span = traces.start({
    name: `${method} ${url}`,
    kind: 'server',
    of: { traceparent: typeof traceparent === 'string' ? traceparent : undefined },
    attributes: { 'http.request.method': method, 'http.route': url, request_id: id },
  })
  return {
    span,
    job(name, job) {
      const { assignment_id } = job
      const of = name === 'job created' ? { creates: assignment_id } : { job: assignment_id }
      traces.start({ name, kind: 'producer', of, attributes: job, at: span.startedAt, causedBy: span }).end()
      span.link(assignment_id)
    },
  }
}

export function traceRequests(app: FastifyInstance, traces: Traces | null | undefined): void {
  app.decorateRequest('trace', null)
  if (!traces) return
  app.addHook('onRequest', (request, _reply, done) => {
    if (!QUIET.has(request.routeOptions.url ?? '')) request.trace = traceOf(request, traces)
    done()
  })
  app.addHook('onResponse', ({ trace, principal }, { statusCode }, done) => {
    if (trace) {
      const { span } = trace as Tracing
      span.set({ 'http.response.status_code': statusCode, workspace_id: principal?.workspace_id })
      span.end(statusCode >= 500 ? String(statusCode) : null)
    }
    done()
  })
}
