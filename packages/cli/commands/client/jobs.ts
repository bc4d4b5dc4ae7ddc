/** assay jobs ...: runs templates by the service, from creation to insight. */
import type { Client, JobView } from '@assay/client'
import { CHART_FORMS } from '@assay/model/insight'
import { JOB_STATUSES } from '@assay/model/job'
import { clientCommand, eachCommand, pageCommand, showCommand } from '../../client-command.ts'
import type { Call } from '../../command.ts'
import { EXIT, ExitError, UsageError } from '../../exit.ts'
import {
  choiceOption,
  flag,
  JSON_OPTION,
  LIMIT,
  limitOption,
  numberOption,
  pairsOption,
  text,
  texts,
} from '../../options.ts'
import { out, printJson, progressLine, say } from '../../print.ts'
import { deliver, FORM_OPTIONS, FORMS, requirePlace } from '../insight-forms.ts'

/** The options of commands that create jobs. */
export const JOB_OPTIONS = {
  var: texts('NAME=VALUE', 'A template variable; repeat it for more'),
  presence: text('NAME', 'Notify only the webhooks and the subscriptions of this presence_name'),
  notify: texts(
    'ID|WORD',
    'A subscription to tell, me or followers, of a personal run reader; repeat it for more (default: nobody)',
  ),
  priority: text('N', 'From -100 to 100, higher first'),
  metadata: texts('NAME=VALUE', 'Returned in status and events'),
}

/** The option of commands that make one job. */
const FULL = flag('Read all days of metrics again, also those that are kept')
const READER = text('ID', 'The reader for whom a personal template is run (default: the own user)')

const FORMAT = {
  ...FORM_OPTIONS,
  charts: text('FORM', CHART_FORMS.join(', ')),
}

function createFrom(client: Client, call: Call): Promise<string> {
  return client.jobs.create({
    template_id: call.operands[0]!,
    template_vars: pairsOption(call, 'var'),
    reader_id: call.text('reader'),
    presence_name: call.text('presence'),
    notify: call.all('notify'),
    priority: numberOption(call, 'priority', -100, 100),
    metadata: pairsOption(call, 'metadata'),
    full: call.on('full') || undefined,
  })
}

/** Shows the progress until the job has ended. */
async function follow(client: Client, assignment_id: string, signal: AbortSignal): Promise<JobView> {
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
  const charts = choiceOption(call, 'charts', CHART_FORMS)
  const form = choiceOption(call, 'format', FORMS) ?? 'markdown'
  const file = call.text('out')
  requirePlace(form, file)
  if (form === 'pdf') return deliver(await client.jobs.pdf(insight_id), file)
  if (form === 'xlsx' || form === 'csv')
    return deliver(await client.jobs[form](insight_id, call.text('table')), file)
  if (form !== 'json') return deliver(await client.jobs[form](insight_id, charts), file)
  const json = await client.jobs.json(insight_id, charts)
  await deliver(`${JSON.stringify(json, null, 2)}\n`, file)
}

function describe(job: JobView): string {
  const rows: [string, string | number | null][] = [
    ['assignment_id', job.assignment_id],
    ['job_status', job.job_status],
    ['template', `${job.template_id} (${job.template_version})`],
    ['reader_id', job.reader_id],
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

/** The form of an id. A UUID names a job to run; any other text names a template from which a job is made. */
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

const RUN = clientCommand(
  {
    name: 'jobs run',
    operands: 'ID|TEMPLATE',
    summary: 'Run a job, or create one from a template and run it; --wait prints its insight',
    details: 'Without --wait it prints the id of the job that is now queued.',
    options: {
      ...JOB_OPTIONS,
      reader: READER,
      full: FULL,
      ...FORMAT,
      wait: flag('Wait until it has ended and print the insight', 'w'),
      json: JSON_OPTION,
    },
  },
  async (client, call, { served }) => {
    const given = call.operands[0]!
    const made = UUID.test(given)
    if (made && call.text('reader') !== undefined)
      throw new UsageError('--reader is of a new job: a job that is made already has its reader.')
    const assignment_id = made ? given : await createFrom(client, call)
    const job = await client.jobs.run(assignment_id)
    warnUnserved(served)
    if (!call.on('wait') || !served) {
      if (call.on('json')) printJson(job)
      else out(`${assignment_id}\n`)
      return EXIT.ok
    }
    const ended = await follow(client, assignment_id, call.signal)
    if (call.on('json')) printJson(ended)
    else if (ended.insight_id) await printResult(client, ended.insight_id, call)
    return endOf(ended)
  },
)

const WAIT = clientCommand(
  {
    name: 'jobs wait',
    operands: 'ID',
    summary: 'Wait until a job has ended: 0 completed, 1 canceled, 75 not in time',
    options: { json: JSON_OPTION, timeout: text('SECONDS', 'Stop waiting after this time (default: never)') },
  },
  async (client, call, { served }) => {
    warnUnserved(served)
    const seconds = numberOption(call, 'timeout', 1, 1_000_000)
    const late = seconds ? [AbortSignal.timeout(seconds * 1000)] : []
    try {
      const job = await follow(client, call.operands[0]!, AbortSignal.any([call.signal, ...late]))
      if (call.on('json')) printJson(job)
      return endOf(job)
    } catch (error) {
      if (!(error instanceof Error && error.name === 'TimeoutError')) throw error
      throw new ExitError(EXIT.later, `The job had not ended after ${seconds} s.`)
    }
  },
)

const RESULT = clientCommand(
  {
    name: 'jobs result',
    operands: 'ID',
    summary: 'Print the insight of a completed job',
    options: FORMAT,
  },
  async (client, call) => {
    const job = await client.jobs.status(call.operands[0]!)
    if (job.insight_id === null) {
      const why = job.error ? `${job.error.code}: ${job.error.detail}` : `it is ${job.job_status}`
      throw new ExitError(EXIT.failed, `The job has no insight: ${why}`)
    }
    await printResult(client, job.insight_id, call)
  },
)

const TEMPLATE = clientCommand(
  {
    name: 'jobs template',
    operands: 'ID',
    summary: 'Print the template with which a job was created, as it was then',
    options: {
      metric: text('NAME', 'Print the definition of this metric of that time in its place'),
      json: JSON_OPTION,
    },
  },
  async (client, call) => {
    const found = await client.jobs.template(call.operands[0]!)
    const name = call.text('metric')
    if (call.on('json')) return printJson(found)
    if (name === undefined) return out(found.source)
    const metric = found.metrics.find(({ metric_id }) => metric_id === name)
    if (metric) return out(metric.source)
    const names = found.metrics.map(({ metric_id }) => metric_id).join(', ') || 'none'
    throw new ExitError(EXIT.failed, `The job does not read the metric "${name}". It reads: ${names}.`)
  },
)

export const JOBS = [
  pageCommand(
    {
      name: 'jobs list',
      summary: 'List jobs, newest first',
      options: {
        status: text('STATE', JOB_STATUSES.join(', ')),
        template: text('ID', 'Only jobs of this template'),
        schedule: text('ID', 'Only jobs of this schedule'),
        batch: text('ID', 'Only jobs of this bulk creation'),
        user: text('ID', 'Only jobs of this user'),
        reader: text('ID', 'Only jobs for this reader'),
        presence: text('NAME', 'Only jobs with this presence_name'),
        metadata: text('KEY:VALUE', 'Only jobs whose metadata hold this value'),
        limit: LIMIT,
        cursor: text('CURSOR', 'The next_cursor of an earlier list'),
      },
    },
    ['ASSIGNMENT', 'STATUS', 'TEMPLATE', 'CREATED', 'ERROR'],
    (client, call) =>
      client.jobs.list({
        limit: limitOption(call),
        job_status: choiceOption(call, 'status', JOB_STATUSES),
        template_id: call.text('template'),
        schedule_id: call.text('schedule'),
        batch_id: call.text('batch'),
        user_id: call.text('user'),
        reader_id: call.text('reader'),
        presence_name: call.text('presence'),
        metadata: call.text('metadata'),
        cursor: call.text('cursor'),
      }),
    (job) => [job.assignment_id, job.job_status, job.template_id, job.created_at, job.error?.code ?? null],
  ),
  clientCommand(
    {
      name: 'jobs create',
      operands: 'TEMPLATE',
      summary: 'Create a job (a draft) and print its id',
      options: { ...JOB_OPTIONS, reader: READER, full: FULL, json: JSON_OPTION },
    },
    async (client, call) => {
      const assignment_id = await createFrom(client, call)
      if (call.on('json')) printJson(await client.jobs.status(assignment_id))
      else out(`${assignment_id}\n`)
    },
  ),
  RUN,
  showCommand(
    { name: 'jobs status', operands: 'ID', summary: 'Show a job' },
    (client, call) => client.jobs.status(call.operands[0]!),
    describe,
  ),
  WAIT,
  RESULT,
  TEMPLATE,
  clientCommand(
    { name: 'jobs cancel', operands: 'ID...', summary: 'Cancel jobs', options: { json: JSON_OPTION } },
    async (client, call) => {
      for (const id of call.operands) {
        const job = await client.jobs.cancel(id)
        if (call.on('json')) printJson(job)
        else out(`${job.assignment_id} ${job.job_status}\n`)
      }
    },
  ),
  eachCommand({ name: 'jobs delete', summary: 'Delete ended jobs with their insights' }, (client, id) =>
    client.jobs.delete(id),
  ),
]
