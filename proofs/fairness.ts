/**
 * One workspace floods the service with jobs, previews and checks while others each run a small job now and then. The
 * waits of the others are measured before and during the flood. A flood may delay a job by at most one job.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { startPostgres } from '../test/servers/postgres.ts'
import { type Service, startService, temporaryFolder } from '../test/servers/service.ts'
import type { Proof } from './main.ts'

const TOKEN = 'fairness-admin-token-0123456789'
/** The most times by which 99 of 100 quiet jobs may take longer than in calm, beside one job of the flood. */
const SLOWER = 1.5
const FLOOD = 'flood'
/** The milliseconds that no job may take. */
const LONGEST_MS = 300_000

export interface FairnessOptions {
  /** The number of quiet workspaces. */
  quiet: number
  /** The number of jobs of each, before and during the flood. */
  rounds: number
  /** The number of jobs that the flood has in the queue. */
  flood: number
  /** The address of a PostgreSQL; SQLite by default. */
  url?: string
  log(line: string): void
}

export interface FairnessReport {
  /** Milliseconds from the creation of a quiet job to its end. */
  calm: { p50: number; p99: number }
  flooded: { p50: number; p99: number }
  /** The longest job of the flood, in milliseconds. */
  job_ms: number
  /** The most jobs of the flood that began while one quiet job was queued. */
  overtaken: number
  /** The answers to the flood, by status. */
  answers: Record<number, number>
  /** The broken promises that do not depend on the machine's load. */
  violations: string[]
  /** The broken promises about milliseconds. They hold only on an otherwise idle machine. */
  slow: string[]
}

const SMALL = '```sql a\nselect 1 as x\n```\n# Small {{ a[0].x }}\n'
/** A tenth of a second of work, many times that of a small job. */
const LONG =
  "```sql a\nselect sum(md5(i::varchar) < '5') as x from range(300000) t(i)\n```\n# Long {{ a[0].x }}\n"

interface Status {
  started_at: string | null
  finished_at: string | null
  job_status: string
}

interface Measured {
  status: Status
  /** The time at which its client knew that it was queued. */
  known_at: string
  /** The milliseconds from its creation to its end. */
  ms: number
}

class Client {
  readonly #url: string
  readonly #token: string

  constructor(url: string, token: string) {
    this.#url = url
    this.#token = token
  }

  ask(method: string, target: string, body?: unknown, type = 'application/json'): Promise<Response> {
    return fetch(new URL(target, this.#url), {
      method,
      headers: {
        authorization: `Bearer ${this.#token}`,
        ...(body === undefined ? {} : { 'content-type': type }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
  }

  async json<T>(method: string, target: string, body?: unknown): Promise<T> {
    const answer = await this.ask(method, target, body)
    if (!answer.ok) throw new Error(`${method} ${target}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as T
  }

  async queue(template_id: string, priority = 0): Promise<string> {
    const payload = { type: 'template', template_id, priority }
    const assignment_id = await this.json<string>('POST', '/v1alpha/jobs/', { payload })
    await this.json('POST', '/v1alpha/jobs/run', { payload: { type: 'assignment', assignment_id } })
    return assignment_id
  }

  async ended(assignment_id: string): Promise<Status> {
    const end = performance.now() + LONGEST_MS
    for (;;) {
      const job = await this.json<Status>(
        'GET',
        `/v1alpha/jobs/status?assignment_id=${assignment_id}&wait=20`,
      )
      if (job.finished_at !== null) return job
      if (performance.now() > end) throw new Error(`The job ${assignment_id} is still ${job.job_status}.`)
    }
  }
}

async function clientOf(admin: Client, url: string, workspace_id: string): Promise<Client> {
  await admin.json('POST', '/v1alpha/workspaces', { workspace_id, name: workspace_id })
  const { token } = await admin.json<{ token: string }>('POST', '/v1alpha/tokens', {
    name: 'fairness',
    scopes: ['analyst'],
    workspace_id,
  })
  return new Client(url, token)
}

function quantiles(measured: Measured[]): { p50: number; p99: number } {
  const sorted = measured.map(({ ms }) => ms).toSorted((a, b) => a - b)
  const at = (share: number): number => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0)
  return { p50: at(0.5), p99: at(0.99) }
}

/** Runs one job of each quiet workspace after the other, so that they do not wait for each other. */
async function measure(quiet: Client[], rounds: number): Promise<Measured[]> {
  const measured: Measured[] = []
  for (let round = 0; round < rounds; round += 1)
    for (const client of quiet) {
      const begun = performance.now()
      const assignment_id = await client.queue('small')
      const known_at = new Date().toISOString()
      const status = await client.ended(assignment_id)
      if (status.job_status !== 'completed') throw new Error(`A quiet job ended as ${status.job_status}.`)
      measured.push({ status, known_at, ms: performance.now() - begun })
    }
  return measured
}

/** Sends previews, checks and waits of the flood until it is stopped, several of each at once. */
async function press(flood: Client, signal: AbortSignal, answers: Record<number, number>): Promise<void> {
  const note = async (asked: Promise<Response>): Promise<void> => {
    const { status } = await asked.then(async (answer) => {
      await answer.text()
      return answer
    })
    answers[status] = (answers[status] ?? 0) + 1
    // A refused client repeats, but not at once, because the test shares the machine with the service.
    if (status === 429) await new Promise((resolve) => setTimeout(resolve, 50))
  }
  const again = async (one: () => Promise<Response>): Promise<void> => {
    while (!signal.aborted) await note(one())
  }
  await Promise.all([
    ...Array.from({ length: 10 }, () =>
      again(() => flood.ask('POST', '/v1alpha/jobs/templates/preview', { source: LONG })),
    ),
    ...Array.from({ length: 20 }, () =>
      again(() => flood.ask('POST', '/v1alpha/jobs/templates/check', LONG, 'text/markdown')),
    ),
  ])
}

const lengthOf = ({ started_at, finished_at }: Status): number =>
  started_at === null || finished_at === null ? 0 : Date.parse(finished_at) - Date.parse(started_at)

/** Tells where the time of the slowest went: queued, running, and until its client knew that it had ended. */
function slowest(measured: Measured[]): string {
  const { status, known_at, ms } = measured.toSorted((a, b) => b.ms - a.ms)[0]!
  const queued = Date.parse(status.started_at ?? known_at) - Date.parse(known_at)
  const ran = lengthOf(status)
  return `the slowest took ${Math.round(ms)} ms: ${queued} in the queue, ${ran} running, ${Math.round(ms - queued - ran)} for its requests`
}

/** Returns how many of `others` began after the client knew that its job is queued, and before that job began. */
function overtaking({ known_at, status }: Measured, others: Status[]): number {
  const began = status.started_at ?? ''
  return others.filter(({ started_at }) => started_at !== null && started_at > known_at && started_at < began)
    .length
}

async function openService(url: string | undefined): Promise<{ service: Service; close(): Promise<void> }> {
  const { folder, remove } = temporaryFolder()
  const templates = path.join(folder, 'templates')
  await mkdir(templates)
  await writeFile(path.join(templates, 'small.md'), SMALL)
  await writeFile(path.join(templates, 'long.md'), LONG)
  const service = await startService({
    home: path.join(folder, 'home'),
    wrapped: false,
    env: {
      ASSAY_TOKEN: TOKEN,
      ASSAY_TEMPLATES: templates,
      ASSAY_WORKERS: '1',
      ASSAY_LOG_LEVEL: 'error',
      ...(url === undefined ? {} : { ASSAY_STORE: url, ASSAY_SECRET_KEY: '1'.repeat(64) }),
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

export async function fairness(options: FairnessOptions): Promise<FairnessReport> {
  const { quiet: count, rounds, flood: queued, url, log } = options
  const { service, close } = await openService(url)
  try {
    const admin = new Client(service.url, TOKEN)
    const flood = await clientOf(admin, service.url, FLOOD)
    const quiet = await Promise.all(
      Array.from({ length: count }, (_, index) => clientOf(admin, service.url, `quiet-${index}`)),
    )
    await measure(quiet.slice(0, 2), 1)
    const before = await measure(quiet, rounds)
    const calm = quantiles(before)
    log(slowest(before))
    log(`calm: ${JSON.stringify(calm)} ms`)
    const ids: string[] = []
    for (let index = 0; index < queued; index += 1) ids.push(await flood.queue('long', 100))
    const stop = new AbortController()
    const answers: Record<number, number> = {}
    const pressing = press(flood, stop.signal, answers)
    const measured = await measure(quiet, rounds)
    const flooded = quantiles(measured)
    stop.abort()
    await pressing
    const jobs = await Promise.all(
      ids.map((id) => flood.json<Status>('GET', `/v1alpha/jobs/status?assignment_id=${id}`)),
    )
    const job_ms = Math.max(...jobs.map(lengthOf))
    const overtaken = Math.max(...measured.map((one) => overtaking(one, jobs)))
    log(slowest(measured))
    log(`flooded: ${JSON.stringify(flooded)} ms; the longest job of the flood ${job_ms} ms`)
    log(`at most ${overtaken} jobs of the flood began while a quiet one was queued`)
    const violations: string[] = []
    if (overtaken > 1) violations.push(`${overtaken} jobs of the flood began while a quiet one was queued`)
    if (job_ms === 0) violations.push('no job of the flood ended, so nothing was measured')
    const most = Math.round(SLOWER * calm.p99 + job_ms)
    const slow =
      flooded.p99 > most
        ? [`quiet jobs took up to ${flooded.p99} ms beside the flood, at most ${most} is fair`]
        : []
    return { calm, flooded, job_ms, overtaken, answers, violations, slow }
  } finally {
    await close()
  }
}

export const proof: Proof = {
  summary: 'one workspace floods, 20 do not: [--store postgres] --rounds 10 --flood 600',
  async run({ number, text, log }) {
    const options = {
      quiet: number('quiet', 20),
      rounds: number('rounds', 10),
      flood: number('flood', 600),
      log,
    }
    const of = async (url?: string): Promise<string[]> => {
      const { answers, violations, slow } = await fairness(url === undefined ? options : { ...options, url })
      log(`the flood was answered ${JSON.stringify(answers)}`)
      return [...violations, ...slow]
    }
    if (text('store', 'sqlite') !== 'postgres') return of()
    const postgres = await startPostgres()
    const name = `fairness_${process.pid}`
    try {
      return await of(await postgres.createDatabase(name))
    } finally {
      await postgres.dropDatabase(name)
      await postgres.stop()
    }
  },
}
