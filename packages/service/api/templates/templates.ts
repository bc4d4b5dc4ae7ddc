/** Operations on templates: list, read, put, delete, check, preview, and the possible values of a variable. */

import { metricNames, metricVariables } from '@assay/engine/metrics/names'
import { sourceOf } from '@assay/engine/reading/lookup'
import type { Description } from '@assay/engine/run/protocol'
import { tagOfSource } from '@assay/model/entity-tag'
import { AppError, notFound } from '@assay/model/errors'
import { READ_CHART_FORMS } from '@assay/model/insight'
import { nullable, Type } from '@assay/model/schema'
import { Fault, TEMPLATE_ID, TemplateView, type Variable, VariableView } from '@assay/model/template'
import type { Principal } from '@assay/model/token'
import { downloadFaults } from '../../outgoing/host-faults.ts'
import { nameNearest, ownSource, readOnce, withMetrics } from '../../templates/own-metrics.ts'
import type { Services } from '../dependencies.ts'
import { type Call, operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { INSIGHT_MEDIA, PreviewView, sendFindings } from '../jobs/result.ts'
import { previewReader } from '../readers/job-reader.ts'
import {
  connectionsFor,
  readSource,
  requireReadable,
  requireTemplate,
  rootsOf,
  variablesOf,
} from './template-lookup.ts'
import { noteReading, notTried, runUnstored } from './unstored.ts'

const TemplatePath = Type.Object({ template_id: Type.String({ pattern: TEMPLATE_ID }) })
const Source = Type.String({ minLength: 1, description: 'The Markdown of a template' })
const WithSource = Type.Object(
  { ...TemplateView.properties, source: Type.String() },
  { title: 'TemplateWithSource' },
)

async function allTemplates({
  services,
  principal,
}: Pick<Call, 'services' | 'principal'>): Promise<TemplateView[]> {
  const { workspace_id } = principal
  const all = await services.store.listTemplates(workspace_id)
  const own = new Set(all.map(({ template_id }) => template_id))
  const entries = services.catalog
    .list()
    .filter(({ origin, view }) => origin !== 'git' || !own.has(view.template_id))
  const known = new Set(entries.map(({ view }) => view.template_id))
  const metrics = readOnce(services)
  const ofFolders = entries.map(async (entry) => {
    const source = await withMetrics(metrics, workspace_id, entry.source)
    return source === entry.source ? entry.view : { ...entry.view, version: source.version }
  })
  const stored = all
    .filter(({ template_id }) => !known.has(template_id))
    .map(({ template_id, source }) => ownSource(metrics, workspace_id, template_id, source))
  // A template that this version of the program cannot read is left out.
  const put = (await services.templates.readAll(await Promise.all(stored), workspace_id))
    .map((found) => found?.view)
    .filter((view) => view !== undefined)
  const views = [...(await Promise.all(ofFolders)), ...put]
  return views.toSorted((a, b) => (a.template_id < b.template_id ? -1 : 1))
}

function speaksOf(view: TemplateView, words: string): boolean {
  const text = [view.template_id, view.title, view.description ?? '', ...view.tags].join('\n').toLowerCase()
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}

export const listTemplates = operation({
  name: 'listTemplates',
  tag: 'Templates',
  summary: 'List templates',
  description: 'Lists the templates of the folders and of the workspace by id.',
  scope: 'viewer',
  query: Type.Object({
    q: Type.Optional(
      Type.String({ maxLength: 200, description: 'Words in id, title, description and tags' }),
    ),
    tag: Type.Optional(Type.String({ minLength: 1, maxLength: 100 })),
  }),
  replies: { 200: { description: 'All templates', schema: Type.Array(TemplateView) } },
  async handle(call) {
    const { q = '', tag } = call.query
    const { templates } = call.principal
    const views = await allTemplates(call)
    return views.filter(
      (view) =>
        speaksOf(view, q) &&
        (tag === undefined || view.tags.includes(tag)) &&
        (templates === null || templates.includes(view.template_id)),
    )
  },
})

export const getTemplate = operation({
  name: 'getTemplate',
  tag: 'Templates',
  summary: 'Read a template with its source',
  scope: 'viewer',
  params: TemplatePath,
  replies: { 200: { description: 'The template', schema: WithSource } },
  errors: ['not_found'],
  async handle({ services, principal, params, reply }) {
    // A template with faults is answered too, so that it can be mended.
    const { view, source } = await requireReadable(services, principal, params.template_id)
    void reply.header('etag', tagOfSource(source.source))
    return { ...view, source: source.source }
  },
})

/**
 * Throws `template_read_only` if a file has the id. A template that the workspace put before the repository had a
 * file of that id stays changeable.
 */
async function requireOwn(
  { catalog, repository, store }: Services,
  { workspace_id }: Principal,
  template_id: string,
): Promise<void> {
  const entry = catalog.get(template_id)
  if (!entry) return
  if (entry.origin !== 'git')
    throw new AppError(
      'template_read_only',
      `${template_id} is a ${entry.origin} template: change its file, or use another id.`,
    )
  if (await store.getTemplate({ workspace_id, template_id })) return
  throw new AppError(
    'template_read_only',
    `${template_id} comes from ${repository?.name ?? 'a repository'}, file ${entry.file}: push a change there, or use another id.`,
  )
}

export const putTemplate = operation({
  name: 'putTemplate',
  tag: 'Templates',
  audit: 'template.put',
  summary: 'Create or replace a template of the workspace',
  description: 'Answers faults with line and column. A job keeps the version with which it was created.',
  scope: 'publisher',
  params: TemplatePath,
  body: Source,
  bodyType: 'text/markdown',
  replies: {
    200: { description: 'The template was replaced', schema: TemplateView },
    201: { description: 'The template is new', schema: TemplateView },
  },
  errors: ['template_read_only', 'conflict'],
  async handle({ services, principal, params, body, reply }) {
    const { template_id } = params
    await requireOwn(services, principal, template_id)
    const { template, view } = await readSource(services, principal, sourceOf(template_id, body))
    if (template.template_id !== template_id)
      throw invalid([
        {
          path: 'template',
          message: `has the id ${template.template_id} in its front matter: use the same id in the path`,
        },
      ])
    const { workspace_id, user_id } = principal
    const faults = await downloadFaults(
      { ledger: services.ledger, workspace_id },
      template.sources,
      'template',
    )
    if (faults.length > 0) throw invalid(faults)
    const made = await services.store.putTemplate({ workspace_id, template_id, source: body, user_id })
    if (made === 'new') reply.code(201).header('location', `/v1alpha/jobs/templates/${template_id}`)
    void reply.header('etag', tagOfSource(body))
    return view
  },
})

export const deleteTemplate = operation({
  name: 'deleteTemplate',
  tag: 'Templates',
  audit: 'template.delete',
  summary: 'Delete a template of the workspace',
  description: 'Jobs that were created from it stay.',
  scope: 'publisher',
  params: TemplatePath,
  replies: { 204: { description: 'The template is deleted' } },
  errors: ['not_found', 'template_read_only'],
  async handle({ services, principal, params, reply }) {
    const { template_id } = params
    await requireOwn(services, principal, template_id)
    const { workspace_id } = principal
    if (!(await services.store.deleteTemplate({ workspace_id, template_id })))
      throw notFound('template', template_id)
    return reply.code(204).send()
  },
})

export const checkTemplate = operation({
  name: 'checkTemplate',
  tag: 'Templates',
  // The handler records the reading before the columns are read.
  audit: null,
  summary: 'Find the faults of a template without running it',
  scope: 'analyst',
  body: Source,
  bodyType: 'text/markdown',
  replies: {
    200: {
      description:
        'The faults (none: the template may run), the declared variables, and what a reader must have',
      schema: Type.Object({
        faults: Type.Array(Fault),
        variables: Type.Array(VariableView),
        personal: TemplateView.properties.personal,
        reader_attributes: TemplateView.properties.reader_attributes,
      }),
    },
  },
  errors: ['preview_failed', 'workspace_busy'],
  async handle(call) {
    const { services, principal, body, signal } = call
    const { workspace_id } = principal
    const template = await ownSource(services, workspace_id, 'draft', body)
    const { found: read, faults } = await services.templates.read(template, workspace_id)
    if (read === null)
      return {
        faults: await nameNearest(services, workspace_id, faults),
        variables: [],
        personal: false,
        reader_attributes: [],
      }
    noteReading(call, 'template.check', read)
    const roots = await rootsOf(services, principal)
    const found = await services.pool
      .check(
        { kind: 'check', template, roots },
        { workspace_id, signal: signal(), connections: connectionsFor(services, principal, read, true) },
      )
      .catch(notTried)
    const { variables, personal, reader_attributes } = read.view
    return {
      faults: await nameNearest(services, workspace_id, found),
      variables,
      personal,
      reader_attributes,
    }
  },
})

export const previewTemplate = operation({
  name: 'previewTemplate',
  tag: 'Templates',
  // The handler records the reading before the sources are read.
  audit: null,
  summary: 'Run a template without storing anything',
  description: 'Answers like the result of a job. Faults of the template are a 422 with line and column.',
  scope: 'analyst',
  query: Type.Object({ charts: Type.Optional(Type.Enum([...READ_CHART_FORMS])) }),
  body: Type.Object({
    source: Source,
    template_vars: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    reader: Type.Optional(
      nullable(
        Type.Record(Type.String(), Type.Unknown(), {
          description:
            'For whom a personal template is run: {"id": "ada", "region": "north"}. An admin who sends the id alone previews for the stored reader',
        }),
      ),
    ),
  }),
  replies: { 200: { description: 'The result', schema: PreviewView, media: INSIGHT_MEDIA } },
  errors: ['preview_failed', 'not_acceptable', 'stopping', 'workspace_busy'],
  async handle(call) {
    const { services, principal, body } = call
    const draft = await readSource(services, principal, sourceOf('draft', body.source))
    const given = body.template_vars ?? {}
    const variables = await variablesOf(services, principal, draft, given, 'template_vars')
    const reader = await previewReader(call, draft, body.reader ?? null)
    noteReading(call, 'template.preview', draft)
    const { findings, started_at } = await runUnstored(call, draft, variables, reader)
    return sendFindings(call, findings, started_at)
  },
})

function choicesOf(variable: Variable, { sources, files }: Description): unknown[] {
  if (variable.type === 'file') return files
  const source = variable.of === null ? undefined : sources[variable.of]
  if (variable.type !== 'column' || !source) return []
  if ('error' in source) throw new AppError('preview_failed', `source_unavailable: ${source.error}`)
  return source.columns.map((column) => column.name)
}

export const listChoices = operation({
  name: 'listChoices',
  tag: 'Templates',
  summary: 'List the possible values of a variable',
  description:
    'Lists the values of an `enum`, both values of a boolean, the columns of the source of a column variable, the data files of a file variable, and the metrics where a `metric` fence names the variable.',
  scope: 'viewer',
  params: TemplatePath,
  query: Type.Object({ variable: Type.String({ minLength: 1, maxLength: 200 }) }),
  replies: {
    200: {
      description: 'The values; empty: any value of the type',
      schema: Type.Object({ choices: Type.Array(Type.Unknown()) }),
    },
  },
  errors: ['not_found', 'preview_failed', 'workspace_busy'],
  async handle(call) {
    const { services, principal, params, query, signal } = call
    const found = await requireTemplate(services, principal, params.template_id)
    const { template, source } = found
    const variable = template.variables.find(({ name }) => name === query.variable)
    if (!variable) throw invalid([{ path: 'variable', message: 'is not a variable of the template' }])
    if (variable.enum) return { choices: variable.enum }
    if (variable.type === 'boolean') return { choices: [true, false] }
    if (metricVariables(source.source).includes(variable.name))
      return { choices: metricNames(source.partials) }
    const kind = variable.type === 'list' ? variable.items : variable.type
    if (kind !== 'column' && kind !== 'file') return { choices: [] }
    const { workspace_id } = principal
    noteReading(call, 'template.choices', found)
    const task = { kind: 'describe' as const, template: source, roots: await rootsOf(services, principal) }
    const connections = connectionsFor(services, principal, found, false)
    const description = await services.pool
      .describe(task, { workspace_id, signal: signal(), connections })
      .catch(notTried)
    return { choices: choicesOf({ ...variable, type: kind }, description) }
  },
})
