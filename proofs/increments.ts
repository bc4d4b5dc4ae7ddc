/**
 * Random histories of a table, on each database: rows that come, come late, are marked or deleted, and definitions that
 * change. A run over kept days must equal a run from empty bit for bit. The audit must find every change that breaks
 * the declaration, and nothing else. `--histories N` (10,000) on each database, `--only KIND`, `--lanes N` at once. Each line says with which `--from N` to go on; `--minutes N` ends
 * after so long, `--patience N` where a history takes more seconds. MySQL and ClickHouse run where ASSAY_TEST_MYSQL and ASSAY_TEST_CLICKHOUSE name one.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Engine, openEngine } from '../packages/engine/duckdb/duckdb.ts'
import { tryHistory } from '../packages/engine/partitions/histories-fixture.ts'
import { randomFrom } from './calibration/processes.ts'
import { type TriedKind, triedKinds } from './increments/servers.ts'
import type { Proof, ProofInput } from './main.ts'

const HISTORIES = 10_000
/** Between two lines about how far it is. */
const BEAT_MS = 60_000
/** A history that takes longer stands still. */
const PATIENCE_SECONDS = 1800
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

/** The histories of one database: which are done, which are being tried, and what broke. */
class Tries {
  readonly broken: string[] = []
  readonly #begun = new Map<number, number>()
  readonly #name: string
  readonly #log: ProofInput['log']
  #next: number
  #until: number
  #done = 0
  #again = 0
  #told = { done: 0, cpu: process.cpuUsage() }

  constructor(name: string, { from, until, log }: { from: number; until: number; log: ProofInput['log'] }) {
    this.#name = name
    this.#next = from
    this.#until = until
    this.#log = log
  }

  /** The next history; null: all are taken. */
  take(): number | null {
    if (this.#next >= this.#until) return null
    const history = this.#next
    this.#next += 1
    this.#begun.set(history, performance.now())
    return history
  }

  end(history: number, found: readonly string[]): void {
    this.#begun.delete(history)
    this.broken.push(...found.map((one) => `${this.#name}, history ${history}: ${one}`))
    this.#done += 1
  }

  /** A server may be too busy to be reached. The history has its own seed, so it is the same one that is tried again. */
  again(history: number, error: Error): void {
    this.#again += 1
    this.#log(`${this.#name}: history ${history} is tried again: ${error.message}`)
  }

  /** Takes no more. */
  stop(): void {
    this.#until = this.#next
  }

  /** From here on none is done. */
  get rest(): number {
    return Math.min(this.#next, ...this.#begun.keys())
  }

  /** The longest that a history has been tried, in seconds, and which. */
  longest(): { history: number; seconds: number } | null {
    const [first] = [...this.#begun].toSorted(([, a], [, b]) => a - b)
    return first ? { history: first[0], seconds: (performance.now() - first[1]) / 1000 } : null
  }

  /** Also tells the time of the processor: a machine that is busy with others looks like one that stands still. */
  tell(): void {
    const { user, system } = process.cpuUsage(this.#told.cpu)
    const longest = this.longest()
    const now = longest ? `, number ${longest.history} for ${longest.seconds.toFixed(0)} s` : ''
    this.#log(
      `${this.#name}: ${this.#done} histories (${this.#done - this.#told.done} more, ${((user + system) / 1e6).toFixed(1)} s of processor time)${now}, ${this.#again} tried again, ${this.broken.length} broken promises; go on with --from ${this.rest}`,
    )
    this.#told = { done: this.#done, cpu: process.cpuUsage() }
  }
}

async function histories(
  name: string,
  { lanes, start }: TriedKind,
  { seed, number, log }: ProofInput,
): Promise<string[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'assay-increments-'))
  const server = await start(folder)
  const from = number('from', 0)
  const tries = new Tries(name, { from, until: from + number('histories', HISTORIES), log })
  const still = Promise.withResolvers<never>()
  const patience = number('patience', PATIENCE_SECONDS)
  const beat = setInterval(() => {
    tries.tell()
    const longest = tries.longest()
    if (longest && longest.seconds > patience)
      still.reject(
        new Error(
          `${name}, history ${longest.history} has stood still for ${longest.seconds.toFixed(0)} s; open: ${process.getActiveResourcesInfo().join(', ')}`,
        ),
      )
  }, BEAT_MS)
  const end = setTimeout(() => tries.stop(), number('minutes', 24 * 60) * 60_000)
  async function tried(history: number, table: string, engine: Engine): Promise<string[]> {
    // Its own seed, so that each can be repeated alone.
    const random = randomFrom(seed ^ Math.imul(history + 1, 0x9e3779b1))
    const options = { server, table, engine, random, data: folder, temp_folder: folder }
    return tryHistory({ ...options, violates: history % 2 === 1 })
  }
  async function lane(table: string): Promise<void> {
    for (let history = tries.take(); history !== null; ) {
      const engine = await openEngine()
      for (let count = 0; count < SHARED && history !== null; count += 1) {
        const one = history
        const found = await tried(one, table, engine).catch((error: Error) => {
          if (!/cannot be made|ETIMEDOUT|ECONNRESET/.test(error.message)) throw error
          tries.again(one, error)
          return tried(one, `${table}_again`, engine)
        })
        tries.end(history, found)
        history = tries.take()
      }
      engine.close()
    }
  }
  try {
    const all = Array.from({ length: number('lanes', lanes) }, (_, index) => lane(`tried_${index}`))
    await Promise.race([Promise.all(all), still.promise])
  } finally {
    tries.tell()
    clearInterval(beat)
    clearTimeout(end)
    await server.close()
    await rm(folder, { recursive: true, force: true })
  }
  return tries.broken
}
