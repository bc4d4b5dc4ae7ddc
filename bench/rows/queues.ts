/**
 * Measures jobs with a result of 10 kB and an outbox row on PostgreSQL, one at a time and in batches, beside equally
 * durable queue libraries.
 */
import { systemClock } from '@assay/model/clock'
import { openStore } from '@assay/store/open'
import { missingPostgres, startPostgres } from '../../test/servers/postgres.ts'
import { atLeast, type Figure, type Missing } from '../figure.ts'
import { type Form, inTurns } from '../measure.ts'
import { type Cost, costMeter, costText } from '../queue-cost.ts'
import { addWebhook, assay, boss, bull, graphile, type Meter, type Mode } from '../queues.ts'
import { startRedis } from '../redis.ts'

const WORK = 'claim and settle of jobs with a result of 10 kB and a delivery to one webhook, PostgreSQL'
const AHEAD = { text: 'ahead (over 1)', holds: (ratio: number) => ratio > 1 }
const BARE = 'ours in a workspace without a webhook'
const WITH_WEBHOOK = atLeast(0.7)
const NOTE = 'ours also writes each move, two events and a card; BullMQ writes neither result nor delivery'

export const queuesRow = {
  name: 'queues',
  run: (form: Form): Promise<(Figure | Missing)[]> => withServers(form),
}

interface Peer {
  name: string
  /** The address of its PostgreSQL. Null for another database, whose processor time is not measured. */
  url: string | null
  /** Jobs a second. */
  run(mode: Mode, count: number, meter?: Meter): Promise<number>
}

function titleOf(mode: Mode): string {
  return `${WORK}, ${mode === 'single' ? 'one at a time' : 'in batches'}`
}

async function withServers(form: Form): Promise<(Figure | Missing)[]> {
  const absent = await missingPostgres()
  if (absent !== null)
    return [
      {
        work: titleOf('single'),
        beside: 'graphile-worker, pg-boss, BullMQ',
        aim: AHEAD.text,
        reason: absent,
      },
    ]
  const postgres = await startPostgres({ fsync: 'on', full_page_writes: 'on', autovacuum: 'on' })
  const redis = await startRedis()
  try {
    const name = (peer: string) => postgres.createDatabase(`bench_${peer}_${process.pid}`)
    const [ours, bare] = [await name('assay'), await name('bare')]
    const [graphileUrl, bossUrl] = [await name('graphile'), await name('boss')]
    const peers: Peer[] = [
      {
        name: 'graphile-worker',
        url: graphileUrl,
        run: (...given) => graphile(graphileUrl, ...given),
      },
      { name: 'pg-boss', url: bossUrl, run: (...given) => boss(bossUrl, ...given) },
    ]
    if (redis)
      peers.push({
        name: `BullMQ (Redis, ${redis.settings})`,
        url: null,
        run: (mode, count) => bull(redis.url, mode, count),
      })
    const figures = await measure(form, ours, bare, peers)
    if (redis) return figures
    const reason = 'it needs Redis: set BENCH_REDIS, or put redis-server on the path'
    return [...figures, { work: titleOf('single'), beside: 'BullMQ', aim: AHEAD.text, reason }]
  } finally {
    await redis?.stop()
    await postgres.stop()
  }
}

async function measure(
  { turns, short }: Form,
  url: string,
  bareUrl: string,
  peers: Peer[],
): Promise<Figure[]> {
  const open = (at: string) => openStore({ url: at, home: '', clock: systemClock, publicUrl: null })
  const [store, bare] = [await open(url), await open(bareUrl)]
  const all: Peer[] = [{ name: BARE, url: bareUrl, run: (...given) => assay(bare, ...given) }, ...peers]
  const figures: Figure[] = []
  try {
    await addWebhook(store)
    for (const mode of ['single', 'batch'] as const) {
      const count = mode === 'single' ? (short ? 200 : 500) : short ? 1000 : 5000
      for (const peer of all) {
        const [ours, theirs]: [Cost[], Cost[]] = [[], []]
        const rates = await inTurns(
          turns,
          () => assay(store, mode, count, costMeter(url, ours)),
          () => peer.run(mode, count, peer.url === null ? undefined : costMeter(peer.url, theirs)),
        )
        const aim = peer.name === BARE ? WITH_WEBHOOK : AHEAD
        figures.push({
          work: titleOf(mode),
          beside: peer.name,
          aim,
          compare: 'ratio',
          unit: 'jobs/s',
          turns: rates,
          note: `${NOTE}. ${costText(ours, theirs)}`,
        })
      }
    }
  } finally {
    await bare.close()
    await store.close()
  }
  return figures
}
