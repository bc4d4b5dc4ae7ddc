/** Checks names and passwords in the same way wherever they are given. */
import { AppError } from '@assay/model/errors'
import { DEFAULT_WORKSPACE, type User } from '@assay/model/token'
import { siteOf } from '@assay/net/proxies'
import type { Store } from '@assay/store/store'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { verifyPassword } from '../../runtime/passwords.ts'
import type { Services } from '../dependencies.ts'
import { addressOf } from '../http/client-address.ts'
import { cookieForm } from '../http/sign-in-cookie.ts'
import { bucketsOf, countGuess, deviceCookie, deviceOf } from './guesses.ts'

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

/** Returns the part of an audit record that describes the request. */
export function originOf(request: FastifyRequest) {
  return { fields: [], address: addressOf(request), request_id: request.id }
}

/**
 * Returns the user that a name and a password prove. An unknown or disabled user takes as long as a wrong password and
 * gets the same answer, `unauthorized`. Throws `rate_limited` after too many wrong passwords. The device becomes a
 * known one.
 */
export async function provenUser(
  { store, secrets, audit, config }: Services,
  { username, password }: { username: string; password: string },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<User> {
  if (config.passwordLogin === 'off')
    throw new AppError(
      'forbidden',
      'Nobody signs in by a password here (ASSAY_PASSWORD_LOGIN): use the sign-in provider, or a token.',
    )
  const found = await userOf(store, username)
  const user = found?.disabled ? null : found
  const device = user && deviceOf(secrets, request.headers.cookie, user.user_id)
  const buckets = bucketsOf(addressOf(request), username, device)
  await countGuess(store, buckets)
  const asked = { asker: device === null ? 'any' : 'known', site: siteOf(addressOf(request)) } as const
  if (!(await verifyPassword(password, user?.password_hash ?? null, asked)) || !user) {
    // The record holds no name, because a password may have been typed there.
    const nobody = { workspace_id: DEFAULT_WORKSPACE, user_id: null, token_id: null, object_id: null }
    audit.note({ ...originOf(request), ...nobody, action: 'session.refuse' })
    throw new AppError('unauthorized', 'The username or the password is wrong.', {
      headers: { 'www-authenticate': 'Bearer' },
    })
  }
  await store.returnAllowances(buckets)
  if (device === null) {
    const form = cookieForm(request, config.publicUrl)
    void reply.header('set-cookie', deviceCookie(secrets, user.user_id, form))
  }
  return user
}
