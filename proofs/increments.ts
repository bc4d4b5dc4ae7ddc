/**
 * Tries random histories of a table on each database: rows arrive, arrive late, are marked or deleted, and definitions
 * change. A run over kept days must equal a run from empty bit for bit. The audit must find every change that breaks
 * the declaration, and nothing else.
 *
 * `--histories N` (10,000) on each database, `--only KIND` for one database, `--lanes N` at once. Each line of progress
 * names the `--from N` that continues the run. `--minutes N` ends the run after that time, and `--patience N` if a
 * history takes more seconds. MySQL and ClickHouse run if ASSAY_TEST_MYSQL and ASSAY_TEST_CLICKHOUSE name a server.
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
/** The milliseconds between two lines of progress. */
const BEAT_MS = 60_000
/** The seconds after which a history counts as stuck. */
const PATIENCE_SECONDS = 1800
/** The number of histories that share an engine. */
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

/** Keeps the histories of one database: the finished ones, those under way, and the broken promises. */
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

  /** Takes the next history. Returns null if all are taken. */
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

  /**
   * Logs that a history is tried again, because a busy server could not be reached. Its own seed makes it the same
   * history.
   */
  again(history: number, error: Error): void {
    this.#again += 1
    this.#log(`${this.#name}: history ${history} is tried again: ${error.message}`)
  }

  /** Lets no further history be taken. */
  stop(): void {
    this.#until = this.#next
  }

  /** Returns the first history that is not done. All before it are done. */
  get rest(): number {
    return Math.min(this.#next, ...this.#begun.keys())
  }

  /** Returns the history that is under way for the longest time, with its seconds. */
  longest(): { history: number; seconds: number } | null {
    const [first] = [...this.#begun].toSorted(([, a], [, b]) => a - b)
    return first ? { history: first[0], seconds: (performance.now() - first[1]) / 1000 } : null
  }

  /**
   * Prints the progress with the processor time, which tells a stuck history from a machine that other programs keep
   * busy.
   */
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
    // Each history has its own seed, so that it can be repeated alone.
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
