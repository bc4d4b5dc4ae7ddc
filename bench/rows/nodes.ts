/** Claims and settles on PostgreSQL as worker nodes are added, and as what lies in the store grows. */
import { Client } from 'pg'
import { systemClock } from '../../src/runtime/clock.ts'
import { openStore } from '../../src/store/open.ts'
import type { Store } from '../../src/store/store.ts'
import { missingPostgres, startPostgres } from '../../test/postgres.ts'
import { atLeast, type Figure, type Missing } from '../figure.ts'
import { type Form, inTurns, startPeer } from '../measure.ts'
import { assay, queueEmpty } from '../queues.ts'

const WORK = 'claim and settle of empty jobs, PostgreSQL'

export const nodesRow = {
  name: 'nodes',
  async run(form: Form): Promise<(Figure | Missing)[]> {
    const absent = await missingPostgres()
    if (absent !== null) return [{ work: WORK, beside: 'more nodes, more jobs', aim: '', reason: absent }]
    const postgres = await startPostgres({ fsync: 'on', full_page_writes: 'on', autovacuum: 'on' })
    const open = async (name: string) => {
      const url = await postgres.createDatabase(`bench_${name}_${process.pid}`)
      return { url, store: await openStore({ url, home: '', clock: systemClock, publicUrl: null }) }
    }
    const [many, few] = [await open('many'), await open('few')]
    try {
      return [...(await growing(form, many, few.store)), ...(await adding(form, few))]
    } finally {
      await many.store.close()
      await few.store.close()
      await postgres.stop()
    }
  },
}

interface Opened {
  url: string
  store: Store
}

/** Two and four nodes, each a process, beside one: all work until the queue is empty. */
async function adding({ turns, short }: Form, { url, store }: Opened): Promise<Figure[]> {
  const count = short ? 1000 : 5000
  const nodes = await Promise.all([1, 2, 3, 4].map((number) => startPeer('node.ts', [url, `node-${number}`])))
  const rate = async (working: number): Promise<number> => {
    await queueEmpty(store, count)
    const began = performance.now()
    const done = await Promise.all(nodes.slice(0, working).map((node) => node.ask<number>('drain')))
    if (done.reduce((sum, one) => sum + one, 0) !== count)
      throw new Error(`Not each job was run once: ${done.join(', ')}.`)
    return (count * 1000) / (performance.now() - began)
  }
  const figures: Figure[] = []
  try {
    for (const working of [2, 4])
      figures.push({
        work: `${WORK}, 20 at a time on each of ${working} worker nodes`,
        beside: 'the same on one node',
        aim: null,
        compare: 'ratio',
        unit: 'jobs/s',
        turns: await inTurns(
          turns,
          () => rate(working),
          () => rate(1),
        ),
        note: 'the database and all nodes share the machine',
      })
  } finally {
    await Promise.all(nodes.map((node) => node.stop()))
  }
  return figures
}

/** A job of the store again, $1 times, in the state $2. */
const COPY = `
  INSERT INTO jobs (assignment_id, workspace_id, user_id, template_id, template_version, job_status, priority, attempt,
    created_at, queued_at, finished_at, progress, error, moves, metadata, variables)
  SELECT gen_random_uuid()::text, workspace_id, user_id, template_id, template_version, $2,
    priority, attempt, created_at, queued_at, CASE WHEN $2 = 'queued' THEN NULL ELSE finished_at END, progress, error,
    moves, metadata, variables
  FROM (SELECT * FROM jobs LIMIT 1) AS one, generate_series(1, $1)`

async function copy(url: string, count: number, status: 'queued' | 'canceled'): Promise<void> {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(COPY, [count, status])
  await client.end()
}

/** One at a time, beside an almost empty store. */
async function growing({ turns, short }: Form, many: Opened, few: Store): Promise<Figure[]> {
  const jobs = short ? 100 : 300
  const million = short ? 100_000 : 1_000_000
  const figures: Figure[] = []
  await assay(many.store, 'single', 1)
  for (const [status, count] of [
    ['canceled', million],
    ['queued', million],
  ] as const) {
    await copy(many.url, count, status)
    const what = status === 'queued' ? 'more of them queued' : 'finished jobs'
    figures.push({
      work: `${WORK}, one at a time, with ${count.toLocaleString('en-US')} ${what}`,
      beside: 'an almost empty store',
      aim: atLeast(0.9),
      compare: 'ratio',
      unit: 'jobs/s',
      turns: await inTurns(
        turns,
        () => assay(many.store, 'single', jobs),
        () => assay(few, 'single', jobs),
      ),
    })
  }
  return figures
}
