/** The programs that a person has authorized. The person sees each of them and can end it. */
import { notFound } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { LetIn } from '@assay/model/token'
import { Id } from '../http/fields.ts'
import { operation } from '../http/operation.ts'

/** The most grants that are shown, which is more than anybody has. */
const SHOWN_MOST = 200

export const listGrants = operation({
  name: 'listGrants',
  tag: 'Authentication',
  summary: 'List the programs that you have let in, newest first',
  description: `Of the user of the token or the sign-in; the newest ${SHOWN_MOST}.`,
  scope: 'viewer',
  replies: {
    200: {
      description: 'The programs that may do things in your name',
      schema: Type.Object({ items: Type.Array(LetIn) }, { title: 'Grants' }),
    },
  },
  async handle({ services, principal: { workspace_id, user_id } }) {
    const found = await services.store.listGrants({ workspace_id, user_id, limit: SHOWN_MOST })
    const items = found.map(({ redirect_uri, ...rest }) => ({
      ...rest,
      redirect_host: new URL(redirect_uri).host,
    }))
    return { items }
  },
})

export const endGrant = operation({
  name: 'endGrant',
  tag: 'Authentication',
  audit: 'token.delete',
  summary: 'End what a program may do in your name',
  description:
    'Its token and its refresh token are taken no more: at once on this node, within two seconds on others.',
  scope: 'viewer',
  params: Type.Object({ token_id: Id }),
  replies: { 204: { description: 'It is ended' } },
  errors: ['not_found'],
  async handle({ services, principal, params: { token_id }, reply }) {
    const { workspace_id, user_id } = principal
    const grant = await services.store.findGrant({ token_id })
    const isOwn = grant?.workspace_id === workspace_id && grant.user_id === user_id
    const ended = isOwn && (await services.store.deleteToken({ workspace_id, token_id }))
    services.tokens.forget()
    if (!ended) throw notFound('grant', token_id)
    return reply.code(204).send()
  },
})
