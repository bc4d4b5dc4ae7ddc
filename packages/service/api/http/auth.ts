/**
 * Checks the bearer token of a request, or the cookie of its sign-in, its scope and its rate. Tokens and sign-ins are
 * cached for two seconds. One that another node revokes may work for that long; one that this process revokes stops
 * at once.
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
import { refuseBeyondCollections } from '../insights/collection-limits.ts'
import { challengeOf } from '../oauth/addresses.ts'
import { refuseBeyondLimit } from '../templates/template-limits.ts'
import { addressOf } from './client-address.ts'
import { createRateLimiter, type Rate } from './rate-limiter.ts'
import { cookieForm, refuseForeignPage, signInSecret } from './sign-in-cookie.ts'

const KEPT_MS = 2000
const MOST_KEPT = 1000

declare module 'fastify' {
  interface FastifyRequest {
    principal: Principal | null
  }
}

/** The time in milliseconds between two writes of the last use of a token or a sign-in. */
const USES_MS = 60_000

export interface TokenCache {
  /** Finds the caller of a token. Returns null if there is no such token. */
  find(token: string): Promise<Principal | null>
  /** Finds the caller of a sign-in and extends its life. Returns null if there is no such sign-in. */
  findSignIn(secret: string, address: string): Promise<Principal | null>
  /** Clears the cache. Call it after tokens, sign-ins, users or workspaces change. */
  forget(): void
  /** Writes the uses that are not yet written. */
  close(): Promise<void>
}

type Accounts = Pick<Store, 'findToken' | 'noteTokenUses' | 'findSignIn' | 'noteSignInUses'>

export function createTokenCache(
  store: Accounts,
  clock: Clock,
  log: Logger,
  { signInIdle }: Pick<Config, 'signInIdle'>,
): TokenCache {
  const warn = (error: unknown): void => log.warn({ err: error }, 'uses of tokens could not be noted')
  const uses = createGatherer<{ token_id: string; at: string }>(clock, USES_MS, (noted) =>
    store.noteTokenUses(noted).catch(warn),
  )
  const signInUses = createGatherer<Parameters<Store['noteSignInUses']>[0][number]>(clock, USES_MS, (noted) =>
    store.noteSignInUses(noted).catch(warn),
  )
  const kept = new LRUCache<string, Principal>({
    max: MOST_KEPT,
    ttl: KEPT_MS,
    ttlResolution: 0,
    // The library treats a time of 0 as no time, so the clock begins at 1.
    perf: { now: () => clock.monotonic() + 1 },
  })
  let generation = 0

  /** Looks a caller up, in the cache first. `note` is called for each caller that the store finds. */
  async function find(
    key: string,
    look: () => Promise<Principal | null>,
    note: (principal: Principal) => void,
  ): Promise<Principal | null> {
    const known = kept.get(key)
    if (known) return known
    const asked = generation
    const principal = await look()
    if (principal) note(principal)
    // A lookup that began before a revocation must not bring the revoked one back.
    if (principal && asked === generation) kept.set(key, principal)
    return principal
  }

  return {
    find: (token) =>
      find(
        `token ${token}`,
        () => store.findToken(hashToken(token)),
        ({ token_id }) => uses.note(token_id, () => ({ token_id, at: iso(clock.now()) })),
      ),
    findSignIn: (secret, address) =>
      find(
        `sign-in ${secret}`,
        () => store.findSignIn(hashToken(secret)),
        ({ token_id: sign_in_id }) =>
          signInUses.note(sign_in_id, () => ({
            sign_in_id,
            at: iso(clock.now()),
            address,
            idle_ms: signInIdle,
          })),
      ),
    forget() {
      generation += 1
      kept.clear()
    },
    async close() {
      await uses.close()
      await signInUses.close()
    },
  }
}

/** The lookups that identify callers. */
interface Doors {
  tokens: TokenCache
  config: Pick<Config, 'publicUrl'>
}

/**
 * Returns the caller of a request, by its Authorization header or, without one, by the cookie of a sign-in. Returns
 * null if neither exists. Throws `forbidden` if the page of another site uses the cookie.
 */
export async function callerOf(
  { tokens, config }: Doors,
  request: FastifyRequest,
): Promise<Principal | null> {
  if (request.headers.authorization !== undefined) {
    const token = bearerOf(request)
    return token === null ? null : tokens.find(token)
  }
  // A cookie counts only below /v1alpha. The endpoint of agents passes on the caller's token, and a cookie is not
  // one.
  if (!request.url.startsWith('/v1alpha/')) return null
  const secret = signInSecret(request, cookieForm(request, config.publicUrl))
  if (secret === null) return null
  refuseForeignPage(request, config.publicUrl, true)
  return tokens.findSignIn(secret, addressOf(request))
}

const BEARER = /^bearer +([\x21-\x7e]{1,1024})$/i

/** Returns the token of the Authorization header; null if it has none. */
export function bearerOf({ headers }: FastifyRequest): string | null {
  return BEARER.exec(headers.authorization ?? '')?.[1] ?? null
}

/** Returns the 401. `more` tells an agent where to begin. */
function unauthorized(given: boolean, more: string): AppError {
  const detail = given
    ? 'The token does not exist or has expired: create one, or log in again.'
    : 'Send the header "Authorization: Bearer TOKEN".'
  const challenge = given ? 'Bearer error="invalid_token"' : 'Bearer'
  const parts = [challenge, ...(more === '' ? [] : [`${given ? ', ' : ' '}${more}`])]
  return new AppError('unauthorized', detail, { headers: { 'www-authenticate': parts.join('') } })
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

/**
 * Makes the limits of requests. Each node counts by itself, so behind a load balancer the limit of all nodes is that
 * of one node times their number.
 */
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
    // A request that exceeds the limit of its token does not count against its workspace.
    if (ofWorkspace !== null && taken[0]?.allowed !== false)
      taken.push(limiter.take(`workspace ${workspace_id}`, evenly(ofWorkspace)))
    return (
      taken.find(({ allowed }) => !allowed) ?? taken.toSorted((a, b) => a.remaining - b.remaining)[0] ?? null
    )
  }
}

/** Returns a hook that refuses requests without a token or a sign-in of the scope, and requests above the rate. */
export function authenticate(
  services: Doors & { requests: RequestLimits },
  { name, scope }: { name: string; scope: Scope },
) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const principal = await callerOf(services, request)
    if (!principal)
      throw unauthorized(
        (request.headers.authorization ?? '') !== '',
        challengeOf(request, services.config.publicUrl),
      )
    request.principal = principal
    const allowance = services.requests(principal)
    if (allowance) {
      reply.headers(rateHeaders(allowance))
      if (!allowance.allowed)
        throw new AppError('rate_limited', `More than ${allowance.limit} requests a second: wait.`, {
          retryAfter: allowance.reset,
        })
    }
    if (!includesScope(principal.scopes, scope)) throw tooNarrow(scope)
    refuseBeyondLimit(name, principal)
    refuseBeyondCollections(name, principal)
  }
}
