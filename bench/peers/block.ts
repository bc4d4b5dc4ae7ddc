/**
 * Runs one trivial block in a warm engine many times. `ours`: the guard judges it, it is prepared, bound, and read
 * into a table as in a job. `theirs`: DuckDB alone, with its rows as plain values. Both run in this process, which
 * answers with milliseconds.
 */
import { DuckDBInstance } from '@duckdb/node-api'
import { readTable } from '../../packages/engine/duckdb/duckdb.ts'
import { createGuard } from '../../packages/engine/fence/sql-guard.ts'

export interface BlockAsk {
  side: 'ours' | 'theirs'
  sql: string
  times: number
}

const instance = await DuckDBInstance.create(':memory:', { threads: '1' })
const connection = await instance.connect()
const engine = { connection, memory_bytes: 0, close: () => undefined }
const guard = createGuard(engine)

async function once({ side, sql }: BlockAsk): Promise<void> {
  if (side === 'theirs') {
    await (await connection.stream(sql)).getRowsJS()
    return
  }
  const verdict = await guard.judge(sql, [])
  if (!verdict.ok) throw new Error(verdict.fault.message)
  await readTable(engine, sql, {}, 1000)
}

process.on('message', (ask: BlockAsk) => {
  void (async () => {
    const began = performance.now()
    for (let time = 0; time < ask.times; time += 1) await once(ask)
    process.send!(performance.now() - began)
  })()
})
process.on('disconnect', () => process.exit())
process.send!('ready')
