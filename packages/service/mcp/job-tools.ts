/** Tools over jobs: run a template, list jobs, read the result of one, cancel one. */
import { JOB_ERRORS } from '@assay/model/errors'
import { JOB_STATUSES, type JobView } from '@assay/model/job'
import { Type } from '@assay/model/schema'
import { TEMPLATE_ID } from '@assay/model/template'
import { FOR_READER } from './input-schema.ts'
import type { Told } from './told.ts'
import { type AgentTool, type Asked, tool } from './tool.ts'

/** The longest wait for a job in milliseconds. Clients give up after a minute. */
const WAIT_MS = 50_000
const STEP_SECONDS = 5
/** The most characters of an insight in one answer. */
const PART = 40_000

const AssignmentId = Type.String({ format: 'uuid', description: 'The assignment_id of a job' })
const nullableText = Type.Union([Type.String(), Type.Null()])

/** The schema of the answer about one job. */
export const Ended = Type.Object({
  assignment_id: Type.String(),
  template_id: Type.String(),
  job_status: Type.String(),
  insight_id: nullableText,
  markdown: Type.Union([Type.String(), Type.Null()], {
    description: 'The insight, from the character offset',
  }),
  offset: Type.Integer(),
  total: Type.Integer({ description: 'Characters of the whole insight' }),
  error: Type.Union([Type.Object({ code: Type.String(), detail: Type.String() }), Type.Null()]),
})

function unfinished({ assignment_id, template_id, job_status, insight_id, error, progress }: JobView): Told {
  const data = {
    assignment_id,
    template_id,
    job_status,
    insight_id,
    markdown: null,
    offset: 0,
    total: 0,
    error,
  }
  if (error) {
    const next = JOB_ERRORS[error.code]
    return { next: `The job has no insight. ${next}`, data, failed: true }
  }
  const percent = progress ? ` (${progress.percent} %)` : ''
  return {
    next: `The job is ${job_status}${percent}. Call assay_result with its assignment_id.`,
    data,
  }
}

/** Waits for the end of a job and returns its insight. Cancels the job if the caller gives up. */
export async function ended(
  { client, signal, onProgress }: Pick<Asked<unknown>, 'client' | 'signal' | 'onProgress'>,
  assignment_id: string,
  offset = 0,
): Promise<Told> {
  const until = performance.now() + WAIT_MS
  let job = await client.jobs.status(assignment_id)
  while (job.finished_at === null && performance.now() < until) {
    if (signal.aborted) return unfinished(await client.jobs.cancel(assignment_id))
    if (job.progress) await onProgress(job.progress.percent, job.progress.label)
    job = await client.jobs.status(assignment_id, { wait: STEP_SECONDS })
  }
  const { insight_id, template_id, job_status } = job
  if (insight_id === null) return unfinished(job)
  const whole = await client.jobs.markdown(insight_id, 'text')
  const markdown = whole.slice(offset, offset + PART).toWellFormed()
  const rest = whole.length - offset - markdown.length
  const data = {
    assignment_id,
    template_id,
    job_status,
    insight_id,
    offset,
    total: whole.length,
    error: null,
  }
  return {
    next:
      rest > 0
        ? `This is a part of the insight. Call assay_result with offset ${offset + markdown.length} for more.`
        : 'This is the finished report. Quote its numbers as they stand, with what stands against them.',
    data: { ...data, markdown },
    insight: { insight_id, template_id },
  }
}

/** Runs a template and waits for its end. */
export async function runTemplate(
  asked: Pick<Asked<unknown>, 'client' | 'signal' | 'onProgress'>,
  template_id: string,
  template_vars: Record<string, unknown>,
  reader_id?: string,
): Promise<Told> {
  const { client } = asked
  const assignment_id = await client.jobs.create({ template_id, template_vars, reader_id })
  await client.jobs.run(assignment_id)
  return ended(asked, assignment_id)
}

const run = tool({
  name: 'assay_run',
  title: 'Run a template',
  description:
    'Runs a saved template as a job, waits up to 50 seconds, and answers with its insight. The tool of the same name as a template does the same. Where a template is personal, an admin names with reader_id for whom it is run.',
  scope: 'analyst',
  effect: 'adds',
  outside: true,
  input: Type.Object({
    template_id: Type.String({ pattern: TEMPLATE_ID }),
    template_vars: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), { description: 'The values of its variables by name' }),
    ),
    reader_id: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: FOR_READER })),
  }),
  data: Ended,
  run: (asked) => {
    const { template_id, template_vars = {}, reader_id } = asked.given
    return runTemplate(asked, template_id, template_vars, reader_id)
  },
})

const list = tool({
  name: 'assay_jobs',
  title: 'List jobs',
  description: 'The latest jobs, newest first, with their states and errors.',
  scope: 'viewer',
  effect: 'reads',
  input: Type.Object({
    template_id: Type.Optional(
      Type.String({ pattern: TEMPLATE_ID, description: 'Only those of this template' }),
    ),
    job_status: Type.Optional(Type.Enum([...JOB_STATUSES])),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, default: 10 })),
  }),
  data: Type.Object({
    jobs: Type.Array(
      Type.Object({
        assignment_id: Type.String(),
        template_id: Type.String(),
        job_status: Type.String(),
        created_at: Type.String(),
        finished_at: nullableText,
        error: Type.Unknown(),
      }),
    ),
  }),
  async run({ client, given }) {
    let page = await client.jobs.list({ limit: 10, ...given })
    // A page of a filtered list may be empty although more pages follow.
    while (page.items.length === 0 && page.next_cursor !== null)
      page = await client.jobs.list({ limit: 10, ...given, cursor: page.next_cursor })
    const jobs = page.items.map(
      ({ assignment_id, template_id, job_status, created_at, finished_at, error }) => ({
        assignment_id,
        template_id,
        job_status,
        created_at,
        finished_at,
        error,
      }),
    )
    return {
      next:
        jobs.length === 0
          ? 'There are no such jobs: call assay_run to make one.'
          : 'Call assay_result with the assignment_id of a job for its insight.',
      data: { jobs },
    }
  },
})

const result = tool({
  name: 'assay_result',
  title: 'Read the result of a job',
  description: 'The insight of a job as Markdown. Waits up to 50 seconds for a job that has not ended.',
  scope: 'viewer',
  effect: 'reads',
  input: Type.Object({
    assignment_id: AssignmentId,
    offset: Type.Optional(
      Type.Integer({ minimum: 0, default: 0, description: 'Of a long insight: the character to begin with' }),
    ),
  }),
  data: Ended,
  run: (asked) => ended(asked, asked.given.assignment_id, asked.given.offset),
})

const cancel = tool({
  name: 'assay_cancel',
  title: 'Cancel a job',
  description: 'Ends a job that has not ended.',
  scope: 'analyst',
  effect: 'replaces',
  input: Type.Object({ assignment_id: AssignmentId }),
  data: Ended,
  async run({ client, given: { assignment_id } }) {
    const job = await client.jobs.cancel(assignment_id)
    return { ...unfinished(job), next: 'The job is canceled. Call assay_jobs to see others.', failed: false }
  },
})

export const JOB_TOOLS: readonly AgentTool[] = [run, list, result, cancel]
