/** Operations on metrics: list, read, put, delete, check. */

import { metricNameIn } from '@assay/engine/metrics/names'
import { asMetricFaults, type MetricHead, metricReader } from '@assay/engine/metrics/reader'
import { type CatalogMetric } from '@assay/engine/reading/catalog'
import { errorsOf } from '@assay/engine/reading/lookup'
import { tagOfSource } from '@assay/model/entity-tag'
import { AppError, notFound } from '@assay/model/errors'
import { METRIC_EXAMPLE, METRIC_ID, MetricView } from '@assay/model/metric'
import { nullable, Type } from '@assay/model/schema'
import { Fault, faultToFieldError } from '@assay/model/template'
import { downloadFaults } from '../../outgoing/host-faults.ts'
import { storedMetrics } from '../../templates/own-metrics.ts'
import type { Services } from '../dependencies.ts'
import { LIMIT_DEFAULT, pageOf, pageQuery } from '../http/fields.ts'
import { type Call, operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { connectionsFor, rootsOf } from '../templates/template-lookup.ts'
import { noteReading, notTried } from '../templates/unstored.ts'

const MetricPath = Type.Object({ metric_id: Type.String({ pattern: METRIC_ID }) })
const EXAMPLE = `metric: revenue
label: Revenue
description: Paid orders net of refunds
source: { file: uploads/orders.csv }
time: { column: paid_at, grain: day, zone: Europe/Berlin }
value: sum(amount - refunded)
where: status = 'paid'
unit: EUR
fmt: eur0
good: up
target: { value: 1000000, per: month }
dimensions: [country]
tests: [ { not_null: amount }, { fresh: 2d } ]
`
const Source = Type.String({
  minLength: 1,
  description: 'The YAML of a metric (docs/metrics.md)',
  examples: [EXAMPLE],
})
const WithSource = Type.Object(
  {
    ...MetricView.properties,
    source: Type.String({ description: 'The YAML of its definition', examples: [EXAMPLE] }),
  },
  { title: 'MetricWithSource', examples: [{ ...METRIC_EXAMPLE, source: EXAMPLE }] },
)

function speaksOf({ metric_id, label, description }: MetricView, words: string): boolean {
  const text = [metric_id, label, description ?? ''].join('\n').toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

/**
 * Returns the metrics that the workspace has put and that `fits` accepts, by id. A metric that this version of the
 * program cannot read is left out.
 */
async function putMetrics(
  { services, principal }: Pick<Call, 'services' | 'principal'>,
  { after, most, fits }: { after: string; most: number; fits: (view: MetricView) => boolean },
): Promise<MetricView[]> {
  const found: MetricView[] = []
  const { workspace_id } = principal
  for await (const page of storedMetrics(services, workspace_id, after)) {
    const heads = await services.metricReader.read(page, workspace_id)
    found.push(...heads.flatMap(({ view }) => (view && fits(view) ? [view] : [])))
    if (found.length >= most) break
  }
  return found
}

/** Returns each with what is kept of its days. */
async function withKept(
  { services: { store, files }, principal: { workspace_id } }: Pick<Call, 'services' | 'principal'>,
  views: readonly MetricView[],
): Promise<MetricView[]> {
  const metrics = views.map(({ metric_id }) => metric_id)
  const found = await store.keptOfMetrics({ workspace_id, metrics })
  if (found.length === 0) return [...views]
  const most_bytes = (await store.getWorkspace(workspace_id))?.max_files_bytes ?? files.limits.quota
  const kept = new Map(found.map(({ metric, ...of }) => [metric, { ...of, most_bytes }]))
  return views.map((view) => ({ ...view, kept: kept.get(view.metric_id) ?? null }))
}

/** Returns the metrics of files, without those of the repository that the workspace has put itself. */
async function ofFiles({
  services: { catalog, store },
  principal: { workspace_id },
}: Pick<Call, 'services' | 'principal'>): Promise<CatalogMetric[]> {
  const all = catalog.metrics()
  const metric_ids = all.filter(({ origin }) => origin === 'git').map(({ view }) => view.metric_id)
  if (metric_ids.length === 0) return all
  const own = new Set(
    (await store.findMetrics({ workspace_id, metric_ids })).map(({ metric_id }) => metric_id),
  )
  return all.filter(({ origin, view }) => origin !== 'git' || !own.has(view.metric_id))
}

export const listMetrics = operation({
  name: 'listMetrics',
  tag: 'Metrics',
  summary: 'List metrics by id',
  description:
    'Lists the metrics of the folders and of the workspace. Of two with one id, the one of a folder is used.',
  scope: 'viewer',
  query: pageQuery({
    q: Type.Optional(Type.String({ maxLength: 200, description: 'Words in id, label and description' })),
  }),
  replies: { 200: { description: 'A page of metrics', schema: pageOf(MetricView) } },
  errors: ['workspace_busy', 'preview_failed'],
  async handle(call) {
    const { q = '', limit = LIMIT_DEFAULT, cursor: after = '' } = call.query
    if (after !== '' && !new RegExp(METRIC_ID).test(after))
      throw invalid([{ path: 'cursor', message: 'must be a next_cursor of this list' }])
    const all = (await ofFiles(call)).map(({ view }) => view)
    const known = new Set(all.map(({ metric_id }) => metric_id))
    const ofFolders = all.filter((view) => view.metric_id > after && speaksOf(view, q))
    const fits = (view: MetricView): boolean => !known.has(view.metric_id) && speaksOf(view, q)
    const put = await putMetrics(call, { after, most: limit + 1, fits })
    const views = [...ofFolders, ...put].toSorted((a, b) => (a.metric_id < b.metric_id ? -1 : 1))
    const items = await withKept(call, views.slice(0, limit))
    return { items, next_cursor: views.length > limit ? items.at(-1)!.metric_id : null }
  },
})

export const getMetric = operation({
  name: 'getMetric',
  tag: 'Metrics',
  summary: 'Read a metric with its definition',
  scope: 'viewer',
  params: MetricPath,
  replies: { 200: { description: 'The metric', schema: WithSource } },
  errors: ['not_found', 'workspace_busy', 'preview_failed'],
  async handle(call) {
    const {
      services,
      principal: { workspace_id },
      params: { metric_id },
      reply,
    } = call
    const kept = async (view: MetricView): Promise<MetricView> => (await withKept(call, [view]))[0]!
    const entry = services.catalog.metrics().find(({ view }) => view.metric_id === metric_id)
    const mayBePut = entry === undefined || entry.origin === 'git'
    const put = mayBePut ? await services.store.getMetric({ workspace_id, metric_id }) : null
    const source = put?.source ?? entry?.source
    if (source !== undefined) void reply.header('etag', tagOfSource(source))
    if (entry && !put) return { ...(await kept(entry.view)), source: entry.source }
    if (!put) throw notFound('metric', metric_id)
    const { view } = await readHead(services, workspace_id, metric_id, put.source)
    return { ...(await kept(view)), source: put.source }
  },
})

/** Reads the front matter of a metric. Throws a 422 with the faults, each with line and column. */
async function readHead(
  { metricReader: reader }: Services,
  workspace_id: string,
  metric_id: string,
  source: string,
): Promise<MetricHead & { view: MetricView }> {
  const [head] = await reader.read([{ metric_id, source }], workspace_id)
  const { view, faults } = head!
  if (view) return { ...head!, view }
  throw invalid(errorsOf(faults).map(faultToFieldError))
}

async function requireOwn(
  { catalog, repository, store }: Services,
  workspace_id: string,
  metric_id: string,
): Promise<void> {
  const entry = catalog.metrics().find(({ view }) => view.metric_id === metric_id)
  if (!entry) return
  if (entry.origin !== 'git')
    throw new AppError(
      'metric_read_only',
      `${metric_id} is a ${entry.origin} metric: change its file, or use another id.`,
    )
  if (await store.getMetric({ workspace_id, metric_id })) return
  throw new AppError(
    'metric_read_only',
    `${metric_id} comes from ${repository?.name ?? 'a repository'}, file ${entry.file}: push a change there, or use another id.`,
  )
}

export const putMetric = operation({
  name: 'putMetric',
  tag: 'Metrics',
  audit: 'metric.put',
  summary: 'Create or replace a metric of the workspace',
  description:
    'Answers faults with line and column. A job keeps the definitions with which it was created; later jobs read the new one.',
  scope: 'publisher',
  params: MetricPath,
  body: Source,
  bodyType: 'application/yaml',
  otherBodyType: 'text/plain',
  replies: {
    200: { description: 'The metric was replaced', schema: MetricView },
    201: { description: 'The metric is new', schema: MetricView },
  },
  errors: ['metric_read_only', 'conflict', 'workspace_busy', 'preview_failed'],
  async handle({ services, principal, params: { metric_id }, body, reply }) {
    const { workspace_id, user_id } = principal
    await requireOwn(services, workspace_id, metric_id)
    const { view, file, lines } = await readHead(services, workspace_id, metric_id, body)
    const source = { connection: null, file, line: lines.source ?? 1, column: 1 }
    const faults = await downloadFaults({ ledger: services.ledger, workspace_id }, [source], 'metric')
    if (faults.length > 0) throw invalid(faults)
    const made = await services.store.putMetric({ workspace_id, metric_id, source: body, user_id })
    if (made === 'new') reply.code(201).header('location', `/v1alpha/metrics/${metric_id}`)
    void reply.header('etag', tagOfSource(body))
    return view
  },
})

export const deleteMetric = operation({
  name: 'deleteMetric',
  tag: 'Metrics',
  audit: 'metric.delete',
  summary: 'Delete a metric of the workspace',
  description:
    'Jobs that were created with it stay, and the days that are kept of it go. A template that names it creates no job until it is put again.',
  scope: 'publisher',
  params: MetricPath,
  replies: { 204: { description: 'The metric is deleted' } },
  errors: ['not_found', 'metric_read_only'],
  async handle({ services, principal: { workspace_id }, params: { metric_id }, reply }) {
    await requireOwn(services, workspace_id, metric_id)
    if (!(await services.store.deleteMetric({ workspace_id, metric_id }))) throw notFound('metric', metric_id)
    return reply.code(204).send()
  },
})

export const checkMetric = operation({
  name: 'checkMetric',
  tag: 'Metrics',
  // The handler records the reading before the columns are read.
  audit: null,
  summary: 'Find the faults of a metric, also against the columns of its data',
  scope: 'analyst',
  body: Source,
  bodyType: 'application/yaml',
  otherBodyType: 'text/plain',
  replies: {
    200: {
      description: 'The faults (none: the metric may be put) and what was read',
      schema: Type.Object({ faults: Type.Array(Fault), metric: nullable(MetricView) }),
    },
  },
  errors: ['preview_failed', 'workspace_busy'],
  async handle(call) {
    const { services, principal, body: source, signal } = call
    const { workspace_id } = principal
    const definition = { metric_id: metricNameIn(source) ?? 'draft', source }
    const [head] = await services.metricReader.read([definition], workspace_id)
    const { view, lines, faults } = head!
    if (!view) return { faults, metric: null }
    const template = metricReader(definition)
    const { found } = await services.templates.read(template, workspace_id)
    if (!found) return { faults, metric: view }
    noteReading(call, 'metric.check', found)
    const task = { kind: 'check' as const, template, roots: await rootsOf(services, principal) }
    const connections = connectionsFor(services, principal, found, true)
    const seen = await services.pool
      .check(task, { workspace_id, signal: signal(), connections })
      .catch(notTried)
    return { faults: [...faults, ...asMetricFaults(seen, lines)], metric: view }
  },
})
