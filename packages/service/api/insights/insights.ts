/** The list of insights, and the runs before one, by the cards that are written with each. result.ts reads one whole. */

import { EarlierInsight } from '@assay/model/earlier-insight'
import { notFound } from '@assay/model/errors'
import { GRADES } from '@assay/model/insight'
import { InsightCard, SEARCH_WORDS_MOST } from '@assay/model/insight-card'
import { ReaderId } from '@assay/model/readers'
import { Type } from '@assay/model/schema'
import { Id, LIMIT_DEFAULT, Name, pageOf, pageQuery, Time } from '../http/fields.ts'
import { operation } from '../http/operation.ts'

export const listInsights = operation({
  name: 'listInsights',
  // The cards show figures and sentences of the insights.
  audit: 'insight.list',
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
    reader_id: Type.Optional(ReaderId),
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

export const earlierInsights = operation({
  name: 'earlierInsights',
  audit: 'insight.list',
  tag: 'Insights',
  summary: 'Find the earlier runs to compare an insight with',
  description:
    'Runs of the same template with the same variables but the period: of the period before, of the same period, and a day, a week, a month and a year before (the nearest). What does not exist is left out.',
  scope: 'viewer',
  params: Type.Object({ insight_id: Id }),
  replies: {
    200: {
      description: 'The runs, each once',
      schema: Type.Object({ items: Type.Array(EarlierInsight) }, { title: 'EarlierInsights' }),
    },
  },
  errors: ['not_found'],
  async handle({ services, principal, params: { insight_id } }) {
    const { workspace_id } = principal
    const items = await services.store.earlierInsights({ workspace_id, insight_id })
    if (items === null) throw notFound('insight', insight_id)
    return { items }
  },
})
