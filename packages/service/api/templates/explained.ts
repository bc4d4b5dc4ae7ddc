/** The operation that explains a template: which statement would run where. */
import { sourceOf } from '@assay/engine/reading/lookup'
import { iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { Explained } from '@assay/model/explained'
import { nullable, Type } from '@assay/model/schema'
import { operation } from '../http/operation.ts'
import { previewReader } from '../readers/job-reader.ts'
import { connectionsFor, readSource, rootsOf, variablesOf } from './template-lookup.ts'
import { noteReading, notTried } from './unstored.ts'

export const explainTemplate = operation({
  name: 'explainTemplate',
  tag: 'Templates',
  // The handler records the reading before the sources are read.
  audit: null,
  summary: 'Show what a run of a template would do where',
  description:
    'Answers of each source and block whether it runs in its database or here, with the SQL that a database gets, and the rows and bytes that would move. Databases count those, and give a sample of rows that stay. Faults of the template are a 422 with line and column.',
  scope: 'analyst',
  body: Type.Object({
    source: Type.String({ minLength: 1, description: 'The Markdown of a template' }),
    template_vars: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
    reader: Type.Optional(
      nullable(
        Type.Record(Type.String(), Type.Unknown(), {
          description: 'For whom a personal template is explained, as for a preview',
        }),
      ),
    ),
  }),
  replies: { 200: { description: 'What runs where', schema: Explained } },
  errors: ['preview_failed', 'workspace_busy'],
  async handle(call) {
    const { services, principal, body, signal } = call
    const draft = await readSource(services, principal, sourceOf('draft', body.source))
    const variables = await variablesOf(services, principal, draft, body.template_vars ?? {}, 'template_vars')
    const reader = await previewReader(call, draft, body.reader ?? null)
    noteReading(call, 'template.explain', draft)
    const result = await services.pool
      .explain(
        {
          kind: 'explain',
          template: draft.source,
          variables,
          started_at: iso(services.clock.now()),
          reader,
          roots: await rootsOf(services, principal),
        },
        {
          workspace_id: principal.workspace_id,
          signal: signal(),
          connections: connectionsFor(services, principal, draft, true),
        },
      )
      .catch(notTried)
    if (result.status === 'done') return result.explained
    throw new AppError('preview_failed', `${result.error.code}: ${result.error.detail}`)
  },
})
