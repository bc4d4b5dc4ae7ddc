/** Reads the template with which a job was created, with its partials and metrics of that time. */
import { isMetricPartial, metricPartial, metricsRead } from '@assay/engine/metrics/names'
import { notFound } from '@assay/model/errors'
import { METRIC_ID } from '@assay/model/metric'
import { nullable, Type } from '@assay/model/schema'
import { Id } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { requireJob } from './jobs.ts'

const JobTemplate = Type.Object(
  {
    template_id: Type.String(),
    version: Type.String({ description: 'As in the job: the hash of the source, its partials and metrics' }),
    commit_id: nullable(Type.String({ description: 'The commit of the repository that brought it' })),
    source: Type.String(),
    partials: Type.Record(Type.String(), Type.String(), {
      description: 'The texts that it includes, by name',
    }),
    metrics: Type.Array(
      Type.Object({
        metric_id: Type.String({ pattern: METRIC_ID }),
        source: Type.String({ description: 'The YAML of its definition at that time' }),
      }),
      { description: 'The metrics that the job reads' },
    ),
  },
  { title: 'JobTemplate' },
)

export const getJobTemplate = operation({
  name: 'getJobTemplate',
  tag: 'Jobs',
  summary: 'Read the template with which a job was created',
  description:
    'The text of that time, whatever has become of the template since, and the definitions of the metrics that the job reads.',
  scope: 'viewer',
  params: Type.Object({ assignment_id: Id }),
  replies: { 200: { description: 'The template', schema: JobTemplate } },
  errors: ['not_found'],
  async handle({ services, principal, params: { assignment_id } }) {
    const job = await requireJob(services, principal, assignment_id)
    const { template_id, template_version: version } = job
    const found = await services.store.getTemplateVersion({ template_id, version })
    if (!found) throw notFound('job', assignment_id)
    const { source, partials, commit_id = null } = found
    return {
      template_id,
      version,
      commit_id,
      source,
      partials: Object.fromEntries(Object.entries(partials).filter(([name]) => !isMetricPartial(name))),
      metrics: metricsRead(found, job.variables).map((metric_id) => ({
        metric_id,
        source: partials[metricPartial(metric_id)]!,
      })),
    }
  },
})
