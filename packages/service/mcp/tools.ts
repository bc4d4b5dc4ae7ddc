/**
 * The tools of agents. Each template is a tool: its input is the variables, its result the insight as Markdown. Five more tools,
 * named assay_..., list jobs and metrics, read results and templates, and cancel jobs. A tool is a client of the HTTP API with the caller's
 * token, so scopes, limits and audit records apply as for every client.
 */

import { type Client, ClientError } from '@assay/client'
import { JOB_ERRORS } from '@assay/model/errors'
import type { JobView } from '@assay/model/job'
import type { TemplateView } from '@assay/model/template'
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { type InputSchema, inputSchema } from './input-schema.ts'

/** Longest wait for a job in milliseconds: clients give up after a minute. */
const WAIT_MS = 50_000
const STEP_SECONDS = 5

export interface ToolCall {
  arguments: Record<string, unknown>
  signal: AbortSignal
  /** 0 to 100. */
  onProgress(percent: number, label: string): Promise<void>
}

const ID = { type: 'string', format: 'uuid', description: 'The assignment_id of a job' }

function fixed(
  name: string,
  title: string,
  description: string,
  properties: InputSchema['properties'],
  required: string[],
  ends = false,
): Tool {
  return {
    name,
    title,
    description,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
    annotations: { readOnlyHint: !ends, destructiveHint: ends, openWorldHint: false },
  }
}

const FIXED: readonly Tool[] = [
  fixed(
    'assay_jobs',
    'List jobs',
    'The latest jobs, newest first, with their states and errors.',
    {
      template_id: { type: 'string', description: 'Only those of this template' },
      job_status: {
        type: 'string',
        enum: ['draft', 'queued', 'active', 'executing', 'completed', 'canceled'],
      },
      limit: { type: 'integer', minimum: 1, maximum: 50, default: 10 },
    },
    [],
  ),
  fixed(
    'assay_result',
    'Read the result of a job',
    'The insight of a job as Markdown. Waits up to 50 seconds for a job that has not ended.',
    { assignment_id: ID },
    ['assignment_id'],
  ),
  fixed(
    'assay_cancel',
    'Cancel a job',
    'Ends a job that has not ended.',
    { assignment_id: ID },
    ['assignment_id'],
    true,
  ),
  fixed(
    'assay_template',
    'Read a template',
    'The source of a template: its sources, SQL, analyses and prose.',
    { template_id: { type: 'string' } },
    ['template_id'],
  ),
  fixed(
    'assay_metrics',
    'List metrics',
    'What can be reviewed by name, such as by the template brief: what each metric counts, its unit, target, dimensions and tests.',
    { q: { type: 'string', maxLength: 200, description: 'Only those that hold these words' } },
    [],
  ),
]

/** The tool of a template. Its sources may lie elsewhere, and what they hold was written by others. */
function toolOf({ template_id, title, description, variables }: TemplateView): Tool {
  return {
    name: template_id,
    title,
    description: `${description ?? title} Runs the analysis and answers with its findings as Markdown.`,
    inputSchema: inputSchema(variables),
    annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
  }
}

export async function listTools(client: Client): Promise<Tool[]> {
  const reserved = new Set(FIXED.map(({ name }) => name))
  const templates = await client.templates.list()
  return [...templates.filter(({ template_id }) => !reserved.has(template_id)).map(toolOf), ...FIXED]
}

/** The text of an argument; empty for other types, which the API then refuses. */
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

const text = (value: string): CallToolResult['content'][number] => ({ type: 'text', text: value })

export async function callTool(client: Client, name: string, call: ToolCall): Promise<CallToolResult> {
  try {
    const given = call.arguments
    const id = textOf(given.assignment_id)
    if (name === 'assay_jobs') return await listJobs(client, given)
    if (name === 'assay_metrics') return await listMetrics(client, textOf(given.q))
    if (name === 'assay_result') return await ended(client, id, call)
    if (name === 'assay_cancel') return jobText(await client.jobs.cancel(id))
    if (name === 'assay_template')
      return { content: [text((await client.templates.get(textOf(given.template_id))).source)] }
    const assignment_id = await client.jobs.create({ template_id: name, template_vars: given })
    await client.jobs.run(assignment_id)
    return await ended(client, assignment_id, call)
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    return { content: [text(error.message)], isError: true }
  }
}

async function listJobs(client: Client, given: Record<string, unknown>): Promise<CallToolResult> {
  let page = await client.jobs.list({ limit: 10, ...given })
  // A page of a filtered list may be empty before the end.
  while (page.items.length === 0 && page.next_cursor !== null)
    page = await client.jobs.list({ limit: 10, ...given, cursor: page.next_cursor })
  const { items } = page
  const lines = items.map(
    (job) =>
      `- ${job.assignment_id}: ${job.template_id}, ${job.job_status}${job.error ? ` (${job.error.code})` : ''}, created ${job.created_at}`,
  )
  return {
    content: [text(lines.join('\n') || 'There are no such jobs.')],
    structuredContent: { jobs: items },
  }
}

const METRICS_MOST = 200

async function listMetrics(client: Client, q: string): Promise<CallToolResult> {
  const { items, next_cursor } = await client.metrics.list({ q, limit: METRICS_MOST })
  const lines = items.map(({ metric_id, label, description, unit, dimensions }) =>
    [
      `- ${metric_id}: ${label}${unit === null ? '' : ` in ${unit}`}`,
      description ?? '',
      dimensions.length === 0 ? '' : `by ${dimensions.join(', ')}`,
    ]
      .filter(Boolean)
      .join('; '),
  )
  if (next_cursor !== null) lines.push('There are more: ask with words in q.')
  return {
    content: [text(lines.join('\n') || 'There are no such metrics.')],
    structuredContent: { metrics: items },
  }
}

/** Waits for the end of a job and returns its result. Cancels the job if the caller gives up. */
async function ended(client: Client, assignment_id: string, call: ToolCall): Promise<CallToolResult> {
  const until = performance.now() + WAIT_MS
  let job = await client.jobs.status(assignment_id)
  while (job.finished_at === null && performance.now() < until) {
    if (call.signal.aborted) return jobText(await client.jobs.cancel(assignment_id))
    if (job.progress) await call.onProgress(job.progress.percent, job.progress.label)
    job = await client.jobs.status(assignment_id, { wait: STEP_SECONDS })
  }
  if (job.insight_id === null) return jobText(job)
  const uri = `assay://insights/${job.insight_id}`
  return {
    content: [
      text(await client.jobs.markdown(job.insight_id, 'text')),
      { type: 'resource_link', uri, name: job.template_id, mimeType: 'text/markdown' },
    ],
    structuredContent: { assignment_id, insight_id: job.insight_id, job_status: job.job_status },
  }
}

function jobText({ assignment_id, job_status, error, progress }: JobView): CallToolResult {
  const structuredContent = { assignment_id, job_status, error }
  if (error) {
    const remedy = JOB_ERRORS[error.code as keyof typeof JOB_ERRORS]
    return { content: [text(`${error.detail} ${remedy}`)], structuredContent, isError: true }
  }
  const percent = progress ? ` (${progress.percent} %, ${progress.label})` : ''
  const next = `Ask assay_result with the assignment_id ${assignment_id} for it.`
  return { content: [text(`The job is ${job_status}${percent}. ${next}`)], structuredContent }
}
