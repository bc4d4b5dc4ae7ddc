/** assay demo: the reference workflow over HTTP, on 3 million flights, with a webhook; leaves nothing behind. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Client, createClient } from '@assay/client'
import { resolveConfig } from '@assay/service/config/config'
import { newToken } from '@assay/service/runtime/secrets'
import type { Command } from '../../command.ts'
import { EXIT, ExitError } from '../../exit.ts'
import { out } from '../../print.ts'
import { type Received, type Receiver, startReceiver } from '../../receiver.ts'
import { follow } from '../client/jobs.ts'
import { describeRequest } from '../client/listen.ts'
import { logOf } from './serve.ts'

const TEMPLATE = 'flight-delays'
const WEBHOOK_MS = 20_000

function step(number: number, text: string): void {
  out(`\n[${number}] ${text}\n`)
}

interface Hook {
  receiver: Receiver
  /** The first request that arrives. */
  first: Promise<Received>
  know(secret: string): void
}

async function startHook(): Promise<Hook> {
  let secret: string | null = null
  const arrived = Promise.withResolvers<Received>()
  const receiver = await startReceiver({
    secret: () => secret,
    onRequest(received) {
      arrived.resolve(received)
      return 204
    },
  })
  return {
    receiver,
    first: arrived.promise,
    know(given) {
      secret = given
    },
  }
}

async function listTemplates(client: Client): Promise<void> {
  step(1, `GET ${client.url}/v1alpha/jobs/templates`)
  for (const { template_id, title } of await client.templates.list())
    out(`    ${template_id.padEnd(24)} ${title}\n`)
}

async function runJob(client: Client, signal: AbortSignal): Promise<string> {
  const template_vars = { origin: 'ORD', period: '2001-04-01..2001-06-30' }
  step(3, 'POST /v1alpha/jobs/: creates a job (a draft) and answers with its assignment id')
  out(`    template ${TEMPLATE}, variables ${JSON.stringify(template_vars)}\n`)
  const assignment_id = await client.jobs.create({ template_id: TEMPLATE, template_vars })
  out(`    ${assignment_id}\n`)
  step(4, 'POST /v1alpha/jobs/run: 3,000,000 flights, read from Parquet')
  const begun = performance.now()
  await client.jobs.run(assignment_id)
  const job = await follow(client, assignment_id, signal)
  if (job.insight_id === null)
    throw new ExitError(EXIT.failed, `The job ended as ${job.job_status}: ${job.error?.detail ?? ''}`)
  out(`    completed after ${((performance.now() - begun) / 1000).toFixed(2)} s\n`)
  step(5, `GET /v1alpha/jobs/result?insight_id=${job.insight_id}`)
  out(`\n${await client.jobs.markdown(job.insight_id)}\n`)
  return assignment_id
}

/** A report without SQL: metrics by name, reviewed by a template that ships. */
async function reviewMetrics(client: Client, signal: AbortSignal): Promise<void> {
  step(7, 'POST /v1alpha/jobs/: the template "brief", over metrics that are defined once (templates/metrics)')
  const assignment_id = await client.jobs.create({ template_id: 'brief', template_vars: {} })
  await client.jobs.run(assignment_id)
  const { insight_id } = await follow(client, assignment_id, signal)
  if (insight_id === null) throw new ExitError(EXIT.failed, 'The review did not complete.')
  const markdown = await client.jobs.markdown(insight_id)
  out(`\n${markdown.slice(0, markdown.indexOf('## How this was computed')).trimEnd()}\n`)
}

async function workflow(client: Client, hook: Hook, signal: AbortSignal): Promise<number> {
  await listTemplates(client)
  step(2, `POST /v1alpha/webhooks/: ${hook.receiver.url} on this machine`)
  const webhook = await client.webhooks.create({
    url: hook.receiver.url,
    headers: [{ name: 'x-demo', value: 'sent with every request' }],
    user_id: 'demo',
    presence_name: 'demo',
  })
  hook.know(webhook.signing_secret!)
  out(`    ${webhook.webhook_id}, gets ${webhook.events.join(', ')}\n`)
  await runJob(client, signal)
  step(6, 'The webhook as it arrived:')
  const late = AbortSignal.any([signal, AbortSignal.timeout(WEBHOOK_MS)])
  const received = await Promise.race([
    hook.first,
    new Promise<never>((_, reject) => late.addEventListener('abort', () => reject(late.reason as Error))),
  ])
  out(`\n${describeRequest(received)}`)
  await reviewMetrics(client, signal)
  return received.verified === true ? EXIT.ok : EXIT.failed
}

export const DEMO: Command = {
  name: 'demo',
  operands: '',
  summary: 'Run the reference workflow once on real data; leaves nothing behind',
  options: {},
  listens: true,
  async run(call) {
    const home = await mkdtemp(path.join(tmpdir(), 'assay-demo-'))
    const token = newToken()
    const flags = { home, token, host: '127.0.0.1', port: '0', logLevel: call.settings.logLevel ?? 'warn' }
    const resolved = resolveConfig({}, flags)
    const begun = performance.now()
    const { startApp } = await import('@assay/service/app')
    const hook = await startHook()
    const app = await startApp({ config: resolved.config, log: await logOf(resolved) })
    try {
      out(
        `Assay runs on ${app.url} with a temporary home (ready after ${Math.round(performance.now() - begun)} ms).\n`,
      )
      const code = await workflow(createClient({ url: app.url, token }), hook, call.signal)
      out(`\nDone in ${((performance.now() - begun) / 1000).toFixed(1)} s. Start your own: npm start\n`)
      return code
    } finally {
      await app.stop()
      await hook.receiver.close()
      await rm(home, { recursive: true, force: true })
    }
  },
}
