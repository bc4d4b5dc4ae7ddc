/**
 * Sends hostile input to the running service. Whatever one client writes, no other client may wait for it. A corpus
 * of texts is sent to every operation that takes text, while another thread requests /healthz every 10 ms and a
 * status every 50 ms. Inside the service a probe notes each stretch in which the event loop was blocked, so that the
 * blocking entry has a name. A machine that other programs keep busy makes every request wait, however short the work
 * of the service is. So each figure is given twice: by the clock, and without the time that the thread waited for a
 * processor, as the kernel reports it (stall/thread.ts). Each measurement is corrected by itself, not by an average.
 */
import { existsSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import path from 'node:path'
import type { Document } from '../test/hostile/fuzz.ts'
import { eventually, type Service, startService, temporaryFolder } from '../test/servers/service.ts'
import type { Proof } from './main.ts'
import { entriesByHand, type Stored } from './stall/by-hand.ts'
import { type Entry, entriesFromDocument } from './stall/from-document.ts'
import { HUGE, newerEntries } from './stall/newer.ts'
import { EVERY_MS, type Stretch } from './stall/probe.ts'
import { mainThreadOf } from './stall/thread.ts'
import { ownWait, startWatcher, type Wait, type Waits, type Watcher } from './stall/watch.ts'

/** The longest wait in milliseconds of 999 of 1,000 requests for /healthz. */
const AIM_MS = 100
/**
 * The most milliseconds of processor time that one text, or one piece of an upload, may take while the loop serves
 * nobody. The stretch may be as long as the aim if the thread sleeps in it (for a disk, or for helpers of the garbage
 * collector that have no processor).
 */
const WORKED_MS = 50
/** The lease in seconds: the shortest that the service accepts, so that a lapse is near. */
const LEASE_SECONDS = 3
/**
 * The tries of a text that took longer. Its own work takes the same time in each try, while a garbage collection or
 * another program affects only some. The shortest try counts. The quantiles include the waits of all tries.
 */
const TIMES = 3
const TOKEN = 'stall-admin-token-0123456789'
const PATIENCE_MS = 60_000
/** The rows of the table whose page and forms are read. */
const ROWS = 33_000
/** The number of jobs whose insights have 10 MB. */
const HUGE_JOBS = 5

export interface Held {
  name: string
  status: number
  /** The longest stretch in milliseconds in which the loop served nobody, and the processor time in it. */
  held_ms: number
  worked_ms: number
  /** The longest wait for /healthz meanwhile, in milliseconds by the clock. */
  waited_ms: number
}

interface Quantiles {
  p50: number
  p99: number
  p999: number
  max: number
}

/** Milliseconds by the clock, and as if the threads had a processor of their own. */
export interface Told {
  clock: Quantiles
  own: Quantiles
}

export interface StallReport {
  entries: number
  /** The entries that blocked the loop or were not answered, the longest first. */
  held: Held[]
  /** The waits for /healthz while the corpus was sent. */
  health: Told
  status: Told
  requests: number
  /** The waits for /healthz before the corpus was sent. */
  calm: Told
  /** The shortest rest of the lease, in seconds. */
  lease_left: number
  /** The share of the time in which the answering thread was ready and had no processor. */
  stood_share: number
  violations: string[]
}

function quantiles(waits: number[]): Quantiles {
  const sorted = waits.toSorted((a, b) => a - b)
  const at = (share: number): number =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0) * 10) / 10
  return { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) }
}

const told = (waits: Wait[]): Told => ({
  clock: quantiles(waits.map(({ ms }) => ms)),
  own: quantiles(waits.map(ownWait)),
})

function answered(
  agent: Agent,
  url: URL,
  { method, target, headers, body, anonymous }: Entry,
): Promise<number> {
  return new Promise((resolve) => {
    const request = httpRequest({
      agent,
      host: url.hostname,
      port: url.port,
      method,
      path: target,
      headers: {
        ...(anonymous ? {} : { authorization: `Bearer ${TOKEN}` }),
        ...headers,
        ...(body ? { 'content-length': body.length } : {}),
      },
    })
    const timer = setTimeout(() => request.destroy(), PATIENCE_MS)
    const end = (status: number): void => {
      clearTimeout(timer)
      resolve(status)
    }
    request.on('response', (response) => {
      response.resume()
      response.on('close', () => end(response.statusCode!))
    })
    request.on('error', () => end(0))
    request.end(body ?? undefined)
  })
}

const HELLO = '---\nvariables:\n  who: { type: string, default: world }\n---\n# Hello {{ vars.who }}\n'
const LARGE = `---
limits: { rows: ${ROWS}, output: 20MB }
---
\`\`\`sql t
select range as a, 'value [' || range || '](' as b, range * 2 as c from range(${ROWS})
\`\`\`
# Large

{% chart t, type: "line", x: "a", y: "c", title: "One" %}

{% table t, limit: ${ROWS} %}
`

async function call<T>(url: string, method: string, target: string, body?: unknown): Promise<T> {
  const answer = await fetch(new URL(target, url), {
    method,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  if (!answer.ok) throw new Error(`${method} ${target}: ${answer.status} ${await answer.text()}`)
  return (await answer.json()) as T
}

/** Runs the job whose insight is read, makes a link to it, and creates the jobs of huge insights. */
async function store(url: string): Promise<Stored> {
  const assignment_id = await call<string>(url, 'POST', '/v1alpha/jobs/', {
    payload: { type: 'template', template_id: 'large' },
  })
  await call(url, 'POST', '/v1alpha/jobs/run', { payload: { type: 'assignment', assignment_id } })
  type Status = { insight_id: string | null; error: unknown; finished_at: string | null }
  let job: Status | null = null
  await eventually(async () => {
    job = await call<Status>(url, 'GET', `/v1alpha/jobs/status?assignment_id=${assignment_id}&wait=20`)
    return job.finished_at !== null
  }, 'the job of the large insight ends')
  const { insight_id, error } = job as unknown as Status
  if (insight_id === null) throw new Error(`The large insight failed: ${JSON.stringify(error)}`)
  const link = await call<{ url: string }>(url, 'POST', `/v1alpha/insights/${insight_id}/links`, {})
  const drafts = await Promise.all(
    Array.from({ length: HUGE_JOBS }, () =>
      call<string>(url, 'POST', '/v1alpha/jobs/', { payload: { type: 'template', template_id: 'huge' } }),
    ),
  )
  return { assignment_id, insight_id, link: new URL(link.url, url).pathname, drafts }
}

interface Opened {
  service: Service
  /** Resolves with the stretches that the probe has noted since the last call. */
  stretches(): Promise<Stretch[]>
  close(): Promise<void>
}

/** Reads the lines that were appended to a file since the last call. */
function stretchesIn(file: string, pid: number): () => Promise<Stretch[]> {
  let read = 0
  return async () => {
    const lines = existsSync(file) ? (await readFile(file, 'utf8')).split('\n').slice(0, -1) : []
    const added = lines.slice(read).map((line) => JSON.parse(line) as Stretch)
    read = lines.length
    return added.filter((stretch) => stretch.pid === pid)
  }
}

async function openService(): Promise<Opened> {
  const { folder, remove } = temporaryFolder()
  const probed = path.join(folder, 'stretches.ndjson')
  const templates = path.join(folder, 'templates')
  await mkdir(templates)
  await writeFile(path.join(templates, 'hello.md'), HELLO)
  await writeFile(path.join(templates, 'large.md'), LARGE)
  await writeFile(path.join(templates, 'huge.md'), HUGE)
  const service = await startService({
    home: path.join(folder, 'home'),
    wrapped: false,
    env: {
      NODE_OPTIONS: `--import=${new URL('stall/probe.ts', import.meta.url).href}`,
      STALL_PROBE: probed,
      ASSAY_TOKEN: TOKEN,
      ASSAY_TEMPLATES: templates,
      ASSAY_WORKERS: '1',
      ASSAY_LOG_LEVEL: 'info',
      ASSAY_LEASE: `${LEASE_SECONDS}s`,
      ASSAY_MAX_TIMEOUT: '20s',
      ASSAY_MAX_ROWS: '330000',
      ASSAY_CORS_ORIGINS: 'https://*.example.com',
      ASSAY_FRAME_PARENTS: 'https://*.example.com',
    },
  })
  return {
    service,
    stretches: stretchesIn(probed, service.server),
    async close() {
      service.signal('SIGTERM')
      await service.exited
      remove()
    },
  }
}

async function leaseLeft(url: string): Promise<number> {
  const metrics = await (
    await fetch(new URL('/metrics', url), { headers: { authorization: `Bearer ${TOKEN}` } })
  ).text()
  return Number(/^assay_lease_left_seconds (\S+)$/m.exec(metrics)?.[1] ?? Number.NaN)
}

/** The options. `wanted`: a part of the names of the entries to send. `every`: only each n-th entry is sent. */
export interface StallOptions {
  seed: number
  wanted?: string
  every?: number
  /** True also sends the jobs of huge insights. Each takes seconds of processor time. */
  huge?: boolean
  /** The milliseconds after which no more entries are sent. */
  limitMs?: number
  log(line: string): void
}

export function corpusOf(document: Document, stored: Stored, seed: number): Entry[] {
  const known = {
    template_id: 'hello',
    template_vars: {},
    assignment_id: stored.assignment_id,
    insight_id: stored.insight_id,
    url: 'https://receiver.invalid/hook',
    kind: 'postgresql',
    source: HELLO,
    user_id: 'nobody',
    cron: '0 6 * * *',
    variable: 'who',
    path: 'a.csv',
    file: 'swagger-ui.css',
  }
  return [...entriesFromDocument(document, known, seed), ...entriesByHand(stored), ...newerEntries(stored)]
}

interface Sent {
  held: Held[]
  waits: Waits
  sent: number
  least: number
  stood_share: number
}

async function sendAll(
  entries: Entry[],
  { service, stretches }: Opened,
  watcher: Watcher,
  { limitMs = Infinity, log }: StallOptions,
): Promise<Sent> {
  const url = new URL(service.url)
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const waits: Waits = { health: [], status: [] }
  const held: Held[] = []
  const first = { at: performance.now(), ...mainThreadOf(service.server) }
  let least = Number.POSITIVE_INFINITY
  let sent = 0
  const send = async (entry: Entry): Promise<Held> => {
    const status = await answered(agent, url, entry)
    const measured = await watcher.take()
    waits.health.push(...measured.health)
    waits.status.push(...measured.status)
    const [longest] = (await stretches()).toSorted((a, b) => b.held - a.held)
    return {
      name: entry.name,
      status,
      held_ms: Math.round(longest?.held ?? 0),
      worked_ms: Math.round(longest?.worked ?? 0),
      waited_ms: Math.round(Math.max(0, ...measured.health.map(({ ms }) => ms))),
    }
  }
  for (const entry of entries) {
    if (performance.now() > first.at + limitMs) break
    let one = await send(entry)
    for (let again = 1; again < TIMES && isLong(one); again += 1) {
      const other = await send(entry)
      if (other.status === one.status && other.worked_ms < one.worked_ms) one = other
    }
    if (one.held_ms > 0 || one.status === 0 || one.status >= 500) held.push(one)
    if (isLong(one)) log(lineOf(one))
    if (sent % 20 === 0) least = Math.min(least, await leaseLeft(service.url))
    sent += 1
    if (sent % 100 === 0) log(`${sent} of ${entries.length} entries`)
  }
  agent.destroy()
  const stood = mainThreadOf(service.server).stood - first.stood
  const stood_share = Math.round((stood / (performance.now() - first.at)) * 1000) / 1000
  return { held: held.toSorted((a, b) => b.held_ms - a.held_ms), waits, sent, least, stood_share }
}

const isLong = ({ held_ms, worked_ms }: Held): boolean => worked_ms > WORKED_MS || held_ms > AIM_MS

/** The milliseconds for which the service is watched before the corpus is sent. */
const CALM_MS = 3000

function violationsIn({ held, least, waits }: Sent, log: string): string[] {
  const violations: string[] = []
  const { p999 } = told(waits.health).own
  if (p999 > AIM_MS) violations.push(`999 of 1,000 answers of /healthz took up to ${p999} ms`)
  if (!(least > 0)) violations.push(`the lease had ${least} s left`)
  if (/"stopped":"lapsed"/.test(log)) violations.push('a job was stopped because the lease lapsed')
  for (const { name, status } of held.filter((one) => one.status === 0 || one.status >= 500))
    violations.push(`${name}: answered with ${status === 0 ? 'nothing' : status}`)
  for (const { name, held_ms, worked_ms } of held.filter(isLong))
    violations.push(`${name}: held the loop for ${held_ms} ms, ${worked_ms} of them by work`)
  return violations
}

export async function stall(options: StallOptions): Promise<StallReport> {
  const opened = await openService()
  const { service } = opened
  try {
    const stored = await store(service.url)
    const document = (await (await fetch(new URL('/openapi.json', service.url))).json()) as Document
    const all = corpusOf(document, stored, options.seed)
    const { wanted = '', every = 1, huge = false } = options
    const entries = all.filter(
      ({ name }, index) =>
        name.includes(wanted) && index % every === options.seed % every && (huge || !name.includes('huge')),
    )
    const { url, server: pid } = service
    const watcher = startWatcher({ url, token: TOKEN, assignment_id: stored.assignment_id, pid })
    await new Promise((resolve) => setTimeout(resolve, CALM_MS))
    const calm = told((await watcher.take()).health)
    // This drops the stretches of the start and of the large insight.
    await opened.stretches()
    const sent = await sendAll(entries, opened, watcher, options)
    await watcher.end()
    return {
      entries: sent.sent,
      held: sent.held,
      health: told(sent.waits.health),
      status: told(sent.waits.status),
      requests: sent.waits.health.length,
      calm,
      lease_left: sent.least,
      stood_share: sent.stood_share,
      violations: violationsIn(sent, service.log()),
    }
  } finally {
    await opened.close()
  }
}

const lineOf = ({ name, status, held_ms, worked_ms, waited_ms }: Held): string =>
  `held ${String(held_ms).padStart(5)} ms (${worked_ms} of processor), /healthz waited ${waited_ms} ms, ${status}: ${name}`

function sayTold(log: (line: string) => void, what: string, { clock, own }: Told): void {
  log(`${what}, by the clock: ${JSON.stringify(clock)} ms`)
  log(`${what}, with a processor of its own: ${JSON.stringify(own)} ms`)
}

export const proof: Proof = {
  summary: 'hostile texts for every operation: who else waits? --only PART --every 1',
  async run({ seed, number, text, log }) {
    const report = await stall({ seed, wanted: text('only', ''), every: number('every', 1), huge: true, log })
    const { entries, held, health, status, calm, requests, lease_left, stood_share, violations } = report
    log(`${entries} entries; least left of the lease ${lease_left} s of ${LEASE_SECONDS}`)
    sayTold(log, '/healthz before', calm)
    sayTold(log, `/healthz (${requests} requests)`, health)
    sayTold(log, 'a status', status)
    log(`the thread was ready and had no processor in ${(100 * stood_share).toFixed(1)} % of the time`)
    log(`the loop is probed each ${EVERY_MS} ms; held the longest:`)
    for (const one of held.slice(0, 40)) log(lineOf(one))
    return violations
  },
}
