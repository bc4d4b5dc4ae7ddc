/** The main workflow as programs over the clients that generators make from the OpenAPI document, and over ours. */

const END = `
if (!insight.markdown.startsWith('# ')) throw new Error('the insight has no title')
if (!webhook.signing_secret?.startsWith('whsec_')) throw new Error('the webhook has no secret')
console.log(JSON.stringify({ templates: templates.length > 5, status: job.job_status, webhook: webhook.status }))
`

/** The last output of each program. */
export const TOLD = '{"templates":true,"status":"completed","webhook":"enabled"}'

const OPENAPI_FETCH = `import createClient from 'openapi-fetch'
import type { components, paths } from './schema.ts'

const client = createClient<paths>({
  baseUrl: process.env['ASSAY_URL']!,
  headers: { authorization: \`Bearer \${process.env['ASSAY_TOKEN']}\` },
})
const told = <Data>({ data, error }: { data?: Data; error?: components['schemas']['Problem'] }): Data => {
  if (data === undefined) throw new Error(error?.code)
  return data
}
const templates = told(await client.GET('/v1alpha/jobs/templates'))
const template_id = 'nile-flow'
const assignment_id = told(
  await client.POST('/v1alpha/jobs/', { body: { payload: { type: 'template', template_id } } }),
)
const queued = told(
  await client.POST('/v1alpha/jobs/run', { body: { payload: { type: 'assignment', assignment_id } } }),
)
let job = queued
while (job.job_status !== 'completed') {
  if (job.job_status === 'canceled') throw new Error(job.error?.code)
  job = told(await client.GET('/v1alpha/jobs/status', { params: { query: { assignment_id, wait: 50 } } }))
}
const insight = told(
  await client.GET('/v1alpha/jobs/result', {
    params: { query: { insight_id: job.insight_id! } },
    headers: { accept: 'application/json' },
  }),
)
if (typeof insight === 'string') throw new Error('the insight is no object')
const webhook = told(
  await client.POST('/v1alpha/webhooks/', {
    body: { url: 'http://127.0.0.1:9/hook', user_id: 'ada', presence_name: 'reports' },
  }),
)
${END}`

const HEY_API = `import { client } from './hey/client.gen'
import { createJob, createWebhook, jobStatus, listTemplates, readResult, runJob } from './hey'

client.setConfig({ baseUrl: process.env['ASSAY_URL']!, auth: () => process.env['ASSAY_TOKEN']!, throwOnError: true })
const { data: templates } = await listTemplates({ throwOnError: true })
const payload = { type: 'template', template_id: 'nile-flow' } as const
const { data: assignment_id } = await createJob({ body: { payload }, throwOnError: true })
let { data: job } = await runJob({ body: { payload: { type: 'assignment', assignment_id } }, throwOnError: true })
while (job.job_status !== 'completed') {
  if (job.job_status === 'canceled') throw new Error(job.error?.code)
  job = (await jobStatus({ query: { assignment_id, wait: 50 }, throwOnError: true })).data
}
const { data: insight } = await readResult({
  query: { insight_id: job.insight_id! },
  headers: { accept: 'application/json' },
  throwOnError: true,
})
if (typeof insight === 'string' || insight instanceof Blob) throw new Error('the insight is no object')
const { data: webhook } = await createWebhook({
  body: { url: 'http://127.0.0.1:9/hook', user_id: 'ada', presence_name: 'reports' },
  throwOnError: true,
})
${END}`

const ORVAL = `import { createJob, createWebhook, type Insight, jobStatus, listTemplates, readResult, runJob } from './orval-client'

const headers = { authorization: \`Bearer \${process.env['ASSAY_TOKEN']}\` }
const templates = await listTemplates({}, { headers })
const assignment_id = await createJob({ payload: { type: 'template', template_id: 'nile-flow' } }, { headers })
let job = await runJob({ payload: { type: 'assignment', assignment_id } }, { headers })
while (job.job_status !== 'completed') {
  if (job.job_status === 'canceled') throw new Error(job.error?.code)
  job = await jobStatus({ assignment_id, wait: 50 }, { headers })
}
const asked = { headers: { ...headers, accept: 'application/json' } }
const answer = await readResult({ insight_id: job.insight_id! }, asked)
if (!(answer instanceof Blob)) throw new Error('what is given has many types, so it comes as its bytes')
const insight = JSON.parse(await answer.text()) as Insight
const webhook = await createWebhook(
  { url: 'http://127.0.0.1:9/hook', user_id: 'ada', presence_name: 'reports' },
  { headers },
)
${END}`

/** The programs by the name of their generator. */
export const GENERATED: Record<string, string> = {
  'openapi-typescript': OPENAPI_FETCH,
  'hey-api': HEY_API,
  orval: ORVAL,
}

/**
 * The program over our own client, as a function for every runtime. It reads events as they arrive, which needs
 * streams.
 */
export const OWN = `import { createClient, etagOf } from '@assay/client'

export async function workflow(url, token) {
  const assay = createClient({ url, token })
  const templates = await assay.templates.list()
  const changes = []
  const insight = await assay.jobs.runAndWait('nile-flow', {}, { onChange: (job) => changes.push(job.job_status) })
  const job = await assay.jobs.status(insight.assignment_id)
  for await (const one of assay.jobs.watch(insight.assignment_id)) changes.push(one.job_status)
  const webhook = await assay.webhooks.create({ url: 'http://127.0.0.1:9/hook', user_id: 'ada', presence_name: 'reports' })
  const read = await assay.webhooks.get(webhook.webhook_id)
  await assay.webhooks.update(webhook.webhook_id, { description: 'one' }, { ifMatch: etagOf(read) })
  const late = await assay.webhooks
    .update(webhook.webhook_id, { description: 'two' }, { ifMatch: etagOf(read) })
    .catch((error) => error.code)
  if (late !== 'precondition_failed') throw new Error('a change of what has changed was ' + late)
  if (!insight.markdown.startsWith('# ')) throw new Error('the insight has no title')
  if (changes.at(-1) !== 'completed') throw new Error('the end was not seen: ' + changes)
  for await (const one of assay.jobs.all({ limit: 1 })) if (one.assignment_id === insight.assignment_id) break
  return JSON.stringify({ templates: templates.length > 5, status: job.job_status, webhook: webhook.status })
}
`
