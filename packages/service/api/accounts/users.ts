/** Operations on users. A deleted user's jobs and webhooks stay; the tokens are revoked. */

import { AppError, notFound } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { User } from '@assay/model/token'
import { hashPassword, passwordFault } from '../../runtime/passwords.ts'
import { LIMIT_DEFAULT, Name, pageOf, pageQuery } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { administered, OfWorkspace, Scopes } from './administration.ts'

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

export const createUser = operation({
  name: 'createUser',
  tag: 'Administration',
  audit: 'user.create',
  summary: 'Create a user',
  description: 'Without a password the user exists but cannot log in.',
  scope: 'admin',
  body: Type.Object({
    username: Name,
    password: Type.Optional(Type.String({ minLength: 8, maxLength: 1024 })),
    scopes: Scopes,
    workspace_id: OfWorkspace,
  }),
  replies: { 201: { description: 'The user', schema: User } },
  errors: ['not_found', 'name_taken'],
  async handle({ services, principal, body, id, reply }) {
    const { store } = services
    const workspace_id = await administered(services, principal, body.workspace_id)
    const { username, password, scopes } = body
    const fault = password === undefined ? null : passwordFault(password, username)
    if (fault !== null) throw invalid([{ path: 'password', message: fault }])
    const password_hash = password === undefined ? null : await hashPassword(password)
    const input = { user_id: id, workspace_id, username, scopes, password_hash }
    const user = await store.createUser(input).catch(async (error: unknown) => {
      // A repeat after a crash finds the user that it made itself.
      const made =
        error instanceof AppError && error.code === 'name_taken'
          ? await store.findUser({ workspace_id, username })
          : null
      if (made?.user_id !== id) throw error
      const { password_hash: _, ...rest } = made
      return rest
    })
    return reply.code(201).header('location', `/v1alpha/users/${user.user_id}`).send(user)
  },
})

export const deleteUser = operation({
  name: 'deleteUser',
  tag: 'Administration',
  audit: 'user.delete',
  summary: 'Delete a user and revoke the tokens',
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

/** Rows that one step reads. Other requests are served between the steps. */
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
