/**
 * Makes a span for each request, as a child of the caller's if the request has a W3C `traceparent`. A change of a job is a span
 * in the trace of that job; it and the span of the request link to each other. A span names the route, never the URL, because
 * a URL may hold a secret.
 */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Attributes, Span, Traces } from '../../runtime/traces.ts'
import { HEALTH_ROUTES } from './request-log.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Null if tracing is off. */
    trace: RequestTrace | null
  }
}

export interface RequestTrace {
  /** Records that this request created or ran a job. */
  job(name: 'job created' | 'job run request', job: Attributes & { assignment_id: string }): void
}

interface Tracing extends RequestTrace {
  span: Span
}

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
    if (!HEALTH_ROUTES.has(request.routeOptions.url ?? '')) request.trace = traceOf(request, traces)
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
