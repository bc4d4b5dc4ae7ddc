/** Lists from the audit trail who read an insight. Admins and the user who made the insight may ask. */

import { AppError, notFound } from '@assay/model/errors'
import { Reading } from '@assay/model/reading-record'
import { Type } from '@assay/model/schema'
import { includesScope } from '@assay/model/token'
import { Id } from '../http/fields.ts'
import { operation } from '../http/operation.ts'

export const listReadings = operation({
  name: 'listReadings',
  tag: 'Insights',
  summary: 'Tell who read an insight',
  description:
    'Each user once, the latest first, by the newest 5,000 records of the audit trail that it has of the insight. For admins, and for the user whose job made it. Openings of links are counted with the links.',
  scope: 'viewer',
  params: Type.Object({ insight_id: Id }),
  replies: {
    200: {
      description: 'The readers',
      schema: Type.Object({ items: Type.Array(Reading) }, { title: 'Readings' }),
    },
  },
  errors: ['not_found'],
  async handle({ services, principal, params: { insight_id } }) {
    const { workspace_id, user_id, scopes } = principal
    const head = await services.store.getInsightHead({ workspace_id, insight_id })
    if (!head) throw notFound('insight', insight_id)
    const { assignment_id } = head
    const job = await services.store.getJob({ workspace_id, assignment_id })
    if (!includesScope(scopes, 'admin') && job?.user_id !== user_id)
      throw new AppError('forbidden', 'Admins, and the user whose job made the insight, see who read it.')
    await services.audit.flush()
    return { items: await services.store.listReadings({ workspace_id, insight_id }) }
  },
})
