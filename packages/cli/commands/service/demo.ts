/** assay demo: runs templates over HTTP, on 3 million flights, with a webhook, and prints what a reader gets. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Client, createClient } from '@assay/client'
import { resolveConfig } from '@assay/service/config/config'
import { newToken } from '@assay/service/runtime/secrets'
import type { Command } from '../../command.ts'
import { EXIT, ExitError } from '../../exit.ts'
import { flag } from '../../options.ts'
import { out } from '../../print.ts'
import { type Received, type Receiver, startReceiver } from '../../receiver.ts'
import { aborted, logOf } from './serve.ts'

const TEMPLATE = 'flight-delays'
const WEBHOOK_MS = 20_000

function step(number: number, text: string): void {
  out(`\n[${number}] ${text}\n`)
}

interface Hook {
  receiver: Receiver
  /** Resolves with the first request that arrives. */
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

/** The most doubts that are shown. The page of the report shows all. */
const DOUBTS_SHOWN = 2

/** Returns the parts of an insight that a reader sees unfolded: no chart, no table, no evidence, no SQL. */
function forReaders(markdown: string): string {
  const [text] = markdown.split(/^## (?:Evidence|How this was computed|What next)$/mu)
  const [found, doubts = ''] = text!.split(/^## What to doubt$/mu)
  const first = doubts
    .split('\n')
    .filter((line) => line.startsWith('- '))
    .slice(0, DOUBTS_SHOWN)
  const shown = first.length > 0 ? `${found}\n## What to doubt\n\n${first.join('\n')}\n` : found!
  return shown
    .replaceAll(/^\|.*\n/gmu, '')
    .replaceAll(/^\*\d[\d,]* of [\d,]* rows\.\*\n/gmu, '')
    .replaceAll(/\n{3,}/gu, '\n\n')
    .trim()
}

interface Report {
  insight_id: string
  markdown: string
}

async function runJob(
  client: Client,
  template: { template_id: string; template_vars: Record<string, string> },
  signal: AbortSignal,
): Promise<Report> {
  const begun = performance.now()
  const assignment_id = await client.jobs.create(template)
  await client.jobs.run(assignment_id)
  const { insight_id, job_status, error } = await client.jobs.wait(assignment_id, { signal })
  if (insight_id === null)
    throw new ExitError(EXIT.failed, `The job ended as ${job_status}: ${error?.detail ?? ''}`)
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  out(`    job ${assignment_id}: completed after ${seconds} s\n`)
  return { insight_id, markdown: await client.jobs.markdown(insight_id, 'none') }
}

/** Keeps the service until Ctrl-C, and prints links to the pages of the reports and the address of the console. */
async function stay(
  { client, token }: { client: Client; token: string },
  reports: Report[],
  signal: AbortSignal,
): Promise<void> {
  out('To look on, open in a browser (the service stays until Ctrl-C):\n')
  for (const { insight_id } of reports) {
    const { url } = await client.links.create(insight_id, {})
    out(`    report   ${new URL(url, client.url).href}\n`)
  }
  out(`    console  ${client.url}, sign in with the token ${token}\n`)
  await aborted(signal)
}

/** Runs the workflow. Resolves with the reports, and with whether the webhook arrived with its signature. */
async function workflow(
  client: Client,
  hook: Hook,
  signal: AbortSignal,
): Promise<{ reports: Report[]; verified: boolean }> {
  const templates = await client.templates.list()
  step(1, `A webhook is registered, and a job is made of one of ${templates.length} templates and run.`)
  const webhook = await client.webhooks.create({
    url: hook.receiver.url,
    headers: [{ name: 'x-demo', value: 'sent with every request' }],
    user_id: 'demo',
    presence_name: 'demo',
  })
  hook.know(webhook.signing_secret!)
  const flights = {
    template_id: TEMPLATE,
    template_vars: { origin: 'ORD', period: '2001-04-01..2001-06-30' },
  }
  out(`    template ${TEMPLATE}, variables ${JSON.stringify(flights.template_vars)}, 3,000,000 flights\n`)
  const report = await runJob(client, flights, signal)
  step(2, 'The insight, as a reader gets it:')
  out(`\n${forReaders(report.markdown)}\n`)
  const late = AbortSignal.any([signal, AbortSignal.timeout(WEBHOOK_MS)])
  const received = await Promise.race([
    hook.first,
    new Promise<never>((_, reject) => late.addEventListener('abort', () => reject(late.reason as Error))),
  ])
  const { type, data } = JSON.parse(received.body.toString()) as {
    type: string
    data: { insight_id: string }
  }
  const verified = received.verified === true
  const seal = verified ? 'signature verified' : `the signature is wrong: ${received.fault}`
  step(3, `The webhook was told: ${type}, insight ${data.insight_id}, ${seal}.`)
  step(4, 'A review of metrics that are defined once (templates/metrics), without SQL:')
  const review = await runJob(client, { template_id: 'brief', template_vars: {} }, signal)
  out(`\n${forReaders(review.markdown)}\n`)
  return { reports: [report, review], verified }
}

export const DEMO: Command = {
  name: 'demo',
  operands: '',
  summary: 'Run the reference workflow once on real data; leaves nothing behind',
  options: {
    stay: flag('Keep the service until Ctrl-C, with a page for each report: the default in a terminal'),
    end: flag('End after the reports, also in a terminal'),
  },
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
      const client = createClient({ url: app.url, token })
      const { reports, verified } = await workflow(client, hook, call.signal)
      const seconds = ((performance.now() - begun) / 1000).toFixed(1)
      const stays = call.on('stay') || (process.stdout.isTTY && !call.on('end'))
      out(
        `\nDone in ${seconds} s.${stays ? '' : ' To look at the reports in a browser: npm run demo -- --stay'}\n`,
      )
      if (stays) await stay({ client, token }, reports, call.signal)
      return verified ? EXIT.ok : EXIT.failed
    } finally {
      await app.stop()
      await hook.receiver.close()
      await rm(home, { recursive: true, force: true })
    }
  },
}
