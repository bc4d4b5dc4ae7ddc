/**
 * OAuth 2's password flow. An unknown user takes as long as a wrong password and gets the same answer.
 */

import { iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { nullable, Type } from '@assay/model/schema'
import { includesScope, LOGIN_TOKEN, SCOPES, type Scope } from '@assay/model/token'
import { hashToken, newToken } from '../../runtime/secrets.ts'
import { operation } from '../http/operation.ts'
import { cookieForm, signInCookie } from '../http/sign-in-cookie.ts'
import { invalid } from '../http/validate.ts'
import { originOf, provenUser } from './credentials.ts'

const SESSION_SECONDS = 12 * 3600
/**
 * The largest form in bytes. It holds every field at its longest with each character as %XX. The form is limited
 * because anyone may send one.
 */
const FORM_BYTES = 16 * 1024

/**
 * Returns the requested scopes, or all scopes of the user if none are requested. Throws a 422 for an unknown scope
 * and `forbidden` for one that the user does not have.
 */
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
    const { store, clock } = services
    const user = await provenUser(services, body, request, reply)
    const scopes = grantedScopes(body.scope, user.scopes)
    const secret = newToken()
    const { workspace_id, user_id } = user
    const token_id = uuidv7()
    const begun = {
      ...originOf(request),
      action: 'session.begin' as const,
      workspace_id,
      user_id,
      token_id,
      object_id: token_id,
    }
    await store.audited(begun).createToken({
      token_id,
      workspace_id,
      user_id,
      name: LOGIN_TOKEN,
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

export const whoAmI = operation({
  name: 'whoAmI',
  tag: 'Authentication',
  summary: 'Read the user and the scopes of the token or the sign-in',
  scope: 'viewer',
  replies: {
    200: {
      description: 'The token, without its secret',
      schema: Type.Object(
        {
          token_id: Type.String({ format: 'uuid', description: 'Of the token, or of the sign-in' }),
          user_id: Type.String(),
          username: Type.Union([Type.String(), Type.Null()], { description: 'Null where the user is gone' }),
          display_name: nullable(Type.String({ description: 'The name that people read; null: none' })),
          by_password: Type.Boolean({ description: 'The user has a password, which may be changed' }),
          by_provider: Type.Boolean({ description: 'The user comes from the sign-in provider' }),
          workspace_id: Type.String(),
          scopes: Type.Array(Type.Enum([...SCOPES])),
          templates: nullable(
            Type.Array(Type.String(), {
              description: 'The templates that the token is limited to; null: no limit',
            }),
          ),
          collections: nullable(
            Type.Array(Type.String(), {
              description: 'The collections that the token is limited to; null: no limit',
            }),
          ),
          version: Type.String({ description: 'Of the service' }),
        },
        { title: 'WhoAmI' },
      ),
    },
  },
  async handle({ services, principal }) {
    const { token_id, user_id, workspace_id, scopes, templates, collections } = principal
    const user = await services.store.getUser({ workspace_id, user_id })
    const { version, config } = services
    return {
      token_id,
      user_id,
      username: user?.username ?? null,
      display_name: user?.display_name ?? null,
      by_password: user !== null && user.password_hash !== null && config.passwordLogin === 'on',
      by_provider: user !== null && user.issuer !== null,
      workspace_id,
      scopes,
      templates,
      collections,
      version,
    }
  },
})

export const logout = operation({
  name: 'logout',
  tag: 'Authentication',
  audit: 'session.end',
  summary: 'Revoke the token of this request, or sign out',
  description: 'The token of a login ends at once. A sign-in ends, and its cookie is deleted.',
  scope: 'viewer',
  idempotent: false,
  replies: { 204: { description: 'The token is revoked, or the sign-in has ended' } },
  async handle({ services, principal, request, reply }) {
    const { store, config } = services
    const { workspace_id, user_id, token_id } = principal
    if (request.headers.authorization === undefined) {
      await store.deleteSignIn({ workspace_id, user_id, sign_in_id: token_id })
      void reply.header('set-cookie', signInCookie('', 0, cookieForm(request, config.publicUrl)))
    } else await store.deleteToken({ workspace_id, token_id })
    services.tokens.forget()
    return reply.code(204).send()
  },
})
