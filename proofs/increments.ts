/**
 * Random histories of a table, on each database: rows that come, come late, are marked or deleted, and definitions that
 * change. A run over kept days must equal a run from empty bit for bit. The audit must find every change that breaks
 * the declaration, and nothing else. `--histories N` (10,000) on each database, `--only KIND`, `--from N` to go on, `--lanes N` at once. MySQL
 * and ClickHouse run where ASSAY_TEST_MYSQL and ASSAY_TEST_CLICKHOUSE name one.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { openEngine } from '../packages/engine/duckdb/duckdb.ts'
import { tryHistory } from '../packages/engine/partitions/histories-fixture.ts'
import { randomFrom } from './calibration/processes.ts'
import { type TriedKind, triedKinds } from './increments/servers.ts'
import type { Proof, ProofInput } from './main.ts'

const HISTORIES = 10_000
const TOLD = 100
/** Histories that share an engine. */
const SHARED = 50

export const proof: Proof = {
  summary: 'kept days of metrics beside runs from empty, bit by bit, over random histories',
  async run(input) {
    const broken: string[] = []
    const only = input.text('only', '')
    for (const [name, kind] of Object.entries(triedKinds())) {
      if (only !== '' && only !== name) continue
      const reason = await kind.missing()
      if (reason === null) broken.push(...(await histories(name, kind, input)))
      else input.log(`${name}: not run, ${reason}`)
    }
    return broken
  },
}

async function histories(
  name: string,
  { lanes, start }: TriedKind,
  { seed, number, log }: ProofInput,
): Promise<string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'assay-increments-'))
  const server = await start(folder)
  const broken: string[] = []
  const from = number('from', 0)
  const until = from + number('histories', HISTORIES)
  let next = from
  let done = 0
  async function lane(table: string): Promise<void> {
    while (next < until) {
      const engine = await openEngine()
      for (let count = 0; count < SHARED && next < until; count += 1) {
        const history = next
        next += 1
        // Its own seed, so that each can be repeated alone.
        const random = randomFrom(seed ^ Math.imul(history + 1, 0x9e3779b1))
        const options = { server, table, engine, random, data: folder, temp_folder: folder }
        const found = await tryHistory({ ...options, violates: history % 2 === 1 })
        broken.push(...found.map((one) => `${name}, history ${history}: ${one}`))
        done += 1
        if (done % TOLD === 0) log(`${name}: ${done} histories, ${broken.length} broken promises`)
      }
      engine.close()
    }
  }
  try {
    await Promise.all(Array.from({ length: number('lanes', lanes) }, (_, index) => lane(`tried_${index}`)))
    log(`${name}: ${done} histories from ${from}, ${broken.length} broken promises`)
  } finally {
    await server.close()
    await rm(folder, { recursive: true, force: true })
  }
  return broken
}
