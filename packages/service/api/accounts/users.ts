/** Operations on users. A deleted user's jobs and webhooks stay; the tokens are revoked. */

import { tagOfUser } from '@assay/model/entity-tag'
import { AppError, notFound } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { isServiceAccount, User } from '@assay/model/token'
import { hashPassword, passwordFault } from '../../runtime/passwords.ts'
import { LIMIT_DEFAULT, Name, pageOf, pageQuery } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { administered, OfWorkspace, Scopes } from './administration.ts'
import { provenUser } from './credentials.ts'
import { EndedSignIns } from './sign-ins.ts'

export const listUsers = operation({
  name: 'listUsers',
  tag: 'Administration',
  summary: 'List users, newest first',
  scope: 'admin',
  query: pageQuery({ workspace_id: OfWorkspace }),
  replies: { 200: { description: 'A page of users', schema: pageOf(User) } },
  errors: ['not_found'],
  async handle({ services, principal, query }) {
    const workspace_id = await administered(services, principal, query.workspace_id)
    return services.store.listUsers({ limit: LIMIT_DEFAULT, ...query, workspace_id })
  },
})

export const getUser = operation({
  name: 'getUser',
  tag: 'Administration',
  summary: 'Read a user',
  scope: 'admin',
  params: Type.Object({ user_id: Name }),
  query: Type.Object({ workspace_id: OfWorkspace }),
  replies: { 200: { description: 'The user', schema: User } },
  errors: ['not_found'],
  async handle({ services, principal, params, query, reply }) {
    const workspace_id = await administered(services, principal, query.workspace_id)
    const found = await services.store.getUser({ workspace_id, ...params })
    if (!found) throw notFound('user', params.user_id)
    const { password_hash: _, ...user } = found
    void reply.header('etag', tagOfUser(user))
    return user
  },
})

export const createUser = operation({
  name: 'createUser',
  tag: 'Administration',
  audit: 'user.create',
  summary: 'Create a user',
  description: 'Without a password the user exists but cannot log in.',
  scope: 'admin',
  body: Type.Object({
    username: Name,
    display_name: Type.Optional(User.properties.display_name),
    password: Type.Optional(Type.String({ minLength: 8, maxLength: 1024 })),
    scopes: Scopes,
    workspace_id: OfWorkspace,
  }),
  replies: { 201: { description: 'The user', schema: User } },
  errors: ['not_found', 'conflict', 'name_taken'],
  async handle({ services, principal, body, id, reply }) {
    const { store } = services
    const workspace_id = await administered(services, principal, body.workspace_id)
    const { username, password, scopes, display_name = null } = body
    const fault = password === undefined ? null : passwordFault(password, username)
    if (fault !== null) throw invalid([{ path: 'password', message: fault }])
    const password_hash = password === undefined ? null : await hashPassword(password)
    const input = { user_id: id, workspace_id, username, display_name, scopes, password_hash }
    const user = await store.createUser(input).catch(async (error: unknown) => {
      // A repeat after a crash finds the user that the first try made.
      const made =
        error instanceof AppError && error.code === 'name_taken'
          ? await store.findUser({ workspace_id, username })
          : null
      if (made?.user_id !== id) throw error
      const { password_hash: _, ...rest } = made
      return rest
    })
    const headers = { location: `/v1alpha/users/${user.user_id}`, etag: tagOfUser(user) }
    return reply.code(201).headers(headers).send(user)
  },
})

export const changeUser = operation({
  name: 'changeUser',
  tag: 'Administration',
  audit: 'user.change',
  summary: 'Change the scopes, the password or the display name of a user, or disable the user',
  description:
    'A change of anything but `display_name` ends the sign-ins of the user, and the tokens of logins, at once on this node and within two seconds on others. Scopes and the name of a user of the sign-in provider come from there, and such a user has no password. While a user is disabled none of their tokens is taken. A person changes an own password by `POST /v1alpha/auth/password`.',
  scope: 'admin',
  params: Type.Object({ user_id: Name }),
  query: Type.Object({ workspace_id: OfWorkspace }),
  body: Type.Object({
    scopes: Type.Optional(Scopes),
    password: Type.Optional(Type.String({ minLength: 8, maxLength: 1024 })),
    disabled: Type.Optional(Type.Boolean()),
    display_name: Type.Optional(User.properties.display_name),
  }),
  replies: { 200: { description: 'The user', schema: User } },
  errors: ['not_found', 'conflict'],
  async handle({ services, principal, params, query, body, reply }) {
    const { store, tokens } = services
    const key = { workspace_id: await administered(services, principal, query.workspace_id), ...params }
    const { password, ...patch } = body
    const own = key.user_id === principal.user_id && key.workspace_id === principal.workspace_id
    if (own && body.disabled)
      throw new AppError('conflict', 'This is your own user: another admin can disable it.')
    const known = await store.getUser(key)
    if (!known) throw notFound('user', params.user_id)
    refuseProvided(known, body)
    const fault = password === undefined ? null : passwordFault(password, known.username)
    if (fault !== null) throw invalid([{ path: 'password', message: fault }])
    const password_hash = password === undefined ? {} : { password_hash: await hashPassword(password) }
    const user = await store.updateUser({ ...key, patch: { ...patch, ...password_hash } })
    tokens.forget()
    if (!user) throw notFound('user', params.user_id)
    void reply.header('etag', tagOfUser(user))
    return user
  },
})

/**
 * Throws `conflict` for a change that the next sign-in would undo, or that would let the user sign in without the
 * provider.
 */
function refuseProvided(
  { issuer }: Pick<User, 'issuer'>,
  { scopes, password, display_name }: { scopes?: unknown; password?: unknown; display_name?: unknown },
): void {
  if (issuer === null) return
  if (scopes !== undefined || display_name !== undefined)
    throw new AppError(
      'conflict',
      'This user comes from the sign-in provider: change the groups or the name there, or ASSAY_OIDC_GROUPS here. Each sign-in brings them.',
    )
  if (password !== undefined)
    throw new AppError('conflict', 'This user signs in by the sign-in provider, without a password here.')
}

export const changePassword = operation({
  name: 'changePassword',
  tag: 'Authentication',
  audit: 'user.password',
  summary: 'Change your password',
  description:
    'Every other sign-in of yours ends, and so do the tokens of logins. Wrong passwords count as at the login.',
  scope: 'viewer',
  idempotent: false,
  body: Type.Object({
    present: Type.String({ minLength: 1, maxLength: 1024, description: 'The present password' }),
    password: Type.String({ minLength: 8, maxLength: 1024 }),
  }),
  replies: { 204: { description: 'The password is changed' } },
  errors: ['conflict'],
  async handle({ services, principal, body, request, reply }) {
    const { store, tokens } = services
    const { workspace_id, user_id, token_id } = principal
    const user = await store.getUser({ workspace_id, user_id })
    if (!user || user.password_hash === null)
      throw new AppError('conflict', 'You have no password: ask an admin for a user with one.')
    const username = `${user.username}@${workspace_id}`
    await provenUser(services, { username, password: body.present }, request, reply).catch(
      (error: unknown) => {
        // A wrong password here must not answer 401, which would end the sign-in in the console.
        if (error instanceof AppError && error.code === 'unauthorized')
          throw invalid([{ path: 'present', message: 'is wrong' }])
        throw error
      },
    )
    const fault = passwordFault(body.password, user.username)
    if (fault !== null) throw invalid([{ path: 'password', message: fault }])
    const patch = { password_hash: await hashPassword(body.password) }
    await store.updateUser({ workspace_id, user_id, patch, except: token_id })
    tokens.forget()
    return reply.code(204).send()
  },
})

export const endUserSignIns = operation({
  name: 'endUserSignIns',
  tag: 'Administration',
  audit: 'user.sign_out',
  summary: 'Sign a user out everywhere',
  description:
    'Ends every sign-in of the user, and the tokens that logins made, at once on this node and within two seconds on others. Other tokens stay, and the user may sign in again: set another password or disable the user where somebody else knows the password.',
  scope: 'admin',
  params: Type.Object({ user_id: Name }),
  query: Type.Object({ workspace_id: OfWorkspace }),
  replies: { 200: { description: 'How many sign-ins have ended', schema: EndedSignIns } },
  errors: ['not_found'],
  async handle({ services, principal, params, query }) {
    const { store, tokens } = services
    const key = { workspace_id: await administered(services, principal, query.workspace_id), ...params }
    // A service account has no row of a user, although a browser may be signed in with its token.
    if (!isServiceAccount(key.user_id) && !(await store.getUser(key))) throw notFound('user', key.user_id)
    const ended = await store.deleteSignIns(key)
    tokens.forget()
    return { ended }
  },
})

export const deleteUser = operation({
  name: 'deleteUser',
  tag: 'Administration',
  audit: 'user.delete',
  summary: 'Delete a user, revoke the tokens and end the sign-ins',
  scope: 'admin',
  params: Type.Object({ user_id: Name }),
  query: Type.Object({ workspace_id: OfWorkspace }),
  replies: { 204: { description: 'The user is deleted' } },
  errors: ['not_found'],
  async handle({ services, principal, params, query, reply }) {
    const workspace_id = await administered(services, principal, query.workspace_id)
    const deleted = await services.store.deleteUser({ workspace_id, ...params })
    services.tokens.forget()
    if (!deleted) throw notFound('user', params.user_id)
    return reply.code(204).send()
  },
})

/** The number of rows that one step erases. Other requests are served between the steps. */
const ERASE_ROWS = 500

export const eraseUserJobs = operation({
  name: 'eraseUserJobs',
  tag: 'Administration',
  audit: 'user.erase',
  summary: 'Erase all jobs of a user, step by step',
  description:
    'Cancels unfinished jobs, and deletes each job with its insight, its deliveries and their bodies, and its events. Repeat the request with `next_cursor` until it is null. The user may be deleted already. A step may be repeated: it answers zeros if nothing is left. Schedules of the user still create jobs, so delete them first.',
  scope: 'admin',
  params: Type.Object({ user_id: Name }),
  query: Type.Object({
    cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
    workspace_id: OfWorkspace,
  }),
  replies: {
    200: {
      description: 'The number of rows that this step erased',
      schema: Type.Object(
        {
          jobs: Type.Integer({ minimum: 0 }),
          events: Type.Integer({ minimum: 0 }),
          next_cursor: Type.Union([Type.String(), Type.Null()], { description: 'Null: all is erased' }),
        },
        { title: 'Erased' },
      ),
    },
  },
  errors: ['not_found'],
  async handle({ services, principal, params, query }) {
    const workspace_id = await administered(services, principal, query.workspace_id)
    const { cursor } = query
    return services.store.eraseUser({ workspace_id, ...params, cursor, limit: ERASE_ROWS })
  },
})
