/**
 * One wide line in the log and one observation for each request, when its answer is handed over; where it is a stream, when
 * that has ended. Never the token, never a body.
 */

import type { Principal } from '@assay/model/token'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { writeLine } from '../../runtime/log.ts'
import type { Observe } from '../../runtime/times.ts'
import type { ApiParts } from './parts.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** When it came, by the monotonic clock; null once it has been observed. */
    began: number | null
  }
}

/** Health checks come every few seconds and say nothing new: they are logged at debug. */
const QUIET = new Set(['/healthz', '/readyz', '/metrics'])

/** What the requests of one route, method and status share: made at the first. */
interface Kind {
  members: string
  observe: Observe
}

export interface Observer {
  begin(request: FastifyRequest): void
  /** A hook for when an answer is sent: a hook for when it has been sent costs three listeners a request. */
  observe(
    route: string,
  ): (request: FastifyRequest, reply: FastifyReply, payload: unknown, done: () => void) => void
}

const isStream = (payload: unknown): boolean =>
  typeof payload === 'object' && payload !== null && !Buffer.isBuffer(payload)

/** Principals are kept, and so is what is told of them. */
function principalMembers() {
  const kept = new WeakMap<Principal, string>()
  return (principal: Principal): string => {
    let text = kept.get(principal)
    if (text === undefined) {
      const { token_id, workspace_id } = principal
      text = `,"token_id":${JSON.stringify(token_id)},"workspace_id":${JSON.stringify(workspace_id)}`
      kept.set(principal, text)
    }
    return text
  }
}

export function createObserver(
  app: FastifyInstance,
  { log, metrics, clock }: Pick<ApiParts, 'log' | 'metrics' | 'clock'>,
): Observer {
  app.decorateRequest('began', null)
  const whose = principalMembers()

  function kindsOf(route: string): (method: string, status: number) => Kind {
    const methods = new Map<string, Map<number, Kind>>()
    return (method, status) => {
      let kinds = methods.get(method)
      if (!kinds) methods.set(method, (kinds = new Map()))
      let kind = kinds.get(status)
      if (!kind) {
        const members = `,"method":${JSON.stringify(method)},"route":${JSON.stringify(route)},"status":${status},"ms":`
        kinds.set(
          status,
          (kind = { members, observe: metrics.httpRequests.series({ method, route, status }) }),
        )
      }
      return kind
    }
  }

  return {
    begin(request) {
      request.began = clock.monotonic()
    },
    observe(route) {
      const kindOf = kindsOf(route)
      const level = QUIET.has(route) ? 'debug' : 'info'
      const write = (request: FastifyRequest, reply: FastifyReply, began: number): void => {
        const ms = clock.monotonic() - began
        const { members, observe } = kindOf(request.method, reply.statusCode)
        observe(ms / 1000)
        const { id, principal } = request
        const rest = `${Math.round(ms * 100) / 100},"request_id":"${id}"`
        writeLine(log, level, members + (principal ? rest + whose(principal) : rest), 'request')
      }
      return (request, reply, payload, done) => {
        const { began } = request
        request.began = null
        if (began !== null) {
          if (isStream(payload)) reply.raw.once('close', () => write(request, reply, began))
          else write(request, reply, began)
        }
        done()
      }
    },
  }
}
