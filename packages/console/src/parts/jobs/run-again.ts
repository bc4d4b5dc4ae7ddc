/** Runs a job that has ended again, with the same variables. */
import type { JobInput } from '@assay/client'
import type { JobView } from '@assay/model/job'
import { api, faultsOf } from '../../api.ts'

const GONE = /^payload\.notify\.(\d+)$/

/** Tells whether the job failed, so that nobody was notified of a result. A job that a person canceled did not fail. */
function hasFailed({ error }: JobView): boolean {
  return error !== null && error.code !== 'canceled_by_user'
}

/**
 * Creates a job without the subscriptions that are deleted or disabled by now. `key`: a repeat with the same key
 * creates no further job.
 */
async function create(input: JobInput & { notify: string[] }, key: string | undefined): Promise<string> {
  // Each body has its own idempotency key.
  const options = key === undefined ? {} : { idempotencyKey: `${key}-${input.notify.length}` }
  try {
    return await api().jobs.create(input, options)
  } catch (error) {
    const gone = Object.keys(faultsOf(error)).flatMap((path) => GONE.exec(path)?.[1] ?? [])
    if (gone.length === 0) throw error
    const notify = input.notify.filter((_, index) => !gone.includes(String(index)))
    return create({ ...input, notify }, key)
  }
}

/**
 * Creates and runs the new job. If the old job failed, the new one notifies the same people. Otherwise it notifies
 * nobody, because they already were.
 */
export async function runAgain(job: JobView, key?: string): Promise<JobView> {
  const { template_id, template_vars, presence_name, metadata, reader_id } = job
  const presence = presence_name === null ? {} : { presence_name }
  // A personal insight is sent only to its reader.
  const told = reader_id === null || job.notify.length === 0 ? job.notify : ['reader']
  const notify = hasFailed(job) ? told : []
  const reader = reader_id === null ? {} : { reader_id }
  const input = { template_id, template_vars, metadata, notify, ...presence, ...reader }
  return api().jobs.run(await create(input, key))
}
