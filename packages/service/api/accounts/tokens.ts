/** Operations on tokens. A token is shown once; the store keeps only its hash. */

import { type Clock, iso } from '@assay/model/clock'
import { tagOfToken } from '@assay/model/entity-tag'
import { AppError, notFound } from '@assay/model/errors'
import { nullable, Type } from '@assay/model/schema'
import { includesScope, LOGIN_TOKEN, type Scope, serviceAccount, Token } from '@assay/model/token'
import { hashToken, newToken } from '../../runtime/secrets.ts'
import { findTemplate } from '../../templates/find-template.ts'
import type { Services } from '../dependencies.ts'
import { Id, LIMIT_DEFAULT, Name, pageOf, pageQuery, Time } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { administered, OfWorkspace, Scopes } from './administration.ts'

export const listTokens = operation({
  name: 'listTokens',
  tag: 'Administration',
  summary: 'List tokens, newest first',
  scope: 'admin',
  query: pageQuery({ workspace_id: OfWorkspace }),
  replies: { 200: { description: 'A page of tokens, without their secrets', schema: pageOf(Token) } },
  errors: ['not_found'],
  async handle({ services, principal, query }) {
    const workspace_id = await administered(services, principal, query.workspace_id)
    return services.store.listTokens({ limit: LIMIT_DEFAULT, ...query, workspace_id })
  },
})

export const getToken = operation({
  name: 'getToken',
  tag: 'Administration',
  summary: 'Read a token, without its secret',
  scope: 'admin',
  params: Type.Object({ token_id: Id }),
  query: Type.Object({ workspace_id: OfWorkspace }),
  replies: { 200: { description: 'The token, without its secret', schema: Token } },
  errors: ['not_found'],
  async handle({ services, principal, params, query, reply }) {
    const workspace_id = await administered(services, principal, query.workspace_id)
    const token = await services.store.getToken({ workspace_id, ...params })
    if (!token) throw notFound('token', params.token_id)
    void reply.header('etag', tagOfToken(token))
    return token
  },
})

function refuseMeaningless(
  { name, expires_at = null }: { name?: string; expires_at?: string | null },
  clock: Clock,
): void {
  if (name === LOGIN_TOKEN)
    throw invalid([{ path: 'name', message: 'is the name of the tokens that logins make: choose another' }])
  if (expires_at !== null && expires_at <= iso(clock.now()))
    throw invalid([{ path: 'expires_at', message: 'must lie in the future' }])
}

/** Returns each id once. Throws a 422 that names the ids for which nothing was found. */
function existing(noun: 'template' | 'collection', ids: string[], found: readonly unknown[]): string[] {
  const faults = ids.flatMap((id, index) =>
    found[index] ? [] : [{ path: `${noun}s.${index}`, message: `names no ${noun} of this workspace: ${id}` }],
  )
  if (faults.length > 0) throw invalid(faults)
  return [...new Set(ids)]
}

/**
 * Returns the templates that a new token is limited to. Throws a 422 for a template that does not exist, and for a
 * limited token with a scope beyond analyst.
 */
async function limitOf(
  services: Services,
  { templates, scopes }: { templates?: string[] | null; scopes: readonly Scope[] },
  workspace_id: string,
): Promise<string[] | null> {
  if (!templates) return null
  if (includesScope(scopes, 'publisher'))
    throw invalid([{ path: 'scopes', message: 'must be viewer or analyst for a token with templates' }])
  const found = await Promise.all(
    templates.map((template_id) => findTemplate(services, { workspace_id, template_id })),
  )
  return existing('template', templates, found)
}

/** Returns the collections that a new token is limited to. Throws a 422 for what such a token cannot be. */
async function collectionsOf(
  { store }: Pick<Services, 'store'>,
  {
    collections,
    templates,
    scopes,
  }: { collections?: string[] | null; templates?: string[] | null; scopes: readonly Scope[] },
  workspace_id: string,
): Promise<string[] | null> {
  if (!collections) return null
  if (templates)
    throw invalid([{ path: 'collections', message: 'must be left out where `templates` is given' }])
  if (includesScope(scopes, 'analyst'))
    throw invalid([{ path: 'scopes', message: 'must be viewer for a token with collections, which reads' }])
  const found = await Promise.all(
    collections.map((collection_id) => store.getCollection({ workspace_id, collection_id })),
  )
  return existing('collection', collections, found)
}

export const createToken = operation({
  name: 'createToken',
  tag: 'Administration',
  audit: 'token.create',
  summary: 'Create a token',
  scope: 'admin',
  body: Type.Object({
    name: Name,
    scopes: Scopes,
    user_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'Your own id. Left out, the token is one of the service account `service:NAME`',
      }),
    ),
    templates: Type.Optional(
      nullable(
        Type.Array(Name, {
          minItems: 1,
          maxItems: 100,
          description:
            'Limits the token: it runs these templates and reads their insights, and does nothing else',
        }),
      ),
    ),
    collections: Type.Optional(
      nullable(
        Type.Array(Id, {
          minItems: 1,
          maxItems: 20,
          description:
            'Limits the token, whose scope is viewer: it lists and reads the insights of these collections, and does nothing else',
        }),
      ),
    ),
    expires_at: Type.Optional(Type.Union([Time, Type.Null()])),
    workspace_id: OfWorkspace,
  }),
  replies: {
    201: {
      description: 'The token; its secret is in this answer only',
      schema: Type.Object({ ...Token.properties, token: Type.String() }, { title: 'TokenWithSecret' }),
    },
  },
  errors: ['not_found', 'conflict', 'forbidden'],
  async handle({ services, principal, body, id, request, reply }) {
    const { store, clock } = services
    const workspace_id = await administered(services, principal, body.workspace_id)
    const own = body.user_id === principal.user_id && workspace_id === principal.workspace_id
    if (body.user_id !== undefined && !own)
      throw new AppError(
        'forbidden',
        `A token belongs to you (user_id ${principal.user_id}) or to a service account: leave user_id out for one.`,
      )
    refuseMeaningless(body, clock)
    const expires_at = body.expires_at ?? null
    const templates = await limitOf(services, body, workspace_id)
    const collections = await collectionsOf(services, body, workspace_id)
    // After a crash the token of the first try was never shown, so a repeat replaces it.
    if (request.idempotent) await store.deleteToken({ workspace_id, token_id: id })
    const secret = newToken()
    const token = await store.createToken({
      token_id: id,
      workspace_id,
      user_id: body.user_id ?? serviceAccount(body.name),
      name: body.name,
      scopes: body.scopes,
      templates,
      collections,
      expires_at,
      token_hash: hashToken(secret),
    })
    return reply
      .code(201)
      .headers({ location: `/v1alpha/tokens/${token.token_id}`, etag: tagOfToken(token) })
      .send({ ...token, token: secret })
  },
})

export const changeToken = operation({
  name: 'changeToken',
  tag: 'Administration',
  audit: 'token.change',
  summary: 'Change the name or the end of a token, or take scopes away',
  description:
    'Scopes can only become fewer, and only its owner lets the token of a person end later (409). Of a token that a program was let in with only the name changes (409): revoke it instead. Other scopes or another end also end the sign-ins that were begun with the token. The `user_id` stays. Takes effect at once on this node, and within two seconds on others.',
  scope: 'admin',
  params: Type.Object({ token_id: Id }),
  query: Type.Object({ workspace_id: OfWorkspace }),
  body: Type.Object({
    name: Type.Optional(Name),
    scopes: Type.Optional(Scopes),
    expires_at: Type.Optional(Type.Union([Time, Type.Null()], { description: 'null: until it is deleted' })),
  }),
  replies: { 200: { description: 'The token, without its secret', schema: Token } },
  errors: ['not_found', 'conflict'],
  async handle({ services, principal, params, query, body, reply }) {
    const { store, clock } = services
    const workspace_id = await administered(services, principal, query.workspace_id)
    refuseMeaningless(body, clock)
    const caller = workspace_id === principal.workspace_id ? principal.user_id : null
    const token = await store.updateToken({ workspace_id, ...params, caller, patch: body })
    services.tokens.forget()
    if (!token) throw notFound('token', params.token_id)
    void reply.header('etag', tagOfToken(token))
    return token
  },
})

export const deleteToken = operation({
  name: 'deleteToken',
  tag: 'Administration',
  audit: 'token.delete',
  summary: 'Revoke a token',
  description: 'Takes effect at once on this node. Other nodes may accept the token for two more seconds.',
  scope: 'admin',
  params: Type.Object({ token_id: Id }),
  query: Type.Object({ workspace_id: OfWorkspace }),
  replies: { 204: { description: 'The token is revoked' } },
  errors: ['not_found'],
  async handle({ services, principal, params, query, reply }) {
    const workspace_id = await administered(services, principal, query.workspace_id)
    const { token_id } = params
    const deleted = await services.store.deleteToken({ workspace_id, token_id })
    services.tokens.forget()
    if (!deleted) throw notFound('token', token_id)
    return reply.code(204).send()
  },
})
