/**
 * Logs one line and observes one duration for each request, when its answer is passed on, or when its stream ends. The line
 * never holds the token or a body.
 */

import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ApiDependencies } from '../dependencies.ts'

/** Routes that monitors request every few seconds. They are logged at debug and not traced. */
export const HEALTH_ROUTES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

const isStream = (payload: unknown): boolean =>
  typeof payload === 'object' && payload !== null && !Buffer.isBuffer(payload)

export function logRequests(
  app: FastifyInstance,
  { log, metrics }: Pick<ApiDependencies, 'log' | 'metrics'>,
): void {
  // Redaction is off, because no line of a request has a header or a secret, and redaction takes four times as long
  // as writing a line.
  const lines = log.child({}, { redact: [] })

  function write(request: FastifyRequest, reply: FastifyReply): void {
    const { method, id: request_id, principal } = request
    const { url: route = 'none' } = request.routeOptions
    const { statusCode: status, elapsedTime } = reply
    metrics.httpRequests.observe({ method, route, status }, elapsedTime / 1000)
    const ms = Math.round(elapsedTime * 100) / 100
    const { token_id, workspace_id } = principal ?? {}
    const level = HEALTH_ROUTES.has(route) ? 'debug' : 'info'
    lines[level]({ method, route, status, ms, request_id, token_id, workspace_id }, 'request')
  }

  app.addHook('onSend', (request, reply, payload, done) => {
    if (isStream(payload)) reply.raw.once('close', () => write(request, reply))
    else write(request, reply)
    done()
  })
}
