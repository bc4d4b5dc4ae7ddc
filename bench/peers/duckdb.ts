/**
 * Runs DuckDB alone in a warm process. For each message {sql, threads, memory, times} it opens an engine, runs the
 * statements, reads every row, closes the engine, and answers with the milliseconds and the peak of its memory.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { DuckDBInstance } from '@duckdb/node-api'

export interface DuckDbAsk {
  sql: string[]
  threads: number
  memory: string
  times: number
}

export interface DuckDbAnswer {
  ms: number
  peak_bytes: number
}

async function once({ sql, threads, memory }: DuckDbAsk): Promise<void> {
  const instance = await DuckDBInstance.create(':memory:', { threads: String(threads), memory_limit: memory })
  const connection = await instance.connect()
  for (const statement of sql) await (await connection.stream(statement)).getRowsJS()
  connection.closeSync()
  instance.closeSync()
}

function peak(): number {
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))![1]) * 1024
}

process.on('message', (ask: DuckDbAsk) => {
  void (async () => {
    writeFileSync('/proc/self/clear_refs', '5')
    const began = performance.now()
    for (let time = 0; time < ask.times; time += 1) await once(ask)
    process.send!({ ms: performance.now() - began, peak_bytes: peak() } satisfies DuckDbAnswer)
  })()
})
process.on('disconnect', () => process.exit())
process.send!('ready')
