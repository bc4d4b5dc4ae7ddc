/** Many jobs in one call: one template, many sets of variables, each with its own id or its own faults. */

import type { FoundTemplate } from '@assay/engine/reading/lookup'
import { type FieldError, notFound } from '@assay/model/errors'
import { uuidFor } from '@assay/model/ids'
import { JOB_STATUSES, type JobStatus } from '@assay/model/job'
import type { StoredReader } from '@assay/model/readers'
import { Type } from '@assay/model/schema'
import { READER } from '@assay/model/subscription'
import type { NewJob } from '@assay/store/store'
import type { Static } from 'typebox'
import { mailOf } from '../../readers/reader-mail.ts'
import { Id, Name } from '../http/fields.ts'
import { type Call, operation } from '../http/operation.ts'
import { JobReader, noMail, readersOf, refuseOthers } from '../readers/job-reader.ts'
import { Notify, toldOf } from '../subscriptions/notify.ts'
import { runnableTemplate } from '../templates/template-lookup.ts'
import { Metadata } from './jobs.ts'

const ITEMS_MOST = 1000
const BODY_BYTES = 8 * 1024 * 1024
/**
 * The most faults shown of one item. A thousand items with a hundred faults each would make an answer of many
 * megabytes.
 */
const FAULTS_MOST = 10

const Priority = Type.Integer({ minimum: -100, maximum: 100 })

const Item = Type.Object({
  template_vars: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  presence_name: Type.Optional(Name),
  priority: Type.Optional(Priority),
  metadata: Type.Optional(Metadata),
  reader_id: Type.Optional(JobReader),
})

const BatchInput = Type.Object({
  template_id: Type.String({ minLength: 1, maxLength: 200 }),
  items: Type.Array(Item, { minItems: 1, maxItems: ITEMS_MOST }),
  run: Type.Optional(Type.Boolean({ description: 'Queues the created jobs; otherwise they are drafts' })),
  presence_name: Type.Optional(Name),
  notify: Type.Optional(Notify),
  priority: Type.Optional(Priority),
  metadata: Type.Optional(Metadata),
})
type BatchInput = Static<typeof BatchInput>

const ItemFault = Type.Object({ path: Type.String(), message: Type.String() })
type ItemFault = Static<typeof ItemFault>
const ItemFaults = Type.Array(ItemFault)

const Outcome = Type.Object({
  index: Type.Integer({ minimum: 0 }),
  assignment_id: Type.Union([Id, Type.Null()]),
  errors: ItemFaults,
})

const CheckInput = Type.Object({
  template_id: BatchInput.properties.template_id,
  items: BatchInput.properties.items,
})

interface Converted {
  index: number
  item: Static<typeof Item>
  values: NewJob['variables']
  reader: StoredReader | null
  /** True if the reader of the item does not exist. */
  lacksReader: boolean
  errors: ItemFault[]
}

/** Converts the variables of each item and finds its reader, or finds their faults. Throws as `readersOf` does. */
async function convertItems(
  { services, principal }: Pick<Call, 'services' | 'principal'>,
  template: FoundTemplate,
  items: readonly Static<typeof Item>[],
): Promise<Converted[]> {
  const at = (index: number): string => `items.${index}.reader_id`
  const given = items.map(({ template_vars }) => template_vars ?? {})
  const converted = await services.templates.convert(template, given, principal.workspace_id)
  const whose = items.map(({ reader_id }, index) => ({ id: reader_id, values: converted[index]!.values }))
  const readers = await readersOf({ services, principal }, template, whose, at)
  return items.map((item, index) => {
    const { values, errors } = converted[index]!
    const one = readers[index]!
    const lack = 'lack' in one ? [{ path: at(index), message: one.message }] : []
    const reader = 'reader' in one ? one.reader : null
    const lacksReader = 'lack' in one
    return { index, item, values, reader, lacksReader, errors: [...lack, ...shown(errors, index)] }
  })
}

/**
 * Returns the subscriptions that each job notifies, or why its reader cannot get the insight. Throws a 422 if a
 * personal job would notify anybody else.
 */
async function toldBy(
  { services, principal }: Pick<Call, 'services' | 'principal'>,
  { notify }: Pick<BatchInput, 'notify'>,
  template: Pick<FoundTemplate, 'source'>,
  converted: readonly Converted[],
): Promise<(of: Pick<Converted, 'reader' | 'values'>) => Promise<string[] | { message: string } | null>> {
  // An unknown reader is a fault of the item if the job notifies its reader.
  const toReaders = notify?.includes(READER) && converted.some(({ lacksReader }) => lacksReader)
  if (!toReaders && converted.every(({ reader }) => reader === null)) {
    const told = await toldOf(services, principal, { notify, template: template.source, at: 'notify' })
    return async ({ values }) => told(values)
  }
  refuseOthers(notify, 'notify')
  return async ({ reader }) => {
    if (reader === null || !notify || notify.length === 0) return null
    const mail = await mailOf(services, reader)
    return mail === null ? { message: noMail(services, reader) } : [mail]
  }
}

export const checkJobs = operation({
  name: 'checkJobs',
  tag: 'Jobs',
  audit: null,
  summary: 'Check up to 1,000 sets of variables without creating a job',
  description: 'Finds the faults with which the creation of each item would be refused.',
  scope: 'analyst',
  body: CheckInput,
  bodyBytes: BODY_BYTES,
  replies: {
    200: {
      description: 'The faults of each item, in the order of the items',
      schema: Type.Object(
        {
          accepted: Type.Integer({ minimum: 0 }),
          refused: Type.Integer({ minimum: 0 }),
          items: Type.Array(Type.Object({ index: Outcome.properties.index, errors: ItemFaults })),
        },
        { title: 'BatchCheck' },
      ),
    },
  },
  errors: ['not_found', 'reader_missing'],
  async handle({ services, principal, body }) {
    const template = await runnableTemplate(services, principal, body.template_id, 'template_id')
    const converted = await convertItems({ services, principal }, template, body.items)
    const items = converted.map(({ index, errors }) => ({ index, errors }))
    const refused = items.filter(({ errors }) => errors.length > 0).length
    return { accepted: items.length - refused, refused, items }
  },
})

export const createJobs = operation({
  name: 'createJobs',
  tag: 'Jobs',
  audit: 'job.create_many',
  summary: 'Create up to 1,000 jobs from one template',
  description:
    'Creates the items without faults in one transaction, and answers the others with their faults. `presence_name`, `priority` and `metadata` apply to every item that has none of its own (metadata is merged). `notify` is that of every job. All jobs have the `batch_id`.',
  scope: 'analyst',
  body: BatchInput,
  bodyBytes: BODY_BYTES,
  replies: {
    200: {
      description: 'The id or the faults of each item, in the order of the items',
      schema: Type.Object(
        {
          batch_id: Id,
          created: Type.Integer({ minimum: 0 }),
          refused: Type.Integer({ minimum: 0 }),
          items: Type.Array(Outcome),
        },
        { title: 'Batch' },
      ),
    },
  },
  errors: ['not_found', 'reader_missing', 'queue_full', 'workspace_busy'],
  async handle({ services, principal, body, id, request }) {
    const { workspace_id, user_id } = principal
    const template = await runnableTemplate(services, principal, body.template_id, 'template_id')
    const converted = await convertItems({ services, principal }, template, body.items)
    const told = await toldBy({ services, principal }, body, template, converted)
    const at = Number.parseInt(id.replace('-', '').slice(0, 12), 16)
    const jobs: NewJob[] = []
    const items: Static<typeof Outcome>[] = []
    for (const { index, item, values, reader, errors } of converted) {
      const asked = errors.length > 0 ? null : await told({ reader, values })
      const notify = asked && 'message' in asked ? null : asked
      if (asked && 'message' in asked) errors.push({ path: 'notify', ...asked })
      if (errors.length > 0) items.push({ index, assignment_id: null, errors })
      else {
        const assignment_id = uuidFor(at, `${id} ${index}`, index)
        items.push({ index, assignment_id, errors: [] })
        jobs.push({
          assignment_id,
          workspace_id,
          user_id,
          template: template.source,
          variables: values,
          presence_name: item.presence_name ?? body.presence_name ?? null,
          notify,
          priority: item.priority ?? body.priority ?? 0,
          metadata: { ...body.metadata, ...item.metadata },
          batch_id: id,
          reader_id: reader?.reader_id ?? null,
        })
      }
    }
    if (jobs.length > 0) await services.store.createJobs({ jobs, run: body.run ?? false })
    for (const { assignment_id } of jobs)
      request.trace?.job('job created', {
        assignment_id,
        workspace_id,
        template_id: body.template_id,
        batch_id: id,
      })
    return { batch_id: id, created: jobs.length, refused: items.length - jobs.length, items }
  },
})

function shown(errors: FieldError[], index: number): ItemFault[] {
  return errors
    .slice(0, FAULTS_MOST)
    .map(({ path, message }) => ({ path: path.replace(/^payload/, `items.${index}`), message }))
}

const counts = Object.fromEntries(
  JOB_STATUSES.map((status) => [status, Type.Integer({ minimum: 0 })]),
) as Record<JobStatus, ReturnType<typeof Type.Integer>>

export const readBatch = operation({
  name: 'readBatch',
  tag: 'Jobs',
  summary: 'Read the progress of a batch of jobs',
  description: 'List the jobs themselves with `?batch_id=`. Deleted jobs are not counted.',
  scope: 'viewer',
  params: Type.Object({ batch_id: Id }),
  replies: {
    200: {
      description: 'The number of jobs in each state',
      schema: Type.Object(
        {
          batch_id: Id,
          total: Type.Integer({ minimum: 0 }),
          ended: Type.Integer({ minimum: 0, description: 'Completed or canceled' }),
          counts: Type.Object(counts),
        },
        { title: 'BatchProgress' },
      ),
    },
  },
  errors: ['not_found'],
  async handle({ services, principal, params }) {
    const { batch_id } = params
    const rows = await services.store.countBatch({ workspace_id: principal.workspace_id, batch_id })
    if (rows.length === 0) throw notFound('batch', batch_id)
    const count = (status: JobStatus): number => rows.find((row) => row.job_status === status)?.count ?? 0
    const byStatus = Object.fromEntries(JOB_STATUSES.map((status) => [status, count(status)])) as Record<
      JobStatus,
      number
    >
    const total = rows.reduce((sum, row) => sum + row.count, 0)
    return { batch_id, total, ended: byStatus.completed + byStatus.canceled, counts: byStatus }
  },
})
