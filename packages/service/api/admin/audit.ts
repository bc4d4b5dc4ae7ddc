/** Reads the audit trail. */

import { ACTIONS, AuditRecord } from '@assay/model/audit'
import { Type } from '@assay/model/schema'
import { administered, OfWorkspace } from '../accounts/administration.ts'
import { LIMIT_DEFAULT, Name, pageOf, pageQuery, Time } from '../http/fields.ts'
import { operation } from '../http/operation.ts'

export const listAudit = operation({
  name: 'listAudit',
  tag: 'Administration',
  summary: 'Read the audit trail, newest first',
  description:
    'Says who created, ran, read, changed or deleted which object, and from which address. Every change is recorded in its own transaction; reads of results, also by links, of single deliveries, and looks at insights and subscriptions within about a second. Actions of the service itself (runs of schedules, retries, retention) are not recorded. A record holds no secrets and no values.',
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
