/**
 * Kills the service at random moments while jobs are created, run, canceled and delivered: the server, its wrapper,
 * or both, with SIGKILL. The answers to clients and the requests to a receiver are kept as a history, which must be
 * that of a service that was never killed (test/history/history.ts). No process may be left running: a killed parent takes
 * its children with it.
 */
import { createHash } from 'node:crypto'
import { type Client, ClientError, createClient } from '@assay/client'
import { verify } from '@assay/model/signature'
import {
  answeredCancel,
  checkHistory,
  type Entry,
  type Subscription,
  seenJob,
} from '../test/history/history.ts'
import { freePort } from '../test/servers/free-port.ts'
import { type Arrival, modes, startReceiver } from '../test/servers/receiver.ts'
import {
  descendants,
  eventually,
  isAlive,
  type Service,
  startService,
  temporaryFolder,
} from '../test/servers/service.ts'
import { randomFrom } from './calibration/processes.ts'
import type { Proof } from './main.ts'

export interface CrashOptions {
  /** The number of kills. */
  rounds: number
  /** The number of unfinished jobs at the beginning of each round. */
  jobs: number
  seed: number
  log(line: string): void
}

export interface CrashReport {
  violations: string[]
  kills: Record<Victim, number>
  created: number
  ends: Record<string, number>
  messages: number
  repeated: number
  longestStartMs: number
}

const VICTIMS = ['server', 'wrapper', 'both'] as const
type Victim = (typeof VICTIMS)[number]

const TOKEN = 'assay-crash-proof-token'
const HOOK: Subscription = { receiver: 'hook', events: null, presence_name: 'proof' }
const CLIENTS = 6
/** The most milliseconds for which the service may be away. */
const AWAY_MS = 120_000
/** The most milliseconds from the start to the kill. Most kills are early, some late. */
const LATEST_KILL_MS = 4000

/** A template that works for a few milliseconds to a few hundred. `parts` of zero fails. */
const TEMPLATE = `---
title: Work
variables:
  parts: { type: integer, default: 1 }
limits: { timeout: 60s }
---
\`\`\`sql total
select case when $parts = 0 then error('asked to fail') else sum(range * range % 7) end as total
from range($parts * 1000)
\`\`\`
# {{ total | first: "total" }}
`

const digestOf = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 16)

function entryOf({ headers, body, at }: Arrival, secret: string, begin: number): Entry {
  const message = JSON.parse(body.toString('utf8')) as {
    type: string
    data: { assignment_id: string; insight_id: string | null }
  }
  let verified = true
  try {
    verify({ headers, body, secret })
  } catch {
    verified = false
  }
  const { assignment_id, insight_id } = message.data
  const event_id = String(headers['webhook-id'])
  const span = { begun: at - begin, ended: at - begin }
  const content = { type: message.type, assignment_id, insight_id, verified, digest: digestOf(body) }
  return { kind: 'received', receiver: 'hook', event_id, ...content, ...span }
}

/** The clients' actions and what they remember of them. */
function createLoad(client: Client, random: () => number, begin: number) {
  const entries: Entry[] = []
  /** The jobs that were run and are not yet known to have ended. */
  const open = new Set<string>()
  let created = 0

  /** Keeps the answer with its time span. Refusals are not kept. If the service is unreachable, the call throws. */
  async function record<T>(ask: () => Promise<T>, entry: (answer: T) => object): Promise<T> {
    const begun = Date.now() - begin
    const answer = await ask()
    entries.push({ ...entry(answer), begun, ended: Date.now() - begin } as Entry)
    return answer
  }

  /** Repeats a call while the service is away; the idempotency key makes a repeated creation the same one. */
  async function insist<T>(call: () => Promise<T>, stop: () => boolean): Promise<T | undefined> {
    const end = performance.now() + AWAY_MS
    while (!stop()) {
      try {
        return await call()
      } catch (error) {
        const away = error instanceof ClientError && (error.status === 0 || error.status === 503)
        if (!away || performance.now() > end) throw error
        await new Promise((resolve) => setTimeout(resolve, 25))
      }
    }
    return undefined
  }

  async function look(assignment_id: string): Promise<void> {
    const job = await record(() => client.jobs.status(assignment_id), seenJob)
    if (job.job_status === 'completed' || job.job_status === 'canceled') open.delete(assignment_id)
  }

  async function submit(stop: () => boolean): Promise<void> {
    const key = `job-${created}`
    created += 1
    const asked = Date.now() - begin
    entries.push({ kind: 'asked', key, presence_name: null, begun: asked, ended: asked })
    const parts = random() < 0.05 ? 0 : Math.ceil(random() ** 3 * 4000)
    const id = await insist(
      () =>
        record(
          () =>
            client.jobs.create({ template_id: 'work', template_vars: { parts } }, { idempotencyKey: key }),
          (assignment_id) => ({ kind: 'created', key, assignment_id }),
        ),
      stop,
    )
    if (id === undefined) return
    open.add(id)
    await insist(() => run(id), stop)
    if (random() < 0.05) await cancel(id, stop)
  }

  /** Runs a job. If the answer to an earlier try was lost, the job may have ended by now. */
  async function run(assignment_id: string): Promise<void> {
    const ran = () => ({ kind: 'ran', assignment_id })
    await record(() => client.jobs.run(assignment_id).catch(ignoreConflict), ran)
  }

  async function cancel(assignment_id: string, stop: () => boolean): Promise<void> {
    try {
      await insist(() => record(() => client.jobs.cancel(assignment_id), answeredCancel), stop)
    } catch (error) {
      // The job had completed before.
      if (!(error instanceof ClientError && error.status === 409)) throw error
    }
  }

  return { entries, open, insist, look, submit, run, record, created: () => created }
}

type Load = ReturnType<typeof createLoad>

/** Makes jobs up to the target and looks at random ones until `stop` returns true. */
async function press(load: Load, target: number, random: () => number, stop: () => boolean): Promise<void> {
  const worker = async (): Promise<void> => {
    while (!stop()) {
      if (load.open.size < target && random() < 0.7) await load.submit(stop)
      const ids = [...load.open]
      const id = ids[Math.floor(random() * ids.length)]
      if (id !== undefined) await load.insist(() => load.look(id), stop)
      else await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, worker))
}

/** Kills the processes. Resolves with those that outlived their parent. */
async function killAll(service: Service, victim: Victim): Promise<string[]> {
  const family = [service.wrapper, ...descendants(service.wrapper)]
  if (victim !== 'wrapper') process.kill(service.server, 'SIGKILL')
  if (victim !== 'server') process.kill(service.wrapper, 'SIGKILL')
  await eventually(() => !family.some(isAlive), 'the processes end', 60_000).catch(() => undefined)
  return family.filter(isAlive).map((pid) => `The process ${pid} outlived a kill of ${victim}.`)
}

/** Waits after the last start until everything has ended and arrived, and then reads all of it. */
async function settle(client: Client, load: Load, webhook_id: string): Promise<void> {
  const never = () => false
  const ran = new Set(load.entries.filter((one) => one.kind === 'ran').map((one) => one.assignment_id))
  const created = load.entries.filter((one) => one.kind === 'created')
  const drafts = created.filter((one) => !ran.has(one.assignment_id))
  for (const { assignment_id } of drafts) {
    load.open.add(assignment_id)
    await load.insist(() => load.run(assignment_id), never)
  }
  await eventually(
    async () => {
      for (const id of load.open) await load.insist(() => load.look(id), never)
      return load.open.size === 0
    },
    'every job ends',
    300_000,
  )
  for (const { assignment_id } of [...load.entries].filter((one) => one.kind === 'ran'))
    await load.look(assignment_id)
  const pending = async () =>
    (await client.webhooks.deliveries(webhook_id, { status: 'pending', limit: 1 })).items
  await eventually(async () => (await pending()).length === 0, 'everything is delivered', 300_000)
  await readInsights(client, load)
  await readEvents(client, load)
}

function ignoreConflict(error: unknown): void {
  if (!(error instanceof ClientError && error.status === 409)) throw error
}

async function readInsights(client: Client, load: Load): Promise<void> {
  const insights = new Map<string, string>()
  for (const entry of load.entries) {
    if (entry.kind === 'seen' && entry.job.insight_id) insights.set(entry.job.insight_id, entry.assignment_id)
  }
  for (const [insight_id, assignment_id] of insights) {
    await load.record(
      () => client.jobs.json(insight_id),
      (insight) => ({
        kind: 'insight',
        assignment_id: insight.assignment_id === assignment_id ? assignment_id : insight.assignment_id,
        insight_id,
        digest: digestOf(insight.markdown),
      }),
    )
  }
}

async function readEvents(client: Client, load: Load): Promise<void> {
  let cursor: string | undefined
  for (;;) {
    const page = await client.events.list({ order: 'oldest', limit: 200, ...(cursor ? { cursor } : {}) })
    for (const { event_id, type, data } of page.items) {
      const { assignment_id, insight_id } = data as { assignment_id?: string; insight_id?: string | null }
      if (assignment_id === undefined) continue
      const now = Number.MAX_SAFE_INTEGER
      load.entries.push({
        kind: 'event',
        event_id,
        type,
        assignment_id,
        insight_id: insight_id ?? null,
        begun: now,
        ended: now,
      })
    }
    if (page.items.length === 0) return
    cursor = page.next_cursor ?? cursor
  }
}

export async function crash({ rounds, jobs, seed, log }: CrashOptions): Promise<CrashReport> {
  const random = randomFrom(seed)
  const begin = Date.now()
  const { folder: home, remove } = temporaryFolder()
  const port = await freePort()
  const receiver = await startReceiver({ mode: modes.ok() })
  const client = createClient({ url: `http://127.0.0.1:${port}`, token: TOKEN, retries: 0 })
  const load = createLoad(client, random, begin)
  const report: CrashReport = {
    violations: [],
    kills: { server: 0, wrapper: 0, both: 0 },
    created: 0,
    ends: {},
    messages: 0,
    repeated: 0,
    longestStartMs: 0,
  }
  const start = async (): Promise<Service> => {
    const begun = performance.now()
    const env = { ASSAY_TOKEN: TOKEN, ASSAY_LOG_LEVEL: 'warn', ASSAY_WORKERS: '' }
    const service = await startService({ home, port, env })
    report.longestStartMs = Math.max(report.longestStartMs, Math.round(performance.now() - begun))
    return service
  }
  let service = await start()
  let over = false
  let pressing: Promise<void> | undefined
  try {
    await client.templates.put('work', TEMPLATE)
    const webhook = await client.webhooks.create({
      url: receiver.url,
      user_id: 'proof',
      presence_name: 'proof',
      events: ['*'],
      max_in_flight: 32,
    })
    pressing = press(load, jobs, random, () => over)
    // The victims take turns, so that three rounds kill each.
    const first = Math.floor(random() * VICTIMS.length)
    for (let round = 1; round <= rounds; round += 1) {
      // On a slow machine jobs end as fast as they are made, so the total of ended jobs counts instead.
      const enough = load.created() + 2 * jobs
      await eventually(
        () => load.open.size >= jobs || load.created() >= enough,
        `${jobs} jobs are open, or twice as many were made`,
        300_000,
      )
      await new Promise((resolve) => setTimeout(resolve, random() ** 2 * LATEST_KILL_MS))
      const victim = VICTIMS[(first + round) % VICTIMS.length]!
      const unfinished = load.open.size
      report.violations.push(...(await killAll(service, victim)))
      report.kills[victim] += 1
      service = await start()
      log(
        `round ${round} of ${rounds}: killed ${victim} with ${unfinished} jobs open, ${load.created()} made`,
      )
    }
    over = true
    await pressing
    await settle(client, load, webhook.webhook_id)
    const received = receiver.arrivals.map((arrival) => entryOf(arrival, webhook.signing_secret!, begin))
    const history = [...load.entries, ...received]
    report.violations.push(...checkHistory(history, { subscriptions: [HOOK] }))
    describe(report, history)
  } finally {
    over = true
    await pressing?.catch(() => undefined)
    service.signal('SIGTERM')
    await service.exited
    await receiver.close()
    remove()
  }
  return report
}

function describe(report: CrashReport, history: Entry[]): void {
  const ends = new Map<string, string>()
  const messages = history.filter((entry) => entry.kind === 'received')
  for (const entry of history) {
    if (entry.kind === 'created') report.created += 1
    if (entry.kind === 'seen' && entry.job.finished_at !== null)
      ends.set(entry.assignment_id, entry.job.error ?? entry.job.job_status)
  }
  for (const end of ends.values()) report.ends[end] = (report.ends[end] ?? 0) + 1
  report.messages = messages.length
  report.repeated = messages.length - new Set(messages.map((message) => message.event_id)).size
}

/** npm run proof -- crash: the long form. */
export const proof: Proof = {
  summary: 'kill -9 of server and wrapper at random moments while 200 jobs run, 50 times',
  async run({ seed, number, log }) {
    const report = await crash({ rounds: number('rounds', 50), jobs: number('jobs', 200), seed, log })
    const { violations, ...figures } = report
    log(JSON.stringify(figures))
    return violations
  },
}
