/** One wide line in the log and one observation for each finished request. Never the token, never a body. */
import type { FastifyInstance } from 'fastify'
import type { ApiParts } from './parts.ts'

/** Health checks come every few seconds and say nothing new: they are logged at debug. */
const QUIET = new Set(['/healthz', '/readyz', '/metrics'])

export function observeRequests(
  app: FastifyInstance,
  { log, metrics }: Pick<ApiParts, 'log' | 'metrics'>,
): void {
  // Every field of the line is named below and none is secret: looking for some would take 5 of its 7 microseconds.
  const lines = log.child({}, { redact: [] })
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    const { method } = request
    const status = reply.statusCode
    const ms = reply.elapsedTime
    metrics.httpRequests.observe({ method, route, status }, ms / 1000)
    const line = {
      method,
      route,
      status,
      ms: Math.round(ms * 100) / 100,
      request_id: request.id,
      ...(request.principal && {
        token_id: request.principal.token_id,
        workspace_id: request.principal.workspace_id,
      }),
    }
    if (QUIET.has(route)) lines.debug(line, 'request')
    else lines.info(line, 'request')
    done()
  })
}
