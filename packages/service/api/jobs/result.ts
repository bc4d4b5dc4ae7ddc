/**
 * Answers an insight in the form that the reader accepts: Markdown, one HTML page, JSON with everything, or the files of result-files.ts. An insight never
 * changes, so each form has its own entity tag.
 */

import { fillCharts, fillMarked } from '@assay/engine/charts/charts'
import { readingView } from '@assay/engine/pages/around'
import { chartFigure, type Drawing } from '@assay/engine/pages/chart-figure'
import { matchesTag } from '@assay/model/entity-tag'
import { AppError, notFound } from '@assay/model/errors'
import {
  type Findings,
  type InsightData,
  type InsightHead,
  InsightView,
  READ_CHART_FORMS,
  type ReadChartForm,
} from '@assay/model/insight'
import type { Mark } from '@assay/model/provenance'
import { Type } from '@assay/model/schema'
import { tablesText } from '@assay/model/table-text'
import type { Principal } from '@assay/model/token'
import type { FastifyReply } from 'fastify'
import type { Services } from '../dependencies.ts'
import { Id } from '../http/fields.ts'
import { preferred } from '../http/negotiate.ts'
import { type Call, operation } from '../http/operation.ts'
import { FILE_MEDIA, type FileMedia, isFileMedia, sendFile } from './result-files.ts'

/** The media types in the order of preference if the client accepts several with equal quality. */
export const INSIGHT_MEDIA = [
  'text/markdown',
  'text/html',
  'application/json',
  'application/pdf',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'text/csv',
] as const
type Media = (typeof INSIGHT_MEDIA)[number]

const TYPES: Record<Exclude<Media, FileMedia>, string> = {
  'text/markdown': 'text/markdown; charset=utf-8',
  'text/html': 'text/html; charset=utf-8',
  'application/json': 'application/json; charset=utf-8',
}

/** The page contains everything it shows. Nothing in it may run a script or send a request. */
const PAGE_POLICY =
  "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"

const { insight_id: _insight, assignment_id: _assignment, ...previewFields } = InsightView.properties
/** The result of a preview, which has no ids. */
export const PreviewView = Type.Object(previewFields, { title: 'Preview' })

function mediaOf(accept: string | undefined): Media {
  const media = preferred(accept, INSIGHT_MEDIA)
  if (media === null)
    throw new AppError('not_acceptable', `There is ${INSIGHT_MEDIA.join(', ')}: name one in Accept.`)
  return media
}

interface Parts {
  head: InsightHead
  /** Reads the data. Only the JSON form needs it. */
  data(): Promise<InsightData>
}

async function render(
  { services, principal, reply }: Pick<Call, 'services' | 'principal' | 'reply'>,
  { head, data }: Parts,
  media: Media,
  { form, table }: { form: ReadChartForm; table?: string | undefined },
): Promise<string | FastifyReply> {
  if (isFileMedia(media)) return sendFile({ services, principal, reply }, media, { head, data, table })
  void reply.type(TYPES[media])
  if (media === 'text/html') {
    const { html, whole } = await services.pages.of(head, principal.workspace_id)
    // A page without its charts has no tag, because a later one will differ.
    if (!whole) reply.removeHeader('etag')
    return reply.header('content-security-policy', PAGE_POLICY).send(html)
  }
  const drawn = media === 'application/json' || form === 'image'
  const drawings = drawn ? await services.charts.of(head, principal.workspace_id) : []
  const svgs = drawings.map(({ wide }) => wide)
  if (drawn && svgs.length < head.charts.length) reply.removeHeader('etag')
  if (media === 'text/markdown')
    return made(services, principal, head, () => fillCharts(head.markdown, head.charts, form, svgs))
  const stored = await data()
  const json = await made(services, principal, head, () => {
    const marks =
      stored.provenance === null
        ? {}
        : { provenance: JSON.parse(Buffer.from(stored.provenance).toString()) as Mark[] }
    const filled = fillMarked({ markdown: head.markdown, ...marks }, head.charts, form, svgs)
    return insightJson(head, filled, drawings, stored)
  })
  return reply.send(json)
}

/** The characters of Markdown above which an answer is made in turn, so that others are answered meanwhile. */
const LARGE = 200_000

/** Makes an answer: a large one in turn with those of others. */
function made<Answer>(
  { oneByOne }: Pick<Services, 'oneByOne'>,
  { workspace_id }: Pick<Principal, 'workspace_id'>,
  { markdown }: InsightHead,
  make: () => Answer,
): Answer | Promise<Answer> {
  return markdown.length > LARGE ? oneByOne.run(workspace_id, async () => make()) : make()
}

/**
 * Returns the JSON of an `InsightView`, or of a `PreviewView` if the insight has no id. The data are JSON already and
 * are neither parsed nor decoded.
 */
function insightJson(
  head: InsightHead,
  filled: ReturnType<typeof fillMarked>,
  drawings: Drawing[],
  data: InsightData,
): Buffer {
  const { chart_form: _, insight_id, assignment_id, ...view } = head
  const ids = insight_id === '' ? {} : { insight_id, assignment_id }
  const charts = head.charts.map((chart, index) => ({
    ...chart,
    svg: drawings[index]?.wide ?? null,
    figure: chartFigure(chart, drawings[index]),
  }))
  const { tables, analyses, facts, lineage } = data
  const reading = head.reading && readingView(head.reading)
  const text = JSON.stringify({ ...ids, ...view, ...filled, charts, reading })
  const rest = Object.entries({ tables, analyses, facts, lineage })
  const parts = rest.flatMap(([name, bytes]) => [Buffer.from(`,"${name}":`), bytes])
  return Buffer.concat([Buffer.from(text.slice(0, -1)), ...parts, Buffer.from('}')])
}

export const readResult = operation({
  name: 'readResult',
  tag: 'Jobs',
  audit: 'result.read',
  summary: 'Read the result of a completed job',
  description:
    'Answers Markdown, HTML, JSON or PDF, the tables as a workbook (.xlsx) or one as CSV, by the quality values of `Accept`; at equal quality Markdown wins, then HTML. An insight never changes, so each form has its own `ETag`.',
  scope: 'viewer',
  query: Type.Object({
    insight_id: Id,
    charts: Type.Optional(
      Type.Enum([...READ_CHART_FORMS], {
        description:
          "The form of charts in the Markdown (default: the template's). `link`: `![title](chart:id)`, with the chart of that id in the JSON",
      }),
    ),
    table: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z_][A-Za-z0-9_]{0,254}$',
        description: 'The block whose table a workbook or CSV holds; CSV needs it where there are several',
      }),
    ),
  }),
  replies: {
    200: { description: 'The insight', schema: InsightView, media: INSIGHT_MEDIA },
    304: { description: 'If-None-Match names this insight and form' },
  },
  errors: ['not_found', 'not_acceptable', 'workspace_busy', 'stopping'],
  async handle(call) {
    const { services, principal, query, request, reply } = call
    const { workspace_id } = principal
    const media = mediaOf(request.headers.accept)
    const of = { workspace_id, insight_id: query.insight_id }
    const head = await services.store.getInsightHead(of)
    if (!head) throw notFound('insight', query.insight_id)
    const form = query.charts ?? head.chart_form
    const kind = isFileMedia(media) ? FILE_MEDIA[media].ending : media.split('/')[1]
    const tag = `"${head.insight_id}.${kind}.${query.table ?? form}.${services.version}"`
    void reply.header('etag', tag).header('vary', 'Accept').header('cache-control', 'private, no-cache')
    if (matchesTag(request.headers['if-none-match'], tag)) return reply.code(304).send()
    const data = async (): Promise<InsightData> => {
      const found = await services.store.getInsightData(of)
      if (!found) throw notFound('insight', query.insight_id)
      return found
    }
    return render(call, { head, data }, media, { form, table: query.table })
  },
})

const bytesOf = (value: unknown): Buffer => Buffer.from(JSON.stringify(value))

/** Answers the findings of a preview in the forms of `readResult`, without ids. */
export async function sendFindings(
  call: Call<unknown, { charts?: ReadChartForm }>,
  { skipped: _skipped, card: _card, tables, analyses, facts, lineage, provenance, ...findings }: Findings,
  created_at: string,
): Promise<string | FastifyReply> {
  const media = mediaOf(call.request.headers.accept)
  const head: InsightHead = { ...findings, insight_id: '', assignment_id: '', created_at }
  const data = async (): Promise<InsightData> => ({
    tables: Buffer.from(tablesText(tables)),
    analyses: bytesOf(analyses),
    facts: bytesOf(facts),
    lineage: bytesOf(lineage),
    provenance: provenance ? bytesOf(provenance) : null,
  })
  return render(call, { head, data }, media, { form: call.query.charts ?? head.chart_form })
}
