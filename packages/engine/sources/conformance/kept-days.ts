/**
 * Tests what a database promises about kept days if it goes away in the middle, the job is canceled or a limit ends
 * the query. The days that were read before stay and are right, and no query goes on running there.
 */
import assert from 'node:assert/strict'
import type { Proxy } from '../../../../test/servers/proxy.ts'
import { MemoryKeeper } from '../../partitions/histories-fixture.ts'
import type { PartitionKeeper } from '../../partitions/keeper.ts'
import type { ConnectionAccess } from '../../run/connection-requests.ts'
import { findingsOf, type TestPool, templateOf } from '../../run/test-pool.ts'
import type { Adding } from './metrics.ts'

/** A condition that takes a minute for each row. */
const SLOW: Record<string, string> = { postgresql: 'pg_sleep(60) is not null', mysql: 'sleep(60) = 0' }
const ENDS = ['cancel', 'away', 'limit'] as const
/** The first stretch that is read and kept, before the row that is slow. */
const FIRST = 100

export interface Ending {
  server: Pick<Adding, 'kind' | 'execute'>
  /** Gives the same connection with another limit of time, through a proxy if `port` is given. */
  connections(over: { port: number | null; timeout_seconds: number }): ConnectionAccess
  /** Resolves to the number of our queries that run there. */
  running(): Promise<number>
  until(holds: () => Promise<boolean>): Promise<void>
  proxy: Proxy
}

function templateFor(slow: string): ReturnType<typeof templateOf> {
  const sql = `select paid_at, amount from kept_tried where paid_at < '2025-05-01' or ${slow}`
  const metric = `metric: tried\nsource: { connection: remote, sql: "${sql}" }\ntime: { column: paid_at }\nvalue: sum(amount)\npartitions: { reopen: 2d, deletes: none }\n`
  const source = '```metric a\nmetric: tried\nperiod: 2025-01-01..2025-12-31\n```\n\n# A\n\n{{ a.size }}\n'
  return templateOf(source, { 'metrics/tried.yaml': metric })
}

export async function keptDaysOutlive(
  { server, connections, running, until, proxy }: Ending,
  bench: TestPool,
): Promise<void> {
  const slow = SLOW[server.kind]
  if (slow === undefined) return
  const template = templateFor(slow)
  await server.execute('drop table if exists kept_tried')
  await server.execute('create table kept_tried (paid_at date, amount integer)')
  await server.execute(
    "insert into kept_tried values ('2025-01-01', 1), ('2025-01-01', 2), ('2025-02-03', 4)",
  )
  for (const end of ENDS) {
    await server.execute("insert into kept_tried values ('2025-06-01', 8)")
    const memory = new MemoryKeeper()
    const kept = (): string[] => [...memory.series.values()].flatMap(({ days }) => Object.keys(days))
    const port = end === 'away' ? proxy.port : null
    const run = (keeper: PartitionKeeper | null, signal?: AbortSignal, timeout_seconds = 60) => {
      const access = { ...connections({ port, timeout_seconds }), ...(keeper ? { keeper } : {}) }
      return bench.run(template, {}, { connections: access, ...(signal ? { signal } : {}) })
    }
    const stop = new AbortController()
    const ended = run(memory, stop.signal, end === 'limit' ? 3 : 60)
    await until(async () => kept().length === FIRST && (await running()) === 1)
    if (end === 'cancel') stop.abort()
    if (end === 'away') {
      proxy.cut()
      // The request that ends the query reaches the database again.
      proxy.mend()
    }
    const result = await ended
    assert.equal(result.status, end === 'cancel' ? 'stopped' : 'failed', end)
    if (result.status === 'failed')
      assert.match(result.error.detail, end === 'away' ? /broke off/ : /longer than (3 s|the limits)/)
    await until(async () => (await running()) === 0)
    assert.equal(kept().length, FIRST, end)
    await server.execute("delete from kept_tried where paid_at = '2025-06-01'")
    const after = findingsOf(await run(memory))
    assert.deepEqual(after.tables.a!.rows, findingsOf(await run(null)).tables.a!.rows, end)
    const { days } = after.lineage.sources[0]!.remote!
    assert.deepEqual([days!.kept, days!.read[0]!.from], [FIRST, '2025-04-11'], end)
  }
}
