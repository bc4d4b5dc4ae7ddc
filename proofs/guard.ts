/**
 * Tests whether the guard admits a statement that touches more than its sources: it tries random statements over
 * DuckDB's whole grammar (proofs/guard/grammar.ts), and examines what DuckDB binds and answers for each admitted one
 * (proofs/guard/oracle.ts).
 *
 * Statements are tried in processes of their own (guard/stretch.ts), each for a stretch. One that ends its process is
 * named, left out, and the stretch goes on.
 */

import { inProcesses } from './guard/processes.ts'
import { type GuardReport, NOTHING, together } from './guard/report.ts'
import type { Proof } from './main.ts'

const said = ({ statements, passed, ran, holes, ended }: GuardReport): string =>
  `${statements} statements: ${passed} passed the guard, ${ran} of them ran, ${holes.length} holes, ${ended.length} ended their process`

export const proof: Proof = {
  summary:
    "random statements over DuckDB's grammar: none that touches more than its sources passes [--statements 1000000 --from 0 --processes 2]",
  async run({ seed, number, log }) {
    let report = NOTHING
    const from = number('from', 0)
    const to = from + number('statements', 1_000_000)
    await inProcesses({ seed, from, to, processes: number('processes', 2) }, (part) => {
      report = together(report, part)
      for (const one of [...part.holes, ...part.ended]) log(one)
      log(said(report))
      return report.holes.length < 50
    })
    return [...report.holes, ...report.ended]
  },
}
