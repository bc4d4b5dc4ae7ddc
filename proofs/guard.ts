/**
 * Whether the guard lets through a statement that touches more than its sources: random statements over DuckDB's whole grammar
 * (proofs/guard/grammar.ts), and for each that passes what DuckDB binds and answers (proofs/guard/oracle.ts).
 */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createGuard } from '../packages/engine/fence/sql-guard.ts'
import { sessionFault } from '../packages/engine/run/plan.ts'
import { randomFrom } from './calibration/processes.ts'
import { Grammar, SOURCES } from './guard/grammar.ts'
import { Oracle } from './guard/oracle.ts'
import type { Proof } from './main.ts'

export interface GuardReport {
  statements: number
  /** That the guard let through, and of those that DuckDB ran without an error. */
  passed: number
  ran: number
  /** Statements that passed and touch more. */
  holes: string[]
}

/** Statements between two lines of progress. */
const PROGRESS = 10_000
const NAMES = Object.keys(SOURCES)
const columnsOf = (name: string): { name: string }[] =>
  (SOURCES[name] ?? []).map((column) => ({ name: column }))

export interface GuardOptions {
  statements: number
  seed: number
  log?(line: string): void
}

const said = ({ statements, passed, ran, holes }: GuardReport): string =>
  `${statements} statements: ${passed} passed the guard, ${ran} of them ran, ${holes.length} holes`

export async function tryGuard({ statements, seed, log }: GuardOptions): Promise<GuardReport> {
  const oracle = await Oracle.open(await mkdtemp(path.join(tmpdir(), 'assay-guard-')))
  const report: GuardReport = { statements: 0, passed: 0, ran: 0, holes: [] }
  try {
    const guard = createGuard(oracle.engine)
    const grammar = new Grammar(randomFrom(seed), oracle.lists, oracle.outside)
    while (report.statements < statements && report.holes.length < 50) {
      const sql = grammar.statement()
      report.statements += 1
      const verdict = await guard.judge(sql, NAMES)
      if (verdict.ok && sessionFault(verdict.session, columnsOf) === null) {
        const { sources, outside, bound } = await oracle.touches(sql)
        report.passed += 1
        report.ran += bound ? 1 : 0
        const untold = sources
          .filter((name) => !verdict.reads.includes(name))
          .map((name) => `It reads ${name} unnoticed.`)
        const [why] = [...outside, ...untold]
        if (why !== undefined) {
          const hole = `${why} ${JSON.stringify(sql)}`
          report.holes.push(hole)
          // A run takes an hour or more, and may be cut off.
          log?.(`HOLE at statement ${report.statements}: ${hole}`)
        }
      }
      if (report.statements % PROGRESS === 0) log?.(said(report))
    }
  } finally {
    await oracle.close()
  }
  return report
}

export const proof: Proof = {
  summary:
    "random statements over DuckDB's grammar: none that touches more than its sources passes [--statements 1000000]",
  async run({ seed, number, log }) {
    const report = await tryGuard({ statements: number('statements', 1_000_000), seed, log })
    log(said(report))
    return report.holes
  },
}
