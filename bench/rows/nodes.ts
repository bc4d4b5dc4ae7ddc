/** Measures claims and settles on PostgreSQL as worker nodes are added. */
import { systemClock } from '@assay/model/clock'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { missingPostgres, startPostgres } from '../../test/servers/postgres.ts'
import type { Figure, Missing } from '../figure.ts'
import { type Form, inTurns, startPeer } from '../measure.ts'
import { queueEmpty } from '../queues.ts'

const WORK = 'claim and settle of empty jobs, PostgreSQL'

export const nodesRow = {
  name: 'nodes',
  async run(form: Form): Promise<(Figure | Missing)[]> {
    const absent = await missingPostgres()
    if (absent !== null) return [{ work: WORK, beside: 'more nodes, more jobs', aim: '', reason: absent }]
    const postgres = await startPostgres({ fsync: 'on', full_page_writes: 'on', autovacuum: 'on' })
    const url = await postgres.createDatabase(`bench_nodes_${process.pid}`)
    const store = await openStore({ url, home: '', clock: systemClock, publicUrl: null })
    try {
      return await adding(form, { url, store })
    } finally {
      await store.close()
      await postgres.stop()
    }
  },
}

interface Opened {
  url: string
  store: Store
}

/** Measures two and four nodes beside one. Each node is a process, and all work until the queue is empty. */
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
