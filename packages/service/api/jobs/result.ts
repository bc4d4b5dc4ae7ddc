/**
 * An insight in the form that its reader wants: Markdown, one HTML page, or JSON with everything. It never changes, so
 * each form has a tag of its own and is sent once.
 */

import { fillCharts } from '@assay/engine/charts/charts'
import { AppError, notFound } from '@assay/model/errors'
import {
  type Findings,
  type Insight,
  InsightView,
  READ_CHART_FORMS,
  type ReadChartForm,
} from '@assay/model/insight'
import Type from 'typebox'
import { Id } from '../http/fields.ts'
import { matchesTag, preferred } from '../http/negotiate.ts'
import { type Call, operation } from '../http/operation.ts'

/** In the order of preference at equal quality. */
export const INSIGHT_MEDIA = ['text/markdown', 'text/html', 'application/json'] as const
type Media = (typeof INSIGHT_MEDIA)[number]

const TYPES: Record<Media, string> = {
  'text/markdown': 'text/markdown; charset=utf-8',
  'text/html': 'text/html; charset=utf-8',
  'application/json': 'application/json; charset=utf-8',
}

/** The page holds all that it shows; nothing in it may run, or ask another host. */
const PAGE_POLICY =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

const { insight_id: _insight, assignment_id: _assignment, ...previewFields } = InsightView.properties
/** What a preview answers: a result that bears no ids. */
export const PreviewView = Type.Object(previewFields, { title: 'Preview' })

function mediaOf(accept: string | undefined): Media {
  const media = preferred(accept, INSIGHT_MEDIA)
  if (media === null)
    throw new AppError('not_acceptable', `There is ${INSIGHT_MEDIA.join(', ')}: name one in Accept.`)
  return media
}

async function render(
  { services, principal, reply }: Pick<Call, 'services' | 'principal' | 'reply'>,
  insight: Insight,
  media: Media,
  form: ReadChartForm,
) {
  void reply.type(TYPES[media])
  if (media === 'text/html') {
    const { html, whole } = await services.pages.of(insight, principal.workspace_id)
    // Such a page is not the one that the tag names.
    if (!whole) reply.removeHeader('etag')
    void reply.header('content-security-policy', PAGE_POLICY)
    return html
  }
  const drawn = media === 'application/json' || form === 'image'
  const svgs = drawn ? await services.charts.of(insight, principal.workspace_id) : []
  if (drawn && svgs.length < insight.charts.length) reply.removeHeader('etag')
  const markdown = fillCharts(insight.markdown, insight.charts, form, svgs)
  if (media === 'text/markdown') return markdown
  return insightView(insight, markdown, svgs)
}

function insightView(insight: Insight, markdown: string, svgs: string[]): InsightView {
  const { chart_form: _, ...view } = insight
  return {
    ...view,
    markdown,
    charts: insight.charts.map((chart, index) => ({ ...chart, svg: svgs[index] ?? null })),
    facts: insight.facts.map((fact) => ({ ...fact })),
    lineage: { ...insight.lineage },
  }
}

export const readResult = operation({
  name: 'readResult',
  tag: 'Jobs',
  audit: 'result.read',
  summary: 'Read the result of a completed job',
  description:
    'Markdown, HTML or JSON by the quality values of `Accept`; at equal quality Markdown wins, then HTML. An insight never changes: `ETag` by variant.',
  scope: 'viewer',
  query: Type.Object({
    insight_id: Id,
    charts: Type.Optional(
      Type.Enum([...READ_CHART_FORMS], {
        description:
          "The form of charts in the Markdown; the template's unless given. `link`: `![title](chart:id)`, with the chart of that id in the JSON",
      }),
    ),
  }),
  replies: {
    200: { description: 'The insight', schema: InsightView, media: INSIGHT_MEDIA },
    304: { description: 'If-None-Match names it' },
  },
  errors: ['not_found', 'not_acceptable', 'workspace_busy'],
  async handle(call) {
    const { services, principal, query, request, reply } = call
    const { workspace_id } = principal
    const media = mediaOf(request.headers.accept)
    const insight = await services.store.getInsight({ workspace_id, insight_id: query.insight_id })
    if (!insight) throw notFound('insight', query.insight_id)
    const form = query.charts ?? insight.chart_form
    const tag = `"${insight.insight_id}.${media.split('/')[1]}.${form}.${services.version}"`
    void reply.header('etag', tag).header('vary', 'Accept').header('cache-control', 'private, no-cache')
    if (matchesTag(request.headers['if-none-match'], tag)) return reply.code(304).send()
    return render(call, insight, media, form)
  },
})

/** What a run found, as the result of a job would be answered, without ids. */
export async function sendFindings(
  call: Call<unknown, { charts?: ReadChartForm }>,
  { skipped: _skipped, ...findings }: Findings,
  created_at: string,
) {
  const media = mediaOf(call.request.headers.accept)
  const insight: Insight = { ...findings, insight_id: '', assignment_id: '', created_at }
  const rendered = await render(call, insight, media, call.query.charts ?? insight.chart_form)
  if (typeof rendered === 'string') return rendered
  const { insight_id: _insight, assignment_id: _assignment, ...preview } = rendered
  return preview
}
