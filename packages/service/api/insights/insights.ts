/**
 * Lists insights, and the runs before one, by the cards that are written with each. result.ts reads a whole insight.
 */

import { overlayChart } from '@assay/engine/charts/overlay'
import { chartFigure } from '@assay/engine/pages/chart-figure'
import { pinsId } from '@assay/model/collection'
import { EarlierInsight } from '@assay/model/earlier-insight'
import { notFound } from '@assay/model/errors'
import { GRADES } from '@assay/model/insight'
import { InsightCard, SEARCH_WORDS_MOST } from '@assay/model/insight-card'
import { METRIC_ID } from '@assay/model/metric'
import { ReaderId } from '@assay/model/readers'
import { Type } from '@assay/model/schema'
import { Id, LIMIT_DEFAULT, Name, pageOf, pageQuery, Time } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { mayRead } from '../readers/visible.ts'
import { requireCollection } from './collections.ts'

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
    metric_id: Type.Optional(
      Type.String({ pattern: METRIC_ID, description: 'Only those that tell of the metric' }),
    ),
    collection_id: Type.Optional(Id),
    pinned_by: Type.Optional(
      Type.Enum(['me'], { description: 'Only what you have pinned; not together with `collection_id`' }),
    ),
    grade: Type.Optional(Type.Enum([...GRADES])),
    tests: Type.Optional(
      Type.Enum(['failed'], {
        description:
          'Only the newest run of each series, and only where a test of a metric that it reads failed, such as `fresh`',
      }),
    ),
    created_after: Type.Optional(Time),
    created_before: Type.Optional(Time),
  }),
  replies: { 200: { description: 'A page of cards', schema: pageOf(InsightCard) } },
  errors: ['not_found'],
  async handle({ services, principal, query }) {
    const { workspace_id, user_id } = principal
    const { pinned_by, ...filters } = query
    if (pinned_by && filters.collection_id !== undefined)
      throw invalid([{ path: 'pinned_by', message: 'must be left out where `collection_id` is given' }])
    const { collection_id = pinned_by ? pinsId(workspace_id, user_id) : undefined } = filters
    if (filters.collection_id !== undefined)
      await requireCollection(services, principal, filters.collection_id)
    return services.store.listInsights({ limit: LIMIT_DEFAULT, ...filters, collection_id, workspace_id })
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

const Overlaid = Type.Object(
  {
    id: Type.String({ description: 'Of the chart in both insights' }),
    title: Type.String(),
    figure: Type.String({ description: 'The chart as HTML, drawn once for both runs' }),
    appeared: Type.Array(Type.String(), { description: 'Names that only this run has' }),
    gone: Type.Array(Type.String(), { description: 'Names that only the earlier run has' }),
  },
  { title: 'OverlaidChart' },
)

export const overlayCharts = operation({
  name: 'overlayCharts',
  // The charts show the numbers of both insights.
  audit: 'result.read',
  tag: 'Insights',
  summary: 'Draw the charts of an insight over those of an earlier one',
  description:
    'Lines, areas, bars and points with one series, of the same columns: this run in colour, the earlier one in grey. Times of another period are moved onto those of this run. Other charts are left out, and so are all where they cannot be drawn now.',
  scope: 'viewer',
  params: Type.Object({ insight_id: Id, earlier_id: Id }),
  replies: {
    200: {
      description: 'The charts, in the order of the insight',
      schema: Type.Object({ items: Type.Array(Overlaid) }, { title: 'OverlaidCharts' }),
    },
  },
  errors: ['not_found', 'workspace_busy'],
  async handle(call) {
    const { services, principal, params } = call
    const { insight_id, earlier_id } = params
    const { workspace_id } = principal
    const of = await services.store.insightReader({ workspace_id, insight_id: earlier_id })
    if (of && !mayRead(principal, of)) throw notFound('insight', earlier_id)
    const [own, earlier] = await Promise.all(
      [insight_id, earlier_id].map((id) => services.store.getInsightHead({ workspace_id, insight_id: id })),
    )
    if (!own) throw notFound('insight', insight_id)
    if (!earlier) throw notFound('insight', earlier_id)
    services.audit.note({ ...services.audit.record('result.read', call), object_id: earlier_id })
    const overlays = own.charts.flatMap((chart) => {
      const other = earlier.charts.find(({ id }) => id === chart.id)
      return (other && overlayChart(chart, other)) ?? []
    })
    const charts = overlays.map(({ chart }) => chart)
    const both = { insight_id: `${insight_id} ${earlier_id}`, charts }
    const drawings = await services.charts.of(both, workspace_id)
    const items = overlays.flatMap(({ chart, appeared, gone }, index) => {
      const drawing = drawings[index]
      const figure = drawing === undefined ? null : chartFigure(chart, drawing)
      return figure === null ? [] : [{ id: chart.id, title: chart.title, figure, appeared, gone }]
    })
    return { items }
  },
})
