/** Jobs: create, run, watch until they end, and read their insights in each form. */
import type { CreateJobRequest, Insight, Job, Operations } from './api.generated.ts'
import type { Call, CallOptions } from './call.ts'
import { ClientError, type Send } from './http.ts'
import type { All } from './pages.ts'
import { createWatch } from './watch.ts'

export type JobInput = Omit<CreateJobRequest['payload'], 'type'>

/** The options of `runAndWait` beside the template and its variables. */
export interface RunOptions extends Omit<JobInput, 'template_id' | 'template_vars'> {
  /**
   * The key of the run. A program that was ended within the call waits for the same job with the same key (default: a
   * random key).
   */
  idempotencyKey?: string | undefined
  /** Called with each change and each progress. */
  onChange?: ((job: Job) => void) | undefined
  /** Its abort ends the waiting. The job continues. */
  signal?: AbortSignal | undefined
}

/** A job after its end: completed with an insight, or canceled with an error. */
export type EndedJob = Job &
  (
    | { job_status: 'completed'; insight_id: string; error: null }
    | { job_status: 'canceled'; insight_id: null; error: NonNullable<Job['error']> }
  )

/**
 * Thrown for a job that ended without an insight: it failed or was canceled. `code` is one of the job errors in
 * docs/errors.md.
 */
export class JobFailed extends Error {
  override readonly name = 'JobFailed'
  readonly code: string
  readonly job: Job

  constructor(job: Job) {
    const code = job.error?.code ?? job.job_status
    super(`${code}: ${job.error?.detail ?? 'The job has no insight.'}`)
    this.code = code
    this.job = job
  }
}

type ChartForm = Operations['readResult']['query']['charts']

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

/** Makes the calls that read the forms of an insight. */
function formCalls(send: Send) {
  const result = (
    accept: string,
    insight_id: string,
    charts: ChartForm,
    table?: string,
    signal?: AbortSignal,
  ) =>
    send('GET', '/jobs/result', {
      query: { insight_id, charts, table },
      headers: { accept },
      slow: true,
      signal,
    })
  return {
    markdown: async (insight_id: string, charts?: ChartForm): Promise<string> =>
      (await result('text/markdown', insight_id, charts)).text(),
    html: async (insight_id: string, charts?: ChartForm): Promise<string> =>
      (await result('text/html', insight_id, charts)).text(),
    /** Returns the tables as a workbook (.xlsx), or the table of one block. */
    xlsx: async (insight_id: string, table?: string): Promise<Uint8Array<ArrayBuffer>> =>
      new Uint8Array(await (await result(XLSX, insight_id, undefined, table)).arrayBuffer()),
    /** Returns the table of a block as CSV. The block may be omitted if there is one table. */
    csv: async (insight_id: string, table?: string): Promise<string> =>
      (await result('text/csv', insight_id, undefined, table)).text(),
    /** Returns the bytes of the PDF. */
    pdf: async (insight_id: string): Promise<Uint8Array<ArrayBuffer>> =>
      new Uint8Array(await (await result('application/pdf', insight_id, undefined)).arrayBuffer()),
    json: async (insight_id: string, charts?: ChartForm, signal?: AbortSignal): Promise<Insight> =>
      (await (await result('application/json', insight_id, charts, undefined, signal)).json()) as Insight,
  }
}

export function jobCalls(send: Send, call: Call, all: All) {
  const [create, read] = [call('createJob'), call('jobStatus')]
  const [run, cancel] = [call('runJob', 'harmless'), call('cancelJob', 'harmless')]
  const forms = formCalls(send)
  const payload = (assignment_id: string) => ({ payload: { type: 'assignment' as const, assignment_id } })
  const watch = createWatch(send, read)

  /** Waits until the job has ended. Calls `onChange` with each change and each progress. */
  async function wait(
    assignment_id: string,
    { onChange, signal }: Pick<RunOptions, 'onChange' | 'signal'> = {},
  ): Promise<EndedJob> {
    let last: Job | undefined
    for await (const job of watch(assignment_id, signal)) {
      last = job
      onChange?.(job)
    }
    return last as EndedJob
  }

  /** Creates a job, runs it, waits, and reads its insight. Throws `JobFailed` for a job that ends without one. */
  async function runAndWait(
    template_id: string,
    template_vars: Record<string, unknown> = {},
    { idempotencyKey, onChange, signal, ...others }: RunOptions = {},
  ): Promise<Insight> {
    const body = { payload: { type: 'template' as const, template_id, template_vars, ...others } }
    const assignment_id = await create(body, { idempotencyKey, signal })
    await run(payload(assignment_id), { signal }).catch((error: unknown) => {
      // The job was already run, under the same key or by a try whose answer was lost.
      if (!(error instanceof ClientError && error.code === 'job_final')) throw error
    })
    const job = await wait(assignment_id, { onChange, signal })
    if (job.job_status === 'canceled') throw new JobFailed(job)
    return forms.json(job.insight_id, undefined, signal)
  }

  return {
    watch,
    create: (input: JobInput, options?: CallOptions) =>
      create({ payload: { type: 'template', ...input } }, options),
    createMany: call('createJobs'),
    /** Finds the faults of each item and creates no job. */
    checkMany: call('checkJobs', 'harmless'),
    batch: call('readBatch'),
    run: (assignment_id: string) => run(payload(assignment_id)),
    cancel: (assignment_id: string) => cancel(payload(assignment_id)),
    status: (assignment_id: string, options: { wait?: number } & CallOptions = {}) =>
      read({ assignment_id, ...options }),
    wait,
    runAndWait,
    list: call('listJobs'),
    all: all('listJobs'),
    delete: call('deleteJob'),
    /** Reads the template with which a job was created, with its metrics of that time. */
    template: call('getJobTemplate'),
    ...forms,
  }
}
