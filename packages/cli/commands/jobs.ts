/** assay jobs ...: the reference workflow from the shell. */
import type { Client } from '@assay/client'
import { CHART_FORMS, type ChartForm } from '@assay/model/insight'
import { JOB_STATUSES, type JobStatus, type JobView } from '@assay/model/job'
import { type Call, type Command, JSON_OPTION, numberOption, type Option, pairsOption } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT, ExitError, UsageError } from '../exit.ts'
import { out, printJson, progressLine, say, table } from '../print.ts'

export const VARIABLES: Record<string, Option> = {
  var: {
    type: 'string',
    multiple: true,
    value: 'NAME=VALUE',
    doc: 'A template variable; repeat it for more',
  },
  presence: { type: 'string', value: 'NAME', doc: 'Notify only the webhooks of this presence_name' },
  priority: { type: 'string', value: 'N', doc: 'From -100 to 100, higher first' },
  metadata: { type: 'string', multiple: true, value: 'NAME=VALUE', doc: 'Given back in status and events' },
}

const FORMAT: Record<string, Option> = {
  format: { type: 'string', value: 'FORM', doc: 'markdown (default), json or html' },
  charts: { type: 'string', value: 'FORM', doc: CHART_FORMS.join(', ') },
}

/** One of a closed list given as an option. */
export function choice<T extends string>(call: Call, name: string, allowed: readonly T[]): T | undefined {
  const value = call.text(name)
  if (value === undefined || allowed.includes(value as T)) return value as T | undefined
  throw new UsageError(`--${name} takes ${allowed.join(', ')}, not ${JSON.stringify(value)}.`)
}

function createFrom(client: Client, call: Call): Promise<string> {
  const presence_name = call.text('presence')
  const priority = numberOption(call, 'priority', -100, 100)
  return client.jobs.create({
    template_id: call.operands[0]!,
    template_vars: pairsOption(call, 'var'),
    ...(presence_name === undefined ? {} : { presence_name }),
    ...(priority === undefined ? {} : { priority }),
    metadata: pairsOption(call, 'metadata'),
  })
}

/** Shows the progress until the job has ended. */
export async function follow(client: Client, assignment_id: string, signal: AbortSignal): Promise<JobView> {
  const line = progressLine()
  try {
    return await client.jobs.wait(assignment_id, {
      signal,
      onChange: (job) => line.show(job.job_status, job.progress),
    })
  } finally {
    line.end()
  }
}

function endOf(job: JobView): number {
  if (job.job_status === 'completed') return EXIT.ok
  if (job.error) say(`assay: ${job.error.code}: ${job.error.detail}`)
  return EXIT.failed
}

async function printResult(client: Client, insight_id: string, call: Call): Promise<void> {
  const charts = choice<ChartForm>(call, 'charts', CHART_FORMS)
  const format = choice(call, 'format', ['markdown', 'json', 'html'] as const) ?? 'markdown'
  if (format === 'json') printJson(await client.jobs.json(insight_id, charts))
  else out(await client.jobs[format](insight_id, charts))
}

function describe(job: JobView): string {
  const rows: [string, string | number | null][] = [
    ['assignment_id', job.assignment_id],
    ['job_status', job.job_status],
    ['template', `${job.template_id} (${job.template_version})`],
    ['insight_id', job.insight_id],
    ['progress', `${Math.round(job.progress.percent)} % ${job.progress.label}`.trim()],
    ['attempt', job.attempt],
    ['created_at', job.created_at],
    ['started_at', job.started_at],
    ['finished_at', job.finished_at],
    ['error', job.error ? `${job.error.code}: ${job.error.detail}` : null],
  ]
  return rows
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.padEnd(14)} ${value}\n`)
    .join('')
}

function warnUnserved(served: boolean): void {
  if (!served) say('No service runs on this home: the job waits until one is started with "assay serve".')
}

const LIST: Command = {
  name: 'jobs list',
  operands: '',
  summary: 'List jobs, newest first',
  options: {
    json: JSON_OPTION,
    status: { type: 'string', value: 'STATE', doc: JOB_STATUSES.join(', ') },
    template: { type: 'string', value: 'ID', doc: 'Only jobs of this template' },
    schedule: { type: 'string', value: 'ID', doc: 'Only jobs of this schedule' },
    batch: { type: 'string', value: 'ID', doc: 'Only jobs of this bulk creation' },
    limit: { type: 'string', value: 'N', doc: 'At most so many, up to 200 (default 20)' },
    cursor: { type: 'string', value: 'CURSOR', doc: 'The next_cursor of an earlier list' },
  },
  run: (call) =>
    withClient(call, async (client) => {
      const job_status = choice<JobStatus>(call, 'status', JOB_STATUSES)
      const template_id = call.text('template')
      const schedule_id = call.text('schedule')
      const batch_id = call.text('batch')
      const cursor = call.text('cursor')
      const page = await client.jobs.list({
        limit: numberOption(call, 'limit', 1, 200) ?? 20,
        ...(job_status ? { job_status } : {}),
        ...(template_id ? { template_id } : {}),
        ...(schedule_id ? { schedule_id } : {}),
        ...(batch_id ? { batch_id } : {}),
        ...(cursor ? { cursor } : {}),
      })
      if (call.on('json')) printJson(page)
      else {
        const rows = page.items.map((job) => [
          job.assignment_id,
          job.job_status,
          job.template_id,
          job.created_at,
          job.error?.code ?? null,
        ])
        out(table(['ASSIGNMENT', 'STATUS', 'TEMPLATE', 'CREATED', 'ERROR'], rows))
        if (page.next_cursor) say(`More: --cursor ${page.next_cursor}`)
      }
      return EXIT.ok
    }),
}

const CREATE: Command = {
  name: 'jobs create',
  operands: 'TEMPLATE',
  summary: 'Create a job (a draft) and print its id',
  options: { ...VARIABLES, json: JSON_OPTION },
  run: (call) =>
    withClient(call, async (client) => {
      const assignment_id = await createFrom(client, call)
      if (call.on('json')) printJson(await client.jobs.status(assignment_id))
      else out(`${assignment_id}\n`)
      return EXIT.ok
    }),
}

/** A UUID is a job to run; anything else is a template to make one from. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const RUN: Command = {
  name: 'jobs run',
  operands: 'ID|TEMPLATE',
  summary: 'Run a job, or create one from a template and run it; --wait prints its insight',
  details: 'Without --wait it prints the id of the job that is now queued.',
  options: {
    ...VARIABLES,
    ...FORMAT,
    wait: { type: 'boolean', short: 'w', doc: 'Wait until it has ended and print the insight' },
    json: JSON_OPTION,
  },
  run: (call) =>
    withClient(call, async (client, { served }) => {
      const [given] = call.operands
      const assignment_id = UUID.test(given!) ? given! : await createFrom(client, call)
      const job = await client.jobs.run(assignment_id)
      if (!served) warnUnserved(served)
      if (!call.on('wait') || !served) {
        if (call.on('json')) printJson(job)
        else out(`${assignment_id}\n`)
        return EXIT.ok
      }
      const ended = await follow(client, assignment_id, call.signal)
      if (ended.insight_id && !call.on('json')) await printResult(client, ended.insight_id, call)
      if (call.on('json')) printJson(ended)
      return endOf(ended)
    }),
}

const STATUS: Command = {
  name: 'jobs status',
  operands: 'ID',
  summary: 'Show a job',
  options: { json: JSON_OPTION },
  run: (call) =>
    withClient(call, async (client) => {
      const job = await client.jobs.status(call.operands[0]!)
      if (call.on('json')) printJson(job)
      else out(describe(job))
      return EXIT.ok
    }),
}

const WAIT: Command = {
  name: 'jobs wait',
  operands: 'ID',
  summary: 'Wait until a job has ended: 0 completed, 1 canceled, 75 not in time',
  options: {
    json: JSON_OPTION,
    timeout: { type: 'string', value: 'SECONDS', doc: 'Give up after so long (default: never)' },
  },
  run: (call) =>
    withClient(call, async (client, { served }) => {
      warnUnserved(served)
      const seconds = numberOption(call, 'timeout', 1, 1_000_000)
      const signal = seconds
        ? AbortSignal.any([call.signal, AbortSignal.timeout(seconds * 1000)])
        : call.signal
      try {
        const job = await follow(client, call.operands[0]!, signal)
        if (call.on('json')) printJson(job)
        return endOf(job)
      } catch (error) {
        if (!(error instanceof Error && error.name === 'TimeoutError')) throw error
        throw new ExitError(EXIT.later, `The job had not ended after ${seconds} s.`)
      }
    }),
}

const RESULT: Command = {
  name: 'jobs result',
  operands: 'ID',
  summary: 'Print the insight of a completed job',
  options: FORMAT,
  run: (call) =>
    withClient(call, async (client) => {
      const job = await client.jobs.status(call.operands[0]!)
      if (job.insight_id === null) {
        const why = job.error ? `${job.error.code}: ${job.error.detail}` : `it is ${job.job_status}`
        throw new ExitError(EXIT.failed, `The job has no insight: ${why}`)
      }
      await printResult(client, job.insight_id, call)
      return EXIT.ok
    }),
}

const CANCEL: Command = {
  name: 'jobs cancel',
  operands: 'ID...',
  summary: 'Cancel jobs',
  options: { json: JSON_OPTION },
  run: (call) =>
    withClient(call, async (client) => {
      for (const id of call.operands) {
        const job = await client.jobs.cancel(id)
        if (call.on('json')) printJson(job)
        else out(`${job.assignment_id} ${job.job_status}\n`)
      }
      return EXIT.ok
    }),
}

const DELETE: Command = {
  name: 'jobs delete',
  operands: 'ID...',
  summary: 'Delete ended jobs with their insights',
  options: {},
  run: (call) =>
    withClient(call, async (client) => {
      for (const id of call.operands) await client.jobs.delete(id)
      return EXIT.ok
    }),
}

export const JOBS = [LIST, CREATE, RUN, STATUS, WAIT, RESULT, CANCEL, DELETE]
