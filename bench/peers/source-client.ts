/**
 * A database's own client (its usual library for Node), which reads every row of a query and discards it. For files
 * it downloads to the disk and runs DuckDB alone over the file. For each message it answers with the milliseconds and
 * the peak of its memory.
 */
import { createWriteStream, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ReadableStream } from 'node:stream/web'
import { DuckDBInstance } from '@duckdb/node-api'
import mysql from 'mysql2'
import { Client, type Submittable } from 'pg'

export interface ClientAsk {
  kind: 'postgresql' | 'mysql' | 'clickhouse' | 'sqlite' | 'file'
  /** The address of the server, or the path of the database or of the file. */
  address: string
  /** For a file: the query over the table `facts`. */
  sql: string
}

export interface ClientAnswer {
  ms: number
  peak_bytes: number
}

/** Reads rows as psql's \copy does. */
class Copy implements Submittable {
  readonly #sql: string
  readonly #ended = Promise.withResolvers<void>()
  readonly done = this.#ended.promise
  constructor(sql: string) {
    this.#sql = `copy (${sql}) to stdout`
  }
  submit(connection: unknown): void {
    ;(connection as { query(sql: string): void }).query(this.#sql)
  }
  handleCopyData(): void {}
  handleCommandComplete(): void {}
  handleError(error: Error): void {
    this.#ended.reject(error)
  }
  handleReadyForQuery(): void {
    this.#ended.resolve()
  }
}

const READERS: Record<ClientAsk['kind'], (ask: ClientAsk) => Promise<void>> = {
  async postgresql({ address, sql }) {
    const client = new Client({ connectionString: address })
    await client.connect()
    await client.query(new Copy(sql)).done
    await client.end()
  },
  async mysql({ address, sql }) {
    const connection = mysql.createConnection({ uri: address, rowsAsArray: true })
    for await (const _row of connection.query(sql).stream({ highWaterMark: 4096 }));
    connection.destroy()
  },
  async clickhouse({ address, sql }) {
    const answer = await fetch(address, { method: 'POST', body: sql })
    let last = ''
    for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) last = piece
    if (!answer.ok || last.includes('__exception__')) throw new Error(last)
  },
  sqlite({ address, sql }) {
    const database = new DatabaseSync(address, { readOnly: true })
    for (const _row of database.prepare(sql).iterate());
    database.close()
    return Promise.resolve()
  },
  async file({ address, sql }) {
    const file = path.join(tmpdir(), `assay-bench-${process.pid}${path.extname(new URL(address).pathname)}`)
    const { body } = await fetch(address)
    await pipeline(Readable.fromWeb(body as ReadableStream), createWriteStream(file))
    const instance = await DuckDBInstance.create(':memory:', { threads: '1', memory_limit: '1GB' })
    const connection = await instance.connect()
    await connection.run(`create view facts as from '${file}'`)
    await (await connection.stream(sql)).getRowsJS()
    connection.closeSync()
    instance.closeSync()
    rmSync(file)
  },
}

process.on('message', (ask: ClientAsk) => {
  void (async () => {
    writeFileSync('/proc/self/clear_refs', '5')
    const began = performance.now()
    await READERS[ask.kind](ask)
    const ms = performance.now() - began
    const peak = Number(/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))![1]) * 1024
    process.send!({ ms, peak_bytes: peak } satisfies ClientAnswer)
  })()
})
process.on('disconnect', () => process.exit())
process.send!('ready')
