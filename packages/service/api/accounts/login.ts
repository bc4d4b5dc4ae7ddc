/**
 * OAuth 2's password flow. An unknown user takes as long as a wrong password and gets the same answer.
 */

import { iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { Type } from '@assay/model/schema'
import { DEFAULT_WORKSPACE, includesScope, type Principal, SCOPES, type Scope } from '@assay/model/token'
import type { Store } from '@assay/store/store'
import { verifyPassword } from '../../runtime/passwords.ts'
import { hashToken, newToken } from '../../runtime/secrets.ts'
import { addressOf } from '../http/client-address.ts'
import { operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { bucketsOf, countGuess, deviceCookie, deviceOf } from './guesses.ts'

const SESSION_SECONDS = 12 * 3600
/** All fields at their longest, with each character as %XX, and room. Anyone may send one. */
const FORM_BYTES = 16 * 1024

/**
 * The user of a name as it is typed: `name@workspace`, or a user of the default workspace. A name may hold an @ itself, so
 * what follows the last one counts only if the workspace has that user.
 */
async function userOf(store: Store, typed: string) {
  const at = typed.lastIndexOf('@')
  const workspace_id = typed.slice(at + 1)
  const found = at > 0 ? await store.findUser({ workspace_id, username: typed.slice(0, at) }) : null
  return found ?? store.findUser({ workspace_id: DEFAULT_WORKSPACE, username: typed })
}

/** The requested scopes, or all scopes of the user. Throws a 422 for an unknown scope and `forbidden` for one not held. */
function grantedScopes(asked: string | undefined, held: Scope[]): Scope[] {
  const names = (asked ?? '').split(/\s+/).filter(Boolean)
  if (names.length === 0) return held
  const scopes = SCOPES.filter((scope) => names.includes(scope))
  if (names.some((name) => !(SCOPES as readonly string[]).includes(name)))
    throw invalid([{ path: 'scope', message: `must be a list of ${SCOPES.join(', ')}, divided by spaces` }])
  const missing = scopes.find((scope) => !includesScope(held, scope))
  if (missing) throw new AppError('forbidden', `The user does not hold the scope ${missing}: ask for less.`)
  return scopes
}

export const login = operation({
  name: 'login',
  tag: 'Authentication',
  summary: 'Log in with a password',
  description: `A token for ${SESSION_SECONDS / 3600} hours, with the scopes of the user or those asked for. The username is \`name@workspace\`, or a name of the default workspace. After ten wrong passwords each further one takes 30 seconds, later ten minutes. A device that has logged in before counts by itself.`,
  scope: null,
  idempotent: false,
  bodyType: 'application/x-www-form-urlencoded',
  bodyBytes: FORM_BYTES,
  body: Type.Object({
    username: Type.String({ minLength: 1, maxLength: 320 }),
    password: Type.String({ minLength: 1, maxLength: 1024 }),
    scope: Type.Optional(Type.String({ maxLength: 255, description: 'Divided by spaces' })),
    grant_type: Type.Optional(Type.Literal('password')),
    client_id: Type.Optional(Type.String({ description: 'Ignored' })),
    client_secret: Type.Optional(Type.String({ description: 'Ignored' })),
  }),
  replies: {
    200: {
      description: 'The token',
      schema: Type.Object(
        {
          access_token: Type.String(),
          token_type: Type.Literal('bearer'),
          expires_in: Type.Integer({ description: 'Seconds' }),
          scope: Type.String(),
        },
        { title: 'Login' },
      ),
    },
  },
  errors: ['unauthorized', 'forbidden', 'rate_limited'],
  async handle({ services, body, request, reply }) {
    const { store, clock, secrets } = services
    const { username, password } = body
    const address = addressOf(request)
    const user = await userOf(store, username)
    const device = user && deviceOf(secrets, request.headers.cookie, user.user_id)
    const buckets = bucketsOf(address, username, device)
    await countGuess(store, buckets)
    const record = {
      action: 'session.begin',
      fields: [],
      address,
      request_id: request.id,
    } as const
    if (
      !(await verifyPassword(password, user?.password_hash ?? null, device === null ? 'any' : 'known')) ||
      !user
    ) {
      // The record holds no name, because a password may have been typed there.
      const nobody = { workspace_id: DEFAULT_WORKSPACE, user_id: null, token_id: null, object_id: null }
      services.audit.note({ ...record, ...nobody, fields: [], action: 'session.refuse' })
      throw new AppError('unauthorized', 'The username or the password is wrong.', {
        headers: { 'www-authenticate': 'Bearer' },
      })
    }
    await store.returnAllowances(buckets)
    if (device === null)
      void reply.header('set-cookie', deviceCookie(secrets, user.user_id, request.protocol === 'https'))
    const scopes = grantedScopes(body.scope, user.scopes)
    const secret = newToken()
    const { workspace_id, user_id } = user
    const token_id = uuidv7()
    const begun = { ...record, fields: [], workspace_id, user_id, token_id, object_id: token_id }
    await store.audited(begun).createToken({
      token_id,
      workspace_id,
      user_id,
      name: 'login',
      scopes,
      expires_at: iso(clock.now() + SESSION_SECONDS * 1000),
      token_hash: hashToken(secret),
    })
    return {
      access_token: secret,
      token_type: 'bearer' as const,
      expires_in: SESSION_SECONDS,
      scope: scopes.join(' '),
    }
  },
})

/** Looks the name up in the list of users, which is fast enough for a request that clients send once a session. */
async function usernameOf(store: Store, { workspace_id, user_id }: Principal): Promise<string | null> {
  let cursor: string | undefined
  do {
    const page = await store.listUsers({ workspace_id, limit: 200, cursor })
    const user = page.items.find((candidate) => candidate.user_id === user_id)
    if (user) return user.username
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  return null
}

export const whoAmI = operation({
  name: 'whoAmI',
  tag: 'Authentication',
  summary: 'Read the user and the scopes of the token',
  scope: 'viewer',
  replies: {
    200: {
      description: 'The token, without its secret',
      schema: Type.Object(
        {
          token_id: Type.String({ format: 'uuid' }),
          user_id: Type.String(),
          username: Type.Union([Type.String(), Type.Null()], { description: 'Null where the user is gone' }),
          workspace_id: Type.String(),
          scopes: Type.Array(Type.Enum([...SCOPES])),
          version: Type.String({ description: 'Of the service' }),
        },
        { title: 'WhoAmI' },
      ),
    },
  },
  async handle({ services, principal }) {
    const { token_id, user_id, workspace_id, scopes } = principal
    const username = await usernameOf(services.store, principal)
    return { token_id, user_id, username, workspace_id, scopes, version: services.version }
  },
})

export const logout = operation({
  name: 'logout',
  tag: 'Authentication',
  audit: 'session.end',
  summary: 'Revoke the token of this request',
  description: 'A token of a login ends before its hours are over.',
  scope: 'viewer',
  idempotent: false,
  replies: { 204: { description: 'The token is revoked' } },
  async handle({ services, principal, reply }) {
    const { workspace_id, token_id } = principal
    await services.store.deleteToken({ workspace_id, token_id })
    services.tokens.forget()
    return reply.code(204).send()
  },
})
