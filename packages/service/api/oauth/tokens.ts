/**
 * Clients register, redeem codes, refresh and revoke (RFC 7591, 6749, 7636, 7009; OAuth 2.1). The token of a grant is
 * an ordinary token: it is in the list of tokens, and deleting it ends the grant. Each refresh token is used once. A
 * second use shows that it was stolen, so the grant ends.
 */
import { createHash } from 'node:crypto'
import type { AuditAction } from '@assay/model/audit'
import { Type } from '@assay/model/schema'
import { boundScopes, type Scope } from '@assay/model/token'
import type { Grant } from '@assay/store/contract/grants'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashToken, newToken, SecretError } from '../../runtime/secrets.ts'
import { ClientFault, register } from '../../sign-in/client.ts'
import { originOf } from '../accounts/credentials.ts'
import type { Services } from '../dependencies.ts'
import { callerNetwork } from '../http/client-address.ts'
import { AnyFields } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { baseOf, isOwnResource } from './addresses.ts'

const TOKEN_MOST_MS = 3_600_000
const CONTEXT = 'oauth refresh'
const FORM_BYTES = 16 * 1024

const replies = {
  200: { description: 'As the protocol says', schema: Type.Unknown() },
  201: { description: 'As the protocol says', schema: Type.Unknown() },
} as const

/** An error in the form that OAuth defines for clients. */
class OauthFault extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

const refused = (message: string): OauthFault => new OauthFault('invalid_grant', message)

function tell(reply: FastifyReply, error: unknown): FastifyReply {
  if (!(error instanceof OauthFault || error instanceof ClientFault)) throw error
  return reply
    .code(400)
    .header('pragma', 'no-cache')
    .send({ error: error.code, error_description: error.message })
}

function tooMany({ readers }: Services, request: FastifyRequest, reply: FastifyReply): boolean {
  const { allowed, reset } = readers.take(callerNetwork(request))
  if (allowed) return false
  void reply.code(429).header('retry-after', String(reset))
  void reply.send({ error: 'temporarily_unavailable', error_description: `Wait ${reset} seconds.` })
  return true
}

export const registerClient = operation({
  name: 'registerClient',
  tag: 'Service',
  hidden: true,
  // The operation stores nothing.
  audit: null,
  summary: 'Register a client (RFC 7591)',
  scope: null,
  idempotent: false,
  bodyBytes: FORM_BYTES,
  body: Type.Unknown(),
  replies,
  handle({ services, body, request, reply }) {
    if (tooMany(services, request, reply)) return reply
    try {
      const { client_id, name, redirect_uris } = register(services.secrets, body)
      return reply.code(201).send({
        client_id,
        client_id_issued_at: Math.floor(services.clock.now() / 1000),
        ...(name === '' ? {} : { client_name: name }),
        redirect_uris,
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
      })
    } catch (error) {
      return tell(reply, error)
    }
  },
})

type Form = Readonly<Record<string, unknown>>

/** Returns a field of a form. A field that occurs twice counts as absent (RFC 6749, 3.2). */
const field = (form: Form, name: string): string | undefined =>
  typeof form[name] === 'string' ? form[name] : undefined

function required(form: Form, name: string): string {
  const value = field(form, name)
  if (value === undefined || value === '') throw new OauthFault('invalid_request', `${name} is missing.`)
  return value
}

interface Door {
  services: Services
  request: FastifyRequest
}

const recordOf = ({ request }: Door, action: AuditAction, { workspace_id, user_id, token_id }: Grant) => ({
  ...originOf(request),
  action,
  workspace_id,
  user_id,
  token_id: null,
  object_id: token_id,
})

/** Ends the grant, because somebody else may hold a secret of its client. */
async function end(door: Door, grant: Grant, why: string): Promise<OauthFault> {
  const { store, tokens, log } = door.services
  await store.audited(recordOf(door, 'token.delete', grant)).deleteToken(grant)
  tokens.forget()
  log.warn({ token_id: grant.token_id, why, request_id: door.request.id }, 'a client lost its access')
  return refused(`${why}: ask the person again.`)
}

/** Returns the grant of a code if the code belongs to the client. */
async function byCode(door: Door, form: Form): Promise<Grant> {
  const grant = await door.services.store.findGrant({ code_hash: hashToken(required(form, 'code')) })
  if (!grant) throw refused('The code does not exist or has expired: ask the person again.')
  if (grant.generation > 0) throw await end(door, grant, 'The code was used before')
  const verifier = required(form, 'code_verifier')
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  if (!/^[\w.~-]{43,128}$/.test(verifier) || challenge !== grant.challenge)
    throw await end(door, grant, 'The code_verifier does not fit')
  if (field(form, 'redirect_uri') !== undefined && field(form, 'redirect_uri') !== grant.redirect_uri)
    throw await end(door, grant, 'The redirect_uri is another')
  return grant
}

async function byRefresh(door: Door, form: Form): Promise<Grant> {
  const { secrets, store } = door.services
  const { token_id, generation } = opened(secrets, required(form, 'refresh_token'))
  const grant = await store.findGrant({ token_id })
  if (!grant) throw refused('The grant has ended: ask the person again.')
  if (grant.generation !== generation) throw await end(door, grant, 'The refresh token was used before')
  return grant
}

function opened(secrets: Services['secrets'], sealed: string): { token_id: string; generation: number } {
  try {
    const [token_id, generation] = JSON.parse(secrets.open(sealed, CONTEXT)) as [string, number]
    return { token_id, generation }
  } catch (error) {
    if (error instanceof SecretError) throw refused('This service did not give the refresh token.')
    throw error
  }
}

/** Returns the requested scopes that the person still has. */
async function scopesOf(door: Door, grant: Grant, form: Form): Promise<Scope[]> {
  const user = await door.services.store.getUser(grant)
  const scopes = user && !user.disabled ? boundScopes(grant.scopes, user.scopes) : []
  if (scopes.length === 0) throw await end(door, grant, 'The person has no rights here')
  const resource = field(form, 'resource')
  if (
    resource !== undefined &&
    !isOwnResource(resource, baseOf(door.request, door.services.config.publicUrl))
  )
    throw new OauthFault('invalid_target', `The grant is for ${grant.resource}.`)
  return scopes
}

async function grantOf(door: Door, form: Form): Promise<Grant> {
  const type = required(form, 'grant_type')
  if (type !== 'authorization_code' && type !== 'refresh_token')
    throw new OauthFault('unsupported_grant_type', 'grant_type must be authorization_code or refresh_token.')
  const client_id = required(form, 'client_id')
  const grant = await (type === 'refresh_token' ? byRefresh(door, form) : byCode(door, form))
  if (grant.client_id !== client_id) throw await end(door, grant, 'The client is another')
  return grant
}

async function give(door: Door, form: Form) {
  const { secrets, config, store, tokens } = door.services
  const grant = await grantOf(door, form)
  const scopes = await scopesOf(door, grant, form)
  const { token_id, generation } = grant
  const access_token = newToken()
  // The token ends long before the grant, so that a client can refresh after its token has expired.
  const token_ms = Math.min(TOKEN_MOST_MS, config.signInIdle / 2)
  const lasting = { token_ms, idle_ms: config.signInIdle, life_ms: config.signInLife }
  const used = await store
    .audited(recordOf(door, 'token.create', grant))
    .useGrant({ token_id, generation, token_hash: hashToken(access_token), scopes, ...lasting })
  // Two requests used the same secret at once.
  if (!used) throw await end(door, grant, 'It was used before')
  tokens.forget()
  return {
    access_token,
    token_type: 'Bearer',
    expires_in: Math.floor(token_ms / 1000),
    refresh_token: secrets.sealForOthers(JSON.stringify([token_id, generation + 1]), CONTEXT),
    scope: scopes.join(' '),
  }
}

const FORM = {
  tag: 'Service',
  hidden: true,
  scope: null,
  idempotent: false,
  bodyType: 'application/x-www-form-urlencoded',
  bodyBytes: FORM_BYTES,
  body: AnyFields,
  replies,
} as const

export const giveToken = operation({
  ...FORM,
  name: 'giveToken',
  // The handler records the grant that it finds.
  audit: null,
  summary: 'Redeem a code or a refresh token (RFC 6749)',
  async handle({ services, body, request, reply }) {
    if (tooMany(services, request, reply)) return reply
    try {
      const given = await give({ services, request }, body as Form)
      return await reply.header('pragma', 'no-cache').send(given)
    } catch (error) {
      return tell(reply, error)
    }
  },
})

export const revokeGrant = operation({
  ...FORM,
  name: 'revokeGrant',
  // The handler records the grant that it finds.
  audit: null,
  summary: 'Give back a token (RFC 7009)',
  async handle({ services, body, request, reply }) {
    if (tooMany(services, request, reply)) return reply
    const { store, secrets, tokens } = services
    const door = { services, request }
    try {
      const token = required(body as Form, 'token')
      const token_id = token.startsWith('v1.')
        ? opened(secrets, token).token_id
        : (await store.findToken(hashToken(token)))?.token_id
      const grant = token_id === undefined ? null : await store.findGrant({ token_id })
      if (grant && grant.client_id === (field(body as Form, 'client_id') ?? grant.client_id)) {
        await store.audited(recordOf(door, 'token.delete', grant)).deleteToken(grant)
        tokens.forget()
      }
    } catch (error) {
      // An unknown token counts as revoked.
      if (!(error instanceof OauthFault && error.code === 'invalid_grant')) return tell(reply, error)
    }
    return reply.code(200).send({})
  },
})
