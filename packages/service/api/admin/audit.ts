/** Reads the audit trail. */

import { ACTIONS, AuditRecord } from '@assay/model/audit'
import Type from 'typebox'
import { administered, OfWorkspace } from '../accounts/administration.ts'
import { LIMIT_DEFAULT, Name, pageOf, pageQuery, Time } from '../http/fields.ts'
import { operation } from '../http/operation.ts'

export const listAudit = operation({
  name: 'listAudit',
  tag: 'Administration',
  summary: 'Read the audit trail, newest first',
  description:
    'Who created, ran, read, changed or deleted what, and from which address. It holds every change, recorded in the transaction of the change, and reads of results, by links too, within about a second. What the service does by itself (runs of schedules, retries, retention) is not recorded. A record holds no secrets and no values.',
  scope: 'admin',
  query: pageQuery({
    action: Type.Optional(Type.Enum([...ACTIONS])),
    user_id: Type.Optional(Name),
    object_id: Type.Optional(Name),
    created_after: Type.Optional(Time),
    created_before: Type.Optional(Time),
    workspace_id: OfWorkspace,
  }),
  replies: { 200: { description: 'A page of records', schema: pageOf(AuditRecord) } },
  errors: ['not_found'],
  async handle({ services, principal, query }) {
    const workspace_id = await administered(services, principal, query.workspace_id)
    await services.audit.flush()
    return services.store.listAudit({ limit: LIMIT_DEFAULT, ...query, workspace_id })
  },
})
