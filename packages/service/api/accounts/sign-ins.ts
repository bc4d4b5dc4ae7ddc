/**
 * Operations on sign-ins. A browser gets a cookie in place of a token, so that no script can read it and every tab is
 * signed in. A sign-in lasts as long as ASSAY_SIGN_IN_IDLE and ASSAY_SIGN_IN_LIFE say. It ends earlier with the token
 * or the password that began it.
 */
import { AppError, notFound } from '@assay/model/errors'
import { nullable, Type } from '@assay/model/schema'
import { SignIn } from '@assay/model/token'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashToken } from '../../runtime/secrets.ts'
import type { Services } from '../dependencies.ts'
import { Id, LIMIT_DEFAULT, pageOf, pageQuery } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { cookieForm, refuseForeignPage, signInCookie } from '../http/sign-in-cookie.ts'
import { invalid } from '../http/validate.ts'
import { provenUser } from './credentials.ts'
import { type Proven, startSignIn } from './start-sign-in.ts'

/** The largest body of a sign-in in bytes: each field at its longest. It is limited because anyone may send one. */
const CREDENTIALS_BYTES = 16 * 1024

interface Credentials {
  username?: string
  password?: string
  token?: string
}

async function prove(
  services: Services,
  { username, password, token }: Credentials,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Proven> {
  if (token === undefined) {
    if (username === undefined || password === undefined)
      throw invalid([{ path: '', message: 'must hold username and password, or token' }])
    const user = await provenUser(services, { username, password }, request, reply)
    return { ...user, templates: null, token_id: null }
  }
  if (username !== undefined || password !== undefined)
    throw invalid([{ path: 'token', message: 'must stand alone, without username and password' }])
  const found = await services.store.findToken(hashToken(token))
  if (!found) throw noToken()
  if (found.collections !== null)
    throw new AppError(
      'forbidden',
      'This token reads collections for a program, and signs no browser in: send a person a link to the collection.',
    )
  if (await services.store.findGrant({ token_id: found.token_id }))
    throw new AppError(
      'forbidden',
      'This token was given to a program, which signs no browser in: use a password, the sign-in provider or a token of your own.',
    )
  return found
}

function noToken(): AppError {
  return new AppError('unauthorized', 'The token does not exist or has expired: create one, or log in.', {
    headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
  })
}

export const signInWays = operation({
  name: 'signInWays',
  tag: 'Authentication',
  summary: 'Read how a browser can be signed in here',
  scope: null,
  replies: {
    200: {
      description: 'The ways',
      schema: Type.Object(
        {
          password: Type.Boolean({ description: 'By a name and a password (`ASSAY_PASSWORD_LOGIN`)' }),
          token: Type.Boolean({ description: 'By a token' }),
          provider: nullable(
            Type.Object(
              {
                name: Type.String({ description: 'What to call it' }),
                url: Type.String({
                  description: 'The page to open: it leads to the provider, and back to `next` of its query',
                }),
              },
              { description: 'The sign-in provider of `ASSAY_OIDC_ISSUER`; null: there is none' },
            ),
          ),
        },
        { title: 'SignInWays' },
      ),
    },
  },
  handle({ services: { config, provider } }) {
    return {
      password: config.passwordLogin === 'on',
      token: true,
      provider: provider && { name: provider.name, url: `${config.publicUrl}/auth/begin` },
    }
  },
})

export const beginSignIn = operation({
  name: 'beginSignIn',
  tag: 'Authentication',
  summary: 'Sign a browser in',
  description:
    'Answers a cookie that scripts cannot read. Requests with it need no token; those that may change something are taken from pages of this service only (`Sec-Fetch-Site` or `Origin`). Programs use a token, or `POST /v1alpha/auth/login`.',
  scope: null,
  idempotent: false,
  bodyBytes: CREDENTIALS_BYTES,
  body: Type.Object({
    username: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 320,
        description: '`name@workspace`, or a name of the default one',
      }),
    ),
    password: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
    token: Type.Optional(
      Type.String({ minLength: 1, maxLength: 1024, description: 'In place of a name and a password' }),
    ),
  }),
  replies: { 201: { description: 'The sign-in, whose secret is in the cookie alone', schema: SignIn } },
  errors: ['unauthorized', 'forbidden', 'rate_limited'],
  async handle({ services, body, request, reply }) {
    refuseForeignPage(request, services.config.publicUrl, false)
    const proven = await prove(services, body, request, reply)
    const signIn = await startSignIn(services, proven, request, reply)
    if (!signIn)
      throw body.token === undefined
        ? new AppError('unauthorized', 'The user was deleted or disabled meanwhile.')
        : noToken()
    return reply.code(201).send(signIn)
  },
})

export const listSignIns = operation({
  name: 'listSignIns',
  tag: 'Authentication',
  summary: 'List where you are signed in, newest first',
  description:
    'Of the user of the token or the sign-in. `token_id` of `GET /v1alpha/auth/me` is the present one.',
  scope: 'viewer',
  query: pageQuery({}),
  replies: { 200: { description: 'A page of sign-ins, without their secrets', schema: pageOf(SignIn) } },
  async handle({ services, principal, query }) {
    const { workspace_id, user_id } = principal
    return services.store.listSignIns({ limit: LIMIT_DEFAULT, ...query, workspace_id, user_id })
  },
})

export const endSignIn = operation({
  name: 'endSignIn',
  tag: 'Authentication',
  audit: 'sign_in.end',
  summary: 'Sign out one browser of yours',
  description: 'Takes effect at once on this node. Other nodes may accept it for two more seconds.',
  scope: 'viewer',
  params: Type.Object({ sign_in_id: Id }),
  replies: { 204: { description: 'It is signed out' } },
  errors: ['not_found'],
  async handle({ services, principal, params, reply }) {
    const { workspace_id, user_id } = principal
    const ended = await services.store.deleteSignIn({ workspace_id, user_id, ...params })
    services.tokens.forget()
    if (!ended) throw notFound('sign-in', params.sign_in_id)
    return reply.code(204).send()
  },
})

export const EndedSignIns = Type.Object({ ended: Type.Integer({ minimum: 0 }) }, { title: 'EndedSignIns' })

export const endSignIns = operation({
  name: 'endSignIns',
  tag: 'Authentication',
  audit: 'sign_in.end_all',
  summary: 'Sign out everywhere',
  description:
    'Ends every sign-in of yours, also the present one, and the tokens that logins made. Other tokens stay.',
  scope: 'viewer',
  replies: {
    200: { description: 'How many sign-ins have ended', schema: EndedSignIns },
  },
  async handle({ services, principal, request, reply }) {
    const { store, tokens, config } = services
    const { workspace_id, user_id } = principal
    const ended = await store.deleteSignIns({ workspace_id, user_id })
    tokens.forget()
    void reply.header('set-cookie', signInCookie('', 0, cookieForm(request, config.publicUrl)))
    return { ended }
  },
})
