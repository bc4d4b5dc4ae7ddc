/**
 * Checks the bearer token of a request, its scope and its rate. A token is cached for two seconds. A token that another node
 * revokes may work for that long; one that this process revokes stops at once.
 */

import { type Clock, iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { includesScope, type Principal, type Scope } from '@assay/model/token'
import type { Allowance } from '@assay/store/contract/allowances'
import type { Store } from '@assay/store/store'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import type { Config } from '../../config/config.ts'
import { createGatherer } from '../../runtime/gatherer.ts'
import type { Logger } from '../../runtime/log.ts'
import { hashToken } from '../../runtime/secrets.ts'
import { createRateLimiter, type Rate } from './rate-limiter.ts'

const KEPT_MS = 2000
const MOST_KEPT = 1000

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null
  }
}

/** The last use of a token is written about once a minute. */
const USES_MS = 60_000

export interface TokenCache {
  /** Null: there is no such token. */
  find(token: string): Promise<Principal | null>
  /** Clears the cache. Call it after tokens, users or workspaces change. */
  forget(): void
  /** Writes the uses that are noted. */
  close(): Promise<void>
}

export function createTokenCache(
  store: Pick<Store, 'findToken' | 'noteTokenUses'>,
  clock: Clock,
  log: Logger,
): TokenCache {
  const uses = createGatherer<{ token_id: string; at: string }>(clock, USES_MS, (noted) =>
    store
      .noteTokenUses(noted)
      .catch((error: unknown) => log.warn({ err: error }, 'uses of tokens could not be noted')),
  )
  const kept = new LRUCache<string, Principal>({
    max: MOST_KEPT,
    ttl: KEPT_MS,
    ttlResolution: 0,
    // The library takes a time of 0 for none.
    perf: { now: () => clock.monotonic() + 1 },
  })
  let generation = 0

  return {
    async find(token) {
      const known = kept.get(token)
      if (known) return known
      const asked = generation
      const principal = await store.findToken(hashToken(token))
      if (principal) {
        const { token_id } = principal
        uses.note(token_id, () => ({ token_id, at: iso(clock.now()) }))
      }
      // A lookup that began before a revocation must not bring the revoked token back.
      if (principal && asked === generation) kept.set(token, principal)
      return principal
    },
    forget() {
      generation += 1
      kept.clear()
    },
    close: () => uses.close(),
  }
}

/** Finds the principal of an Authorization header; null: the header holds no token that exists. */
export async function principalOf(tokens: TokenCache, header: string): Promise<Principal | null> {
  const token = BEARER.exec(header)?.[1]
  return token === undefined ? null : tokens.find(token)
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

/** Counts one request against the limits of the token and of its workspace. Returns the tighter allowance; null: no limit. */
export type RequestLimits = (principal: Principal) => Allowance | null

const evenly = (rate: number): Rate => ({ burst: rate, perSecond: rate })

/** Each node counts by itself: behind a load balancer the limit of all is that of one node times the number of nodes. */
export function createRequestLimits(
  clock: Clock,
  { rateLimit, workspaceRateLimit }: Pick<Config, 'rateLimit' | 'workspaceRateLimit'>,
): RequestLimits {
  const limiter = createRateLimiter(clock, evenly(1))
  return ({ token_id, workspace_id, rate_limit }) => {
    const ofWorkspace = rate_limit ?? workspaceRateLimit
    if (rateLimit === null && ofWorkspace === null) return null
    const taken: Allowance[] = []
    if (rateLimit !== null) taken.push(limiter.take(`token ${token_id}`, evenly(rateLimit)))
    // A request that the token's own limit refuses takes nothing from its workspace.
    if (ofWorkspace !== null && taken[0]?.allowed !== false)
      taken.push(limiter.take(`workspace ${workspace_id}`, evenly(ofWorkspace)))
    return (
      taken.find(({ allowed }) => !allowed) ?? taken.toSorted((a, b) => a.remaining - b.remaining)[0] ?? null
    )
  }
}

/** A hook that refuses requests without a token of the scope, or above the rate. */
export function authenticate(tokens: TokenCache, requests: RequestLimits, scope: Scope) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { authorization: header = '' } = request.headers
    const principal = await principalOf(tokens, header)
    if (!principal) throw unauthorized(header !== '')
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
}
