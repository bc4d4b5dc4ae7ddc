/**
 * Many clients at once. Each asks a random node and gives up on one that does not answer. They create jobs with a key and
 * without, run, wait, read, list, cancel and delete, and keep every answer with the time span of its request.
 */
import { createHash } from 'node:crypto'
import { type Client, ClientError, createClient } from '@assay/client'
import { isFinal, type JobView } from '@assay/model/job'
import { answeredCancel, type Entry, seenJob } from '../../test/history/history.ts'
import { PRESENCE } from './receivers.ts'

export const WORK = `---
title: Work
variables:
  parts: { type: integer, default: 1 }
limits: { timeout: 5m, memory: 300MB }
---
\`\`\`sql total
select case when $parts = 0 then error('asked to fail') else sum(range * range % 7) end as total
from range($parts * 1000)
\`\`\`
# {{ total | first: "total" }}
`

/** A template of which one call would build a list far beyond the memory of the job. */
export const HUNGRY = `---
title: Hungry
limits: { timeout: 5m, memory: 300MB }
---
\`\`\`sql total
select len(range(500000000)) as total
\`\`\`
# {{ total | first: "total" }}
`

export const digestOf = (content: string | Buffer): string =>
  createHash('sha256').update(content).digest('hex').slice(0, 16)

/** The milliseconds after which a client gives up. A stopped node accepts connections and never answers. */
const PATIENCE_MS = 5000
const WAIT_SECONDS = 5
/** The milliseconds within which some node must answer. Faults are far shorter, also on a busy machine. */
const ANSWER_MS = 240_000

function impatientClient(url: string, token: string): Client {
  const patient = (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const waits = input instanceof URL && input.searchParams.has('wait') ? WAIT_SECONDS * 1000 : 0
    return fetch(input, { ...init, signal: AbortSignal.timeout(PATIENCE_MS + waits) })
  }
  return createClient({ url, token, retries: 0, fetch: patient })
}

/** Creates a job without an idempotency key, which the client adds to every creation. */
async function createBare(url: string, token: string, input: object): Promise<string> {
  const body = JSON.stringify({ payload: { type: 'template', ...input } })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const init = { method: 'POST', headers, body, signal: AbortSignal.timeout(PATIENCE_MS) }
  try {
    const answer = await fetch(`${url}/v1alpha/jobs/`, init)
    const said = (await answer.json()) as string | { code: string; detail: string }
    if (typeof said === 'string') return said
    throw new ClientError(said.detail, answer.status, said.code, null)
  } catch (error) {
    if (error instanceof ClientError) throw error
    throw new ClientError(String(error), 0, 'unreachable', null, error)
  }
}

export interface LoadOptions {
  urls: string[]
  token: string
  random: () => number
  begin: number
  /** The number of unfinished jobs that are kept open. */
  jobs: number
  clients: number
}

export interface Load {
  entries: Entry[]
  /** The jobs that were run and are not yet known to have ended. */
  open: Set<string>
  /** The answers that no client should get. */
  faults: string[]
  clients: Client[]
  /** Calls until the service answers. Resolves with undefined if `stop` returns true before. */
  insist<T>(call: (client: Client) => Promise<T>, stop?: () => boolean): Promise<T | undefined>
  record<T>(ask: () => Promise<T>, entry: (answer: T) => object): Promise<T>
  see(client: Client, assignment_id: string): Promise<void>
  seen(job: JobView): object
  run(client: Client, assignment_id: string): Promise<void>
  submit(stop: () => boolean, template_id?: string): Promise<void>
  /** Works until `stop` returns true. */
  press(stop: () => boolean): Promise<void>
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Tells whether the answer was lost or is an error of the service. The client then asks another node. */
function isUnsure(error: unknown): boolean {
  if (!(error instanceof ClientError)) return false
  return [0, 429, 502, 503].includes(error.status) || error.code === 'idempotency_in_progress'
}

const hasStatus = (error: unknown, status: number): boolean =>
  error instanceof ClientError && error.status === status

function createMemory(begin: number) {
  const entries: Entry[] = []
  const now = (): number => Date.now() - begin
  const note = (entry: object, begun = now()): void =>
    void entries.push({ ...entry, begun, ended: now() } as Entry)
  return {
    entries,
    now,
    note,
    async record<T>(ask: () => Promise<T>, entry: (answer: T) => object): Promise<T> {
      const begun = now()
      const answer = await ask()
      note(entry(answer), begun)
      return answer
    },
  }
}

export function createLoad({ urls, token, random, begin, jobs, clients: count }: LoadOptions): Load {
  const clients = urls.map((url) => impatientClient(url, token))
  const { entries, now, note, record } = createMemory(begin)
  const open = new Set<string>()
  const ended: string[] = []
  const faults: string[] = []
  let made = 0
  const anyOf = <T>(items: T[]): T => items[Math.floor(random() * items.length)]!

  async function insist<T>(
    call: (client: Client) => Promise<T>,
    stop: () => boolean = () => false,
  ): Promise<T | undefined> {
    const patience = performance.now() + ANSWER_MS
    while (!stop()) {
      try {
        return await call(anyOf(clients))
      } catch (error) {
        if (!isUnsure(error)) throw error
        if (performance.now() > patience)
          throw new Error(`There was no answer for ${ANSWER_MS / 1000} s: ${String(error)}`, { cause: error })
        await pause(50 + random() * 150)
      }
    }
    return undefined
  }

  function keep(job: JobView): void {
    if (!isFinal(job.job_status)) return
    if (open.delete(job.assignment_id) && ended.push(job.assignment_id) > 200) ended.shift()
  }

  /** Resolves with null for a 404, which is recorded because it may be true. */
  async function orMissing<T>(assignment_id: string, ask: () => Promise<T>): Promise<T | undefined> {
    const begun = now()
    try {
      return await ask()
    } catch (error) {
      if (!hasStatus(error, 404)) throw error
      note({ kind: 'missing', assignment_id }, begun)
      open.delete(assignment_id)
      return undefined
    }
  }

  async function see(client: Client, assignment_id: string, wait?: number): Promise<void> {
    const ask = (): Promise<JobView> =>
      record(() => client.jobs.status(assignment_id, wait === undefined ? {} : { wait }), seenJob)
    const job = await orMissing(assignment_id, ask)
    if (job) keep(job)
  }

  /** Runs a job. If the answer to an earlier try was lost, the job may have ended by now. */
  async function run(client: Client, assignment_id: string): Promise<void> {
    const begun = now()
    const ask = (): Promise<JobView | null> =>
      client.jobs.run(assignment_id).catch((error: unknown) => {
        if (hasStatus(error, 409)) return null
        throw error
      })
    const job = await orMissing(assignment_id, ask)
    if (job === undefined) return
    note({ kind: 'ran', assignment_id }, begun)
    if (job) note(seenJob(job), begun)
  }

  async function create(template_id: string, stop: () => boolean): Promise<string | undefined> {
    const key = `job-${made}`
    made += 1
    const keyed = random() < 0.6
    const presence_name = random() < 0.15 ? PRESENCE : null
    const size = random()
    const parts = size < 0.04 ? 0 : size < 0.12 ? 40_000 + random() * 120_000 : random() ** 3 * 4000
    const input = {
      template_id,
      metadata: { key },
      ...(template_id === 'work' ? { template_vars: { parts: size < 0.04 ? 0 : Math.ceil(parts) } } : {}),
      ...(presence_name === null ? {} : { presence_name }),
    }
    const ask = (call: () => Promise<string>): Promise<string> => {
      note({ kind: 'asked', key, presence_name })
      return record(call, (assignment_id) => ({ kind: 'created', key, assignment_id }))
    }
    if (keyed) return insist((client) => ask(() => client.jobs.create(input, { idempotencyKey: key })), stop)
    // Without a key the request cannot be repeated. The list shows whether the job was made.
    return ask(() => createBare(anyOf(urls), token, input)).catch((error: unknown) => {
      if (isUnsure(error)) return undefined
      throw error
    })
  }

  async function submit(stop: () => boolean, template_id = 'work'): Promise<void> {
    const id = await create(template_id, stop)
    if (id === undefined) return
    open.add(id)
    await insist((client) => run(client, id), stop)
    if (random() < 0.06) await insist((client) => cancel(client, id), stop)
  }

  async function cancel(client: Client, assignment_id: string): Promise<void> {
    const ask = (): Promise<JobView> => record(() => client.jobs.cancel(assignment_id), answeredCancel)
    const job = await orMissing(assignment_id, ask).catch((error: unknown) => {
      // The job had completed before.
      if (!hasStatus(error, 409)) throw error
    })
    if (job) {
      note(seenJob(job), now())
      keep(job)
    }
  }

  async function remove(client: Client, assignment_id: string): Promise<void> {
    note({ kind: 'deleting', assignment_id })
    await record(
      () => client.jobs.delete(assignment_id),
      () => ({ kind: 'deleted', assignment_id }),
    ).catch((error: unknown) => {
      // An earlier try had deleted it.
      if (!hasStatus(error, 404)) throw error
    })
  }

  async function list(client: Client): Promise<void> {
    const begun = now()
    const { items } = await client.jobs.list({ limit: 50 })
    for (const job of items) {
      note(seenJob(job), begun)
      keep(job)
    }
  }

  async function step(stop: () => boolean): Promise<void> {
    const chance = random()
    if (open.size < jobs && chance < 0.6) return submit(stop)
    if (chance > 0.98) return insist(list, stop)
    if (chance > 0.955 && ended.length > 0) {
      const [id] = ended.splice(Math.floor(random() * ended.length), 1)
      return insist((client) => remove(client, id!), stop)
    }
    const id = [...open][Math.floor(random() * open.size)]
    if (id === undefined) return pause(20)
    await insist((client) => see(client, id, chance > 0.9 ? WAIT_SECONDS : undefined), stop)
    await pause(random() * 60)
  }

  async function press(stop: () => boolean): Promise<void> {
    const client = async (): Promise<void> => {
      while (!stop()) {
        try {
          await step(stop)
        } catch (error) {
          faults.push(`A client was answered ${String(error)}.`)
          await pause(100)
        }
      }
    }
    await Promise.all(Array.from({ length: count }, client))
  }

  return { entries, open, faults, clients, insist, record, see, seen: seenJob, run, submit, press }
}
