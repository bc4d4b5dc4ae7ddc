/**
 * Hostile input against the running service: whatever a client writes, nobody else waits for it. A corpus of texts over every
 * operation that takes text is sent, while another thread asks /healthz every 10 ms and a status every 50 ms. The work of the
 * thread that answers requests is read from the system for each entry, so that the one that holds it up has a name.
 */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, request as httpRequest } from 'node:http'
import path from 'node:path'
import type { Document } from '../test/fuzz.ts'
import { eventually, type Service, startService, temporaryFolder } from '../test/service.ts'
import type { Proof } from './main.ts'
import { entriesByHand, type Stored } from './stall/by-hand.ts'
import { type Entry, entriesFromDocument } from './stall/from-document.ts'
import { newerEntries } from './stall/newer.ts'
import { startWatcher, type Waits, type Watcher } from './stall/watch.ts'

/** Longest wait of 999 of 1,000 requests for /healthz, in milliseconds. */
const AIM_MS = 100
/** The most that one text, or one piece of an upload, may take of the thread, in milliseconds. */
const WORK_MS = 50
/** The shortest that the service takes, so that a lapse is near. */
const LEASE_SECONDS = 3
const TOKEN = 'stall-admin-token-0123456789'
const PATIENCE_MS = 60_000
const PIECE_BYTES = 65_536
/** Rows of the table whose page and forms are read. */
const ROWS = 33_000

export interface Held {
  name: string
  status: number
  /** Processor time of the thread that answers requests beyond that of a calm time as long, in milliseconds. */
  worked_ms: number
  /** The same for each piece that is read: an upload comes in pieces of 64 KiB. */
  piece_ms: number
  /** Longest wait for /healthz meanwhile, in milliseconds. */
  waited_ms: number
}

export interface StallReport {
  entries: number
  /** What held /healthz up, the longest first. */
  held: Held[]
  /** Of /healthz and of a status, in milliseconds, while the corpus was sent. */
  health: { p50: number; p999: number; max: number }
  status: { p50: number; p999: number; max: number }
  /** Of /healthz before it. */
  calm: { p50: number; p999: number; max: number }
  /** The least that was left of the lease, in seconds. */
  lease_left: number
  /** Share of the time in which the thread was ready and had no processor. */
  stood_share: number
  violations: string[]
}

function quantiles(waits: number[]): { p50: number; p999: number; max: number } {
  const sorted = waits.toSorted((a, b) => a - b)
  const at = (share: number): number =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0) * 10) / 10
  return { p50: at(0.5), p999: at(0.999), max: at(1) }
}

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

/**
 * Of the main thread of a process, in milliseconds (Linux): its processor time, and how long it was ready while the processors
 * did something else.
 */
async function threadOf(pid: number): Promise<{ worked: number; stood: number }> {
  const text = await readFile(`/proc/${pid}/task/${pid}/schedstat`, 'latin1')
  const [worked = 0, stood = 0] = text.split(' ').map((nanoseconds) => Number(nanoseconds) / 1e6)
  return { worked, stood }
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

/** Runs the job whose insight is read, and makes a link to it. */
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
  return { assignment_id, insight_id, link: new URL(link.url, url).pathname }
}

async function openService(): Promise<{ service: Service; close(): Promise<void> }> {
  const { folder, remove } = temporaryFolder()
  const templates = path.join(folder, 'templates')
  await mkdir(templates)
  await writeFile(path.join(templates, 'hello.md'), HELLO)
  await writeFile(path.join(templates, 'large.md'), LARGE)
  const service = await startService({
    home: path.join(folder, 'home'),
    wrapped: false,
    env: {
      ASSAY_TOKEN: TOKEN,
      ASSAY_TEMPLATES: templates,
      ASSAY_WORKERS: '1',
      ASSAY_LOG_LEVEL: 'info',
      ASSAY_LEASE: `${LEASE_SECONDS}s`,
      ASSAY_MAX_TIMEOUT: '20s',
      ASSAY_CORS_ORIGINS: 'https://*.example.com',
      ASSAY_FRAME_PARENTS: 'https://*.example.com',
    },
  })
  return {
    service,
    async close() {
      service.signal('SIGTERM')
      await service.exited
      remove()
    },
  }
}

async function leaseLeft(url: string): Promise<number> {
  const metrics = await (await fetch(new URL('/metrics', url))).text()
  return Number(/^assay_lease_left_seconds (\S+)$/m.exec(metrics)?.[1] ?? Number.NaN)
}

/** `wanted`: a part of the names of the entries to send; `every`: each so-many-th is sent. */
export interface StallOptions {
  seed: number
  wanted?: string
  every?: number
  /** Milliseconds after which no more entries are sent. */
  limitMs?: number
  log(line: string): void
}

export async function corpusOf(url: string, stored: Stored, seed: number): Promise<Entry[]> {
  const document = (await (await fetch(new URL('/openapi.json', url))).json()) as Document
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

async function sendAll(
  entries: Entry[],
  service: Service,
  watcher: Watcher,
  calmWork: number,
  { limitMs = Infinity, log }: StallOptions,
): Promise<{ held: Held[]; waits: Waits; sent: number; least: number; stood_share: number }> {
  const url = new URL(service.url)
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  const waits: Waits = { health: [], status: [] }
  const held: Held[] = []
  const end = performance.now() + limitMs
  let least = Number.POSITIVE_INFINITY
  let sent = 0
  const first = { at: performance.now(), ...(await threadOf(service.server)) }
  for (const entry of entries) {
    if (performance.now() > end) break
    const before = await threadOf(service.server)
    const begun = performance.now()
    const status = await answered(agent, url, entry)
    const measured = await watcher.take()
    const { worked } = await threadOf(service.server)
    const worked_ms = Math.round(worked - before.worked - calmWork * (performance.now() - begun))
    waits.health.push(...measured.health)
    waits.status.push(...measured.status)
    const waited_ms = Math.round(Math.max(0, ...measured.health))
    const pieces = entry.name.startsWith('file ') ? Math.ceil((entry.body?.length ?? 0) / PIECE_BYTES) : 1
    const piece_ms = Math.round(worked_ms / pieces)
    if (piece_ms > AIM_MS / 4 || status === 0 || status >= 500)
      held.push({ name: entry.name, status, worked_ms, piece_ms, waited_ms })
    if (sent % 20 === 0) least = Math.min(least, await leaseLeft(service.url))
    sent += 1
    if (sent % 100 === 0) log(`${sent} of ${entries.length} entries`)
  }
  agent.destroy()
  const stood = (await threadOf(service.server)).stood - first.stood
  const stood_share = Math.round((stood / (performance.now() - first.at)) * 1000) / 1000
  return { held: held.toSorted((a, b) => b.piece_ms - a.piece_ms), waits, sent, least, stood_share }
}

/** How long the service is watched before. */
const CALM_MS = 3000

export async function stall(options: StallOptions): Promise<StallReport> {
  const { service, close } = await openService()
  try {
    const stored = await store(service.url)
    const all = await corpusOf(service.url, stored, options.seed)
    const { wanted = '', every = 1 } = options
    const entries = all.filter(
      ({ name }, index) => name.includes(wanted) && index % every === options.seed % every,
    )
    const watcher = startWatcher({ url: service.url, token: TOKEN, assignment_id: stored.assignment_id })
    const idle = await threadOf(service.server)
    const begun = performance.now()
    await new Promise((resolve) => setTimeout(resolve, CALM_MS))
    const calm = quantiles((await watcher.take()).health)
    const calmWork = ((await threadOf(service.server)).worked - idle.worked) / (performance.now() - begun)
    const { held, waits, sent, least, stood_share } = await sendAll(
      entries,
      service,
      watcher,
      calmWork,
      options,
    )
    await watcher.end()
    const health = quantiles(waits.health)
    const violations: string[] = []
    if (!(least > 0)) violations.push(`the lease had ${least} s left`)
    if (/"stopped":"lapsed"/.test(service.log()))
      violations.push('a job was stopped because the lease lapsed')
    for (const { name, status } of held.filter((one) => one.status === 0 || one.status >= 500))
      violations.push(`${name}: answered with ${status === 0 ? 'nothing' : status}`)
    for (const { name, piece_ms } of held.filter((one) => one.piece_ms > WORK_MS))
      violations.push(`${name}: held the thread for ${piece_ms} ms`)
    return {
      entries: sent,
      held,
      health,
      status: quantiles(waits.status),
      calm,
      lease_left: least,
      stood_share,
      violations,
    }
  } finally {
    await close()
  }
}

export const proof: Proof = {
  summary: 'hostile texts for every operation: who else waits? --only PART --every 1',
  async run({ seed, number, text, log }) {
    const report = await stall({ seed, wanted: text('only', ''), every: number('every', 1), log })
    const { entries, held, health, status, calm, lease_left, stood_share, violations } = report
    log(`${entries} entries; least left of the lease ${lease_left} s of ${LEASE_SECONDS}`)
    log(`/healthz before: ${JSON.stringify(calm)} ms`)
    log(`/healthz: ${JSON.stringify(health)} ms`)
    log(`a status: ${JSON.stringify(status)} ms`)
    log(`the thread was ready and had no processor in ${(100 * stood_share).toFixed(1)} % of the time`)
    for (const { name, worked_ms, waited_ms, status: code } of held.slice(0, 40))
      log(
        `${String(worked_ms).padStart(6)} ms of work, ${String(waited_ms).padStart(6)} ms waited, ${code}: ${name}`,
      )
    return health.p999 > AIM_MS
      ? [...violations, `999 of 1,000 answers of /healthz took up to ${health.p999} ms`]
      : violations
  },
}
