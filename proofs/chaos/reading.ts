/** Waits after the last fault until everything ends by itself, and then reads all that the service remembers. */
import { readFileSync } from 'node:fs'
import { type Client, ClientError } from '@assay/client'
import { ENDING_EVENTS } from '@assay/model/event'
import type { Entry, SeenMove } from '../../test/history/history.ts'
import type { ChaosNode } from './cluster.ts'
import { digestOf, type Load } from './load.ts'

const AT_ONCE = 8
/** The milliseconds of grace. They are longer than PostgreSQL keeps a transaction of a silent node. */
const GIVEN_UP_MS = 60_000
/** The time of the last record. No answer is later. */
const LAST = Number.MAX_SAFE_INTEGER

/** Polls until the condition holds. Resolves with false if it does not hold in time. */
async function comesToPass(holds: () => Promise<boolean> | boolean, ms: number): Promise<boolean> {
  const end = performance.now() + ms
  while (!(await holds())) {
    if (performance.now() > end) return false
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
  return true
}

export async function forEachOf<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
  const left = [...items]
  const worker = async (): Promise<void> => {
    for (let item = left.pop(); item !== undefined; item = left.pop()) await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
}

export interface Stuck {
  what: string
  /** The jobs whose histories are printed. */
  assignment_id: string | null
}

/** Waits for the end of everything. Returns what does not end by itself in time. */
export async function drain(
  load: Load,
  nodes: ChaosNode[],
  webhooks: string[],
  ms: number,
): Promise<Stuck[]> {
  if (!(await comesToPass(() => nodes.every((node) => node.ready()), ms)))
    return nodes
      .filter((node) => !node.ready())
      .map(({ name }) => ({ what: `The node ${name} did not come back.`, assignment_id: null }))
  const ran = new Set(load.entries.flatMap((one) => (one.kind === 'ran' ? [one.assignment_id] : [])))
  const created = load.entries.flatMap((one) => (one.kind === 'created' ? [one.assignment_id] : []))
  await forEachOf(new Set(created.filter((id) => !ran.has(id))), async (id) => {
    load.open.add(id)
    await load.insist((client) => load.run(client, id))
  })
  const look = async (): Promise<boolean> => {
    await forEachOf(load.open, async (id) => load.insist((client) => load.see(client, id)))
    return load.open.size === 0
  }
  if (!(await comesToPass(look, ms)))
    return [...load.open].map((id) => ({ what: `${id} does not end.`, assignment_id: id }))
  const stuck: Stuck[] = []
  for (const webhook_id of webhooks) {
    const rest = async (status: 'pending' | 'failed') =>
      (await load.insist((client) => client.webhooks.deliveries(webhook_id, { status, limit: 20 })))!.items
    await comesToPass(async () => (await rest('pending')).length === 0, ms)
    for (const delivery of [...(await rest('pending')), ...(await rest('failed'))])
      stuck.push({
        what: `The delivery ${delivery.delivery_id} (${delivery.event_type}) to ${webhook_id} is ${delivery.status} after ${delivery.attempt_count} attempts.`,
        assignment_id: delivery.assignment_id,
      })
  }
  return stuck
}

const isEnding = (type: string): boolean => (ENDING_EVENTS as readonly string[]).includes(type)
const hasEnded = (entry: Entry): entry is Extract<Entry, { kind: 'seen' }> =>
  entry.kind === 'seen' && entry.job.finished_at !== null

/** Reads every page of the list of jobs. */
async function readJobs(load: Load): Promise<void> {
  let cursor: string | undefined
  do {
    const begun = LAST
    const page = (await load.insist((client) =>
      client.jobs.list({ limit: 200, ...(cursor ? { cursor } : {}) }),
    ))!
    for (const job of page.items) {
      const at = { begun, ended: LAST }
      load.entries.push({ ...load.seen(job), ...at } as Entry)
      const key = job.metadata.key ?? '(none)'
      load.entries.push({ kind: 'kept', assignment_id: job.assignment_id, key, ...at })
    }
    cursor = page.next_cursor ?? undefined
  } while (cursor)
}

/**
 * Reads the events forward to the end. Events that an open transaction may precede appear once it has ended. A
 * transaction of a node that was cut off lasts until the database ends it.
 */
async function readEvents(load: Load, finished: Set<string>): Promise<void> {
  let cursor: string | undefined
  const patience = performance.now() + GIVEN_UP_MS
  for (;;) {
    const query = { order: 'oldest', limit: 200, ...(cursor ? { cursor } : {}) } as const
    const page = (await load.insist((client) => client.events.list(query)))!
    for (const { event_id, type, data } of page.items) {
      const { assignment_id, insight_id = null } = data as {
        assignment_id?: string
        insight_id?: string | null
      }
      if (assignment_id === undefined) continue
      if (isEnding(type)) finished.delete(assignment_id)
      load.entries.push({
        kind: 'event',
        event_id,
        type,
        assignment_id,
        insight_id,
        begun: LAST,
        ended: LAST,
      })
    }
    cursor = page.next_cursor ?? cursor
    if (page.items.length > 0) continue
    if (finished.size === 0 || performance.now() > patience) return
    await new Promise((resolve) => setTimeout(resolve, 200))
  }
}

/** Reads a stream. A node that was told to stop closes its port and is not asked again. */
async function readStream(url: string, token: string, assignment_id: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}`, accept: 'text/event-stream', 'last-event-id': '0' }
  try {
    const answer = await fetch(`${url}/v1alpha/jobs/events?assignment_id=${assignment_id}`, { headers })
    const text = await answer.text()
    if (answer.ok) return text
    throw new ClientError(text, answer.status, 'unexpected', null)
  } catch (error) {
    if (error instanceof ClientError) throw error
    throw new ClientError(String(error), 0, 'unreachable', null, error)
  }
}

/** Reads the moves of a job from its event stream, which holds all moves of a job that has ended. */
async function readMoves(load: Load, urls: string[], token: string, assignment_id: string): Promise<void> {
  let asked = 0
  const text = await load.insist(() => readStream(urls[asked++ % urls.length]!, token, assignment_id))
  const moves: SeenMove[] = []
  for (const [, data] of text!.matchAll(/^event: status\ndata: (.*)$/gm)) {
    const { job_status, attempt } = JSON.parse(data!) as SeenMove
    moves.push({ job_status, attempt })
  }
  load.entries.push({ kind: 'moves', assignment_id, moves, begun: LAST, ended: LAST })
}

async function readInsight(load: Load, assignment_id: string, insight_id: string): Promise<void> {
  const insight = (await load.insist((client: Client) => client.jobs.json(insight_id)))!
  load.entries.push({
    kind: 'insight',
    assignment_id: insight.assignment_id === assignment_id ? assignment_id : insight.assignment_id,
    insight_id,
    digest: digestOf(insight.markdown),
    begun: LAST,
    ended: LAST,
  })
}

interface AttemptLine {
  msg: string
  assignment_id: string
  attempt: number
  outcome: string
}

/** Reads from the logs what each node reports as written. */
export function readLogs(nodes: ChaosNode[]): { settled: Entry[]; lines: Map<string, string[]> } {
  const settled: Entry[] = []
  const lines = new Map<string, string[]>()
  for (const { name, logFile } of nodes) {
    for (const line of readFileSync(logFile, 'utf8').split('\n')) {
      // A kill may have cut the last line.
      if (!line.startsWith('{') || !line.endsWith('}')) continue
      for (const [id] of line.matchAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g)) {
        const own = lines.get(id) ?? []
        if (lines.set(id, own) && own.at(-1) !== line) own.push(`${name}: ${line}`)
      }
      if (!line.includes('"an attempt ended"')) continue
      const { assignment_id, attempt, outcome } = JSON.parse(line) as AttemptLine
      settled.push({ kind: 'settled', assignment_id, attempt, node: name, outcome, begun: LAST, ended: LAST })
    }
  }
  return { settled, lines }
}

/** Reads everything into the load's entries, after all has ended. */
export async function readAll(load: Load, urls: string[], token: string): Promise<void> {
  await readJobs(load)
  const kept = load.entries.filter((entry) => entry.kind === 'kept')
  const ended = new Set(load.entries.flatMap((one) => (hasEnded(one) ? [one.assignment_id] : [])))
  await readEvents(load, new Set(kept.map((one) => one.assignment_id).filter((id) => ended.has(id))))
  const ran = new Set(load.entries.flatMap((one) => (one.kind === 'ran' ? [one.assignment_id] : [])))
  await forEachOf(
    kept.filter(({ assignment_id }) => ran.has(assignment_id)),
    ({ assignment_id }) => readMoves(load, urls, token, assignment_id),
  )
  const there = new Set(kept.map(({ assignment_id }) => assignment_id))
  const insights = new Map<string, string>()
  for (const entry of load.entries)
    if (entry.kind === 'seen' && entry.job.insight_id && there.has(entry.assignment_id))
      insights.set(entry.job.insight_id, entry.assignment_id)
  await forEachOf(insights, ([insight_id, assignment_id]) => readInsight(load, assignment_id, insight_id))
}

/** Returns everything that is known of one job, in order. */
export function tellStory(assignment_id: string, entries: Entry[], lines: Map<string, string[]>): string[] {
  const seen = entries
    .filter((entry) => 'assignment_id' in entry && entry.assignment_id === assignment_id)
    .toSorted((a, b) => a.begun - b.begun)
    .map(
      ({ begun, ended, ...rest }) =>
        `${begun === LAST ? 'at the end' : `${begun} to ${ended}`}  ${JSON.stringify(rest)}`,
    )
  return [`The story of ${assignment_id}:`, ...seen, ...(lines.get(assignment_id) ?? [])].map(
    (line) => `    ${line}`,
  )
}
