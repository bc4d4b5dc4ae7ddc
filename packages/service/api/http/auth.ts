/**
 * Who makes a request: the bearer token, its scope, its rate. A token is looked up once in two seconds, so one revoked on
 * another node may work for that long; one revoked by this process stops at once.
 */

import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { includesScope, type Principal, type Scope } from '@assay/model/token'
import type { Allowance } from '@assay/store/contract/allowances'
import type { Store } from '@assay/store/store'
import type { FastifyReply, FastifyRequest, HookHandlerDoneFunction } from 'fastify'
import type { Config } from '../../config/config.ts'
import { hashToken } from '../../runtime/secrets.ts'
import { createLimiter, type Rate } from './limiter.ts'

const KEPT_MS = 2000
const MOST_KEPT = 1000

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null
  }
}

export interface TokenCache {
  /** By the whole header, at once, where the token was found a moment ago. */
  kept(header: string): Principal | undefined
  /** Null: there is no such token. */
  find(header: string, token: string): Promise<Principal | null>
  /** To be called after tokens, users or workspaces were deleted. */
  forget(): void
}

export function createTokenCache(store: Pick<Store, 'findToken'>, clock: Clock): TokenCache {
  const kept = new Map<string, { principal: Principal; until: number }>()
  let generation = 0

  return {
    kept(header) {
      const found = kept.get(header)
      if (found === undefined || found.until > clock.monotonic()) return found?.principal
      kept.delete(header)
      return undefined
    },
    async find(header, token) {
      const asked = generation
      const principal = await store.findToken(hashToken(token))
      // A lookup that began before a revocation must not bring the revoked token back.
      if (principal && asked === generation) {
        if (kept.size >= MOST_KEPT) kept.delete(kept.keys().next().value!)
        kept.set(header, { principal, until: clock.monotonic() + KEPT_MS })
      }
      return principal
    },
    forget() {
      generation += 1
      kept.clear()
    },
  }
}

/** Whether the token of a header, found before, is still good: for what goes on long after the request was let in. */
export async function isStillGood(tokens: TokenCache, header: string): Promise<boolean> {
  return (tokens.kept(header) ?? (await tokens.find(header, BEARER.exec(header)?.[1] ?? ''))) !== null
}

const BEARER = /^bearer +([\x21-\x7e]{1,1024})$/i

function unauthorized(given: boolean): AppError {
  const detail = given
    ? 'The token does not exist or has expired: create one, or log in again.'
    : 'Send the header "Authorization: Bearer TOKEN".'
  const challenge = given ? 'Bearer error="invalid_token"' : 'Bearer'
  return new AppError('unauthorized', detail, { headers: { 'www-authenticate': challenge } })
}

function tooNarrow(scope: Scope): AppError {
  return new AppError('forbidden', `This takes a token with the scope ${scope}.`, {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  })
}

export function rateHeaders(allowance: { limit: number; remaining: number; reset: number }) {
  return {
    'ratelimit-limit': String(allowance.limit),
    'ratelimit-remaining': String(allowance.remaining),
    'ratelimit-reset': String(allowance.reset),
  }
}

/** What the request takes of its token's and its workspace's rate: the tighter of both; null: neither has one. */
export type RequestLimits = (principal: Principal) => Allowance | null

const evenly = (rate: number): Rate => ({ burst: rate, perSecond: rate })

/** Each node counts for itself: behind a balancer the limits are those of one node times their number. */
export function createRequestLimits(
  clock: Clock,
  { rateLimit, workspaceRateLimit }: Pick<Config, 'rateLimit' | 'workspaceRateLimit'>,
): RequestLimits {
  const limiter = createLimiter(clock, evenly(1))
  return ({ token_id, workspace_id, rate_limit }) => {
    const ofWorkspace = rate_limit ?? workspaceRateLimit
    if (rateLimit === null && ofWorkspace === null) return null
    const taken: Allowance[] = []
    if (rateLimit !== null) taken.push(limiter.take(`token ${token_id}`, evenly(rateLimit)))
    // What the token's own limit refuses takes nothing from the others of its workspace.
    if (ofWorkspace !== null && taken[0]?.allowed !== false)
      taken.push(limiter.take(`workspace ${workspace_id}`, evenly(ofWorkspace)))
    return (
      taken.find(({ allowed }) => !allowed) ?? taken.toSorted((a, b) => a.remaining - b.remaining)[0] ?? null
    )
  }
}

/** Calls `done` with why a request is refused, or with nothing. */
export type Authenticate = (
  request: FastifyRequest,
  reply: FastifyReply,
  done: HookHandlerDoneFunction,
) => void

/** By a callback, not a promise: with the token kept it costs no turn of the event loop. */
export function authenticate(tokens: TokenCache, requests: RequestLimits, scope: Scope): Authenticate {
  const judge = (principal: Principal | null, request: FastifyRequest, reply: FastifyReply): void => {
    if (!principal) throw unauthorized(true)
    request.principal = principal
    const allowance = requests(principal)
    if (allowance) {
      reply.headers(rateHeaders(allowance))
      if (!allowance.allowed)
        throw new AppError('rate_limited', `More than ${allowance.limit} requests a second: wait.`, {
          retryAfter: allowance.reset,
        })
    }
    if (!includesScope(principal.scopes, scope)) throw tooNarrow(scope)
  }
  const finish = (principal: Principal | null, ...[request, reply, done]: Parameters<Authenticate>): void => {
    try {
      judge(principal, request, reply)
    } catch (error) {
      done(error as Error)
      return
    }
    done()
  }
  return (request, reply, done) => {
    const { authorization: header = '' } = request.headers
    const kept = tokens.kept(header)
    if (kept) {
      finish(kept, request, reply, done)
      return
    }
    const token = BEARER.exec(header)?.[1]
    if (token === undefined) done(unauthorized(header !== ''))
    else tokens.find(header, token).then((principal) => finish(principal, request, reply, done), done)
  }
}
