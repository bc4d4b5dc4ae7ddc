/**
 * Lets a person authorize a client: one operation shows the request, one takes the answer. Both are only for the
 * console.
 */
import { randomBytes } from 'node:crypto'
import { AppError } from '@assay/model/errors'
import { nullable, Type } from '@assay/model/schema'
import { fullScopes, includesScope, type Principal, SCOPES } from '@assay/model/token'
import type { FastifyRequest } from 'fastify'
import { hashToken, newLinkSecret } from '../../runtime/secrets.ts'
import { allowsRedirect, ClientFault, type OauthClient } from '../../sign-in/client.ts'
import type { Services } from '../dependencies.ts'
import { operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { baseOf, isOwnResource, resourceOf } from './addresses.ts'

const CODE_MS = 120_000

const text = (maxLength: number) => Type.Optional(Type.String({ maxLength }))
/** The fields of the address that the client has opened (RFC 6749 4.1.1, RFC 7636, RFC 8707). */
const ASKED = {
  client_id: Type.String({ minLength: 1, maxLength: 2000 }),
  redirect_uri: Type.String({ minLength: 1, maxLength: 500 }),
  response_type: Type.Literal('code'),
  code_challenge: Type.String({ maxLength: 128, description: 'PKCE' }),
  code_challenge_method: Type.Literal('S256'),
  scope: text(500),
  state: text(2000),
  resource: text(500),
}

interface Asked {
  client_id: string
  redirect_uri: string
  code_challenge: string
  resource?: string
}

/** Returns the client if its request is allowed. Throws a 422 if not. */
async function vetted(
  services: Services,
  request: FastifyRequest,
  principal: Principal,
  asked: Asked,
): Promise<OauthClient> {
  if (!/^[\w-]{43}$/.test(asked.code_challenge))
    throw invalid([
      { path: 'code_challenge', message: 'must be the SHA-256 of the code verifier in base64url' },
    ])
  const client = await services.clients.read(asked.client_id, principal).catch((error: unknown) => {
    if (error instanceof ClientFault)
      throw invalid([{ path: 'client_id', message: `is not usable: ${error.message}` }])
    throw error
  })
  if (!allowsRedirect(client, asked.redirect_uri))
    throw invalid([{ path: 'redirect_uri', message: 'is none of those that the client has registered' }])
  const base = baseOf(request, services.config.publicUrl)
  if (asked.resource !== undefined && !isOwnResource(asked.resource, base))
    throw invalid([
      { path: 'resource', message: `must be ${resourceOf(base)}: the token is for this service alone` },
    ])
  return client
}

/**
 * Throws unless a person has signed in. A token that could authorize clients would outlive itself, even in a browser.
 */
async function requirePerson(
  { store }: Services,
  principal: Principal,
  request: FastifyRequest,
): Promise<void> {
  if (principal.begun_with)
    throw new AppError(
      'forbidden',
      'This browser was signed in by a token, which may end before the access of the program: sign out, then sign in by a password or by the sign-in provider.',
    )
  const user = await store.getUser(principal)
  if (request.headers.authorization === undefined && user && !user.disabled) return
  throw new AppError(
    'forbidden',
    'Only a person can let a client in: sign in to the console as a user, not as a service account.',
  )
}

const Scopes = Type.Array(Type.Enum([...SCOPES]))

export const readGrantRequest = operation({
  name: 'readGrantRequest',
  tag: 'Authentication',
  summary: 'Read what a client asks a person for',
  description:
    'The console shows it and asks the person. The query is that of the address that the client has opened.',
  scope: 'viewer',
  query: Type.Object(ASKED, { additionalProperties: true }),
  replies: {
    200: {
      description: 'The client, and what it can be let do',
      schema: Type.Object(
        {
          client_name: Type.String({ description: 'As the client names itself' }),
          client_host: nullable(
            Type.String({
              description: 'The host whose document says so; null: nobody vouches for the name',
            }),
          ),
          redirect_host: Type.String({ description: 'Where the browser goes with the answer' }),
          scopes: Scopes,
          asked: Type.Enum([...SCOPES], {
            description:
              'What to preselect: the widest scope that it asks for and you hold, but never publisher or admin',
          }),
        },
        { title: 'GrantRequest' },
      ),
    },
  },
  errors: ['forbidden'],
  async handle({ services, principal, query, request }) {
    await requirePerson(services, principal, request)
    const client = await vetted(services, request, principal, query)
    const held = fullScopes(principal.scopes)
    const named = (query.scope ?? '').replace(/admin|publisher/g, 'analyst').split(' ')
    return {
      client_name: client.name === '' ? 'a program without a name' : client.name,
      client_host: client.host,
      redirect_host: new URL(query.redirect_uri).host,
      scopes: held,
      asked: held.findLast((scope) => named.includes(scope)) ?? 'viewer',
    }
  },
})

export const createGrant = operation({
  name: 'createGrant',
  tag: 'Authentication',
  audit: 'grant.create',
  summary: 'Let a client do things in your name, or refuse',
  description:
    'Answers the address of the client to send the browser to. Takes the cookie of a sign-in by a password or by the sign-in provider only.',
  scope: 'viewer',
  idempotent: false,
  body: Type.Object({
    ...ASKED,
    granted: nullable(
      Type.Enum([...SCOPES], { description: 'What it may do; null: nothing, because the person refuses' }),
    ),
  }),
  replies: {
    201: {
      description: 'Where to go',
      schema: Type.Object({ redirect_to: Type.String() }, { title: 'GrantAnswer' }),
    },
  },
  errors: ['forbidden'],
  async handle({ services, principal, body, id, request, reply }) {
    await requirePerson(services, principal, request)
    const client = await vetted(services, request, principal, body)
    const base = baseOf(request, services.config.publicUrl)
    const to = new URL(body.redirect_uri)
    if (body.state !== undefined) to.searchParams.set('state', body.state)
    to.searchParams.set('iss', base)
    if (body.granted === null) to.searchParams.set('error', 'access_denied')
    else {
      if (!includesScope(principal.scopes, body.granted))
        throw new AppError('forbidden', `You do not hold the scope ${body.granted}: give less.`)
      const code = newLinkSecret()
      await services.store.createGrant({
        token_id: id,
        workspace_id: principal.workspace_id,
        user_id: principal.user_id,
        name: `agent: ${client.name === '' ? to.host : client.name}`,
        client_id: client.client_id,
        redirect_uri: body.redirect_uri,
        challenge: body.code_challenge,
        resource: body.resource ?? resourceOf(base),
        scopes: [body.granted],
        code_hash: hashToken(code),
        token_hash: hashToken(randomBytes(32).toString('hex')),
        code_ms: CODE_MS,
      })
      to.searchParams.set('code', code)
    }
    return reply.code(201).send({ redirect_to: to.href })
  },
})
