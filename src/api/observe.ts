/** One wide line in the log and one observation for each finished request. Never the token, never a body. */
import type { FastifyInstance } from 'fastify'
import { writeLine } from '../runtime/log.ts'
import type { Principal } from '../token.ts'
import type { ApiParts } from './parts.ts'

/** Health checks come every few seconds and say nothing new: they are logged at debug. */
const QUIET = new Set(['/healthz', '/readyz', '/metrics'])

/** The members of the lines that many requests share are made once: routes and states are few, principals are cached. */
function lineParts() {
  const routes = new Map<string, string>()
  const principals = new WeakMap<Principal, string>()
  return {
    route(method: string, route: string, status: number): string {
      const key = `${method} ${status} ${route}`
      let text = routes.get(key)
      if (text === undefined) {
        text = `,"method":${JSON.stringify(method)},"route":${JSON.stringify(route)},"status":${status}`
        routes.set(key, text)
      }
      return text
    },
    principal(principal: Principal): string {
      let text = principals.get(principal)
      if (text === undefined) {
        const { token_id, workspace_id } = principal
        text = `,"token_id":${JSON.stringify(token_id)},"workspace_id":${JSON.stringify(workspace_id)}`
        principals.set(principal, text)
      }
      return text
    },
  }
}

export function observeRequests(
  app: FastifyInstance,
  { log, metrics }: Pick<ApiParts, 'log' | 'metrics'>,
): void {
  const parts = lineParts()
  app.addHook('onResponse', (request, reply, done) => {
    const route = request.routeOptions.url ?? 'none'
    const { method, principal } = request
    const status = reply.statusCode
    const ms = reply.elapsedTime
    metrics.httpRequests.observe({ method, route, status }, ms / 1000)
    const members = `${parts.route(method, route, status)},"ms":${Math.round(ms * 100) / 100},"request_id":"${request.id}"${principal ? parts.principal(principal) : ''}`
    writeLine(log, QUIET.has(route) ? 'debug' : 'info', members, 'request')
    done()
  })
}
