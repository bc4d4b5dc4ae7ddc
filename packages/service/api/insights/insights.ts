/** The list of insights: their cards, which are written with each insight. result.ts reads one whole. */

import { GRADES } from '@assay/model/insight'
import { InsightCard, SEARCH_WORDS_MOST } from '@assay/model/insight-card'
import { Type } from '@assay/model/schema'
import { LIMIT_DEFAULT, Name, pageOf, pageQuery, Time } from '../http/fields.ts'
import { operation } from '../http/operation.ts'

export const listInsights = operation({
  name: 'listInsights',
  tag: 'Insights',
  summary: 'List insights, newest first',
  description:
    'A card of each: title, headline, grade and main figure with its history. Reads no insight itself; that is `/v1alpha/jobs/result`.',
  scope: 'viewer',
  query: pageQuery({
    q: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 200,
        description: `Words that stand in the title, the headline or the values of the variables, in any case and order; the first ${SEARCH_WORDS_MOST} count`,
      }),
    ),
    template_id: Type.Optional(Name),
    series: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 255,
        description: 'The series of a card: all runs of its template with its variables but the period',
      }),
    ),
    tag: Type.Optional(Name),
    grade: Type.Optional(Type.Enum([...GRADES])),
    created_after: Type.Optional(Time),
    created_before: Type.Optional(Time),
  }),
  replies: { 200: { description: 'A page of cards', schema: pageOf(InsightCard) } },
  async handle({ services, principal, query }) {
    const { workspace_id } = principal
    return services.store.listInsights({ limit: LIMIT_DEFAULT, ...query, workspace_id })
  },
})
