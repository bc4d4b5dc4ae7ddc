/** Begins a sign-in for a proven user: a new row, a new secret, and the cookie that holds it. */
import { uuidv7 } from '@assay/model/ids'
import type { Scope, SignIn } from '@assay/model/token'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashToken, newLinkSecret } from '../../runtime/secrets.ts'
import type { Services } from '../dependencies.ts'
import { addressOf } from '../http/client-address.ts'
import { cookieForm, signInCookie } from '../http/sign-in-cookie.ts'
import { originOf } from './credentials.ts'
import { deviceName } from './device-name.ts'

const SECOND = 1000

export interface Proven {
  workspace_id: string
  user_id: string
  scopes: Scope[]
  templates: string[] | null
  /** The token that began the sign-in. Null if a password or the sign-in provider did. */
  token_id: string | null
}

/** Begins the sign-in and sets the cookie. Returns null if the token was deleted meanwhile. */
export async function startSignIn(
  { store, config }: Services,
  proven: Proven,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<SignIn | null> {
  const { workspace_id, user_id, scopes, templates, token_id } = proven
  const sign_in_id = uuidv7()
  const secret = newLinkSecret()
  const begun = { ...originOf(request), action: 'session.begin' as const, workspace_id, user_id }
  const signIn = await store.audited({ ...begun, token_id: sign_in_id, object_id: sign_in_id }).createSignIn({
    sign_in_id,
    secret_hash: hashToken(secret),
    workspace_id,
    user_id,
    scopes,
    templates,
    token_id,
    device: deviceName(request.headers['user-agent'] ?? ''),
    address: addressOf(request),
    idle_ms: config.signInIdle,
    life_ms: config.signInLife,
  })
  if (!signIn) return null
  const seconds = Math.floor((Date.parse(signIn.ends_at) - Date.parse(signIn.created_at)) / SECOND)
  void reply.header('set-cookie', signInCookie(secret, seconds, cookieForm(request, config.publicUrl)))
  return signIn
}
