/** Sends random statements to the guard, and those that pass to the oracle. */
import { createGuard } from '../../packages/engine/fence/sql-guard.ts'
import { sessionFault } from '../../packages/engine/run/plan.ts'
import { randomFrom } from '../calibration/processes.ts'
import { Grammar, SOURCES } from './grammar.ts'
import { Oracle } from './oracle.ts'
import { type GuardReport, NOTHING } from './report.ts'

const NAMES = Object.keys(SOURCES)
const columnsOf = (name: string): { name: string }[] =>
  (SOURCES[name] ?? []).map((column) => ({ name: column }))

export interface Stretch {
  seed: number
  /** The index of the first statement, from 0, and that after the last. */
  from: number
  to: number
  /** The indexes of statements that are not tried. */
  without?: readonly number[]
}

export interface Watching {
  /** Called before the guard reads a statement, and again before the engine runs it. */
  before?(at: number, sql: string, passed: boolean): void
  /** Called with the results since the last call. */
  report?(part: GuardReport): void
}

/**
 * The number of statements between two reports, and of one generator. A stretch can so begin without the statements
 * before it.
 */
const PART = 1_000

/** Returns the seed of the part with the statement. */
const seedOf = (seed: number, at: number): number =>
  Math.imul(seed ^ Math.imul(Math.floor(at / PART) + 1, 0x9e3779b1), 0x85ebca6b)

/** Tries statements. `folder`: a folder for this call alone. */
export async function tryGuard(
  { seed, from, to, without = [] }: Stretch,
  folder: string,
  { before, report }: Watching = {},
): Promise<GuardReport> {
  const oracle = await Oracle.open(folder)
  let part: GuardReport = { ...NOTHING, holes: [] }
  try {
    const guard = createGuard(oracle.engine)
    const grammarAt = (at: number) => new Grammar(randomFrom(seedOf(seed, at)), oracle.lists, oracle.outside)
    let grammar = grammarAt(from)
    for (let at = from - (from % PART); at < to; at += 1) {
      if (at % PART === 0) grammar = grammarAt(at)
      const sql = grammar.statement()
      if (at < from) continue
      part.statements += 1
      if (!without.includes(at)) {
        before?.(at, sql, false)
        const verdict = await guard.judge(sql, NAMES)
        if (verdict.ok && sessionFault(verdict.session, columnsOf) === null) {
          before?.(at, sql, true)
          const { sources, outside, bound } = await oracle.touches(sql)
          part.passed += 1
          part.ran += bound ? 1 : 0
          const untold = sources
            .filter((name) => !verdict.reads.includes(name))
            .map((name) => `It reads ${name} unnoticed.`)
          const [why] = [...outside, ...untold]
          if (why !== undefined) part.holes.push(`HOLE at statement ${at}: ${why} ${JSON.stringify(sql)}`)
        }
      }
      if (report && (part.statements === PART || at === to - 1)) {
        report(part)
        part = { ...NOTHING, holes: [] }
      }
    }
  } finally {
    await oracle.close()
  }
  return part
}
