/**
 * Runs the rows and writes the table. `npm start` runs every row in its long form. `npm start -- --short` runs the
 * short form, and `--medium` the short form except for the rows of 100 million rows. `npm start -- status start` runs
 * only these rows; the other rows of the table stay as they were measured. `npm start -- sources --of MariaDB` runs
 * only this kind of source and keeps nothing. `npm start -- scale --of ClickHouse --rows 1e8` does so over so many rows,
 * and `npm start -- beside --checkout FOLDER` measures the service beside that of another checkout.
 */
import path from 'node:path'
import { parseArgs } from 'node:util'
import type { Outcome } from './figure.ts'
import { outcomeOf, outcomeOfMissing } from './figure.ts'
import type { Row } from './measure.ts'
import { describeOutcome, keep, writeReadme } from './report.ts'
import { besideRow } from './rows/beside.ts'
import { blockRow } from './rows/block.ts'
import { claimCostRow } from './rows/claim-cost.ts'
import { createRunRow } from './rows/create-run.ts'
import { deliveriesRow } from './rows/deliveries.ts'
import { finishedJobsRow } from './rows/finished-jobs.ts'
import { hundredMillionRow } from './rows/hundred-million.ts'
import { jobsPerSecondRow } from './rows/jobs-per-second.ts'
import { latencyRow } from './rows/latency.ts'
import { memoryRow } from './rows/memory.ts'
import { nodesRow } from './rows/nodes.ts'
import { queuesRow } from './rows/queues.ts'
import { reportColdRow } from './rows/report-cold.ts'
import { runToCompletedRow } from './rows/run-to-completed.ts'
import { scaleRow } from './rows/scale.ts'
import { scalingRow } from './rows/scaling.ts'
import { sourcesRow } from './rows/sources.ts'
import { startRow } from './rows/start.ts'
import { statusRow } from './rows/status.ts'

const ROWS: Row[] = [
  statusRow,
  createRunRow,
  runToCompletedRow,
  jobsPerSecondRow,
  queuesRow,
  nodesRow,
  claimCostRow,
  deliveriesRow,
  latencyRow,
  hundredMillionRow,
  blockRow,
  reportColdRow,
  finishedJobsRow,
  sourcesRow,
  scaleRow,
  memoryRow,
  startRow,
  scalingRow,
  besideRow,
]
const TURNS = 5

const { values, positionals } = parseArgs({
  options: {
    short: { type: 'boolean', default: false },
    medium: { type: 'boolean', default: false },
    dry: { type: 'boolean', default: false },
    of: { type: 'string', default: '' },
    checkout: { type: 'string', default: '' },
    rows: { type: 'string', default: '' },
  },
  allowPositionals: true,
})
const unknown = positionals.filter((name) => !ROWS.some((row) => row.name === name))
if (unknown.length > 0) {
  process.stderr.write(
    `There is no row ${unknown.join(', ')}; there are ${ROWS.map(({ name }) => name).join(', ')}.\n`,
  )
  process.exit(64)
}
const checkout = values.checkout && path.resolve(process.env.INIT_CWD ?? '.', values.checkout)
const rows = values.rows === '' ? null : Number(values.rows)
const dry = values.dry || values.of !== '' || rows !== null
const chosen = ROWS.filter(({ name }) =>
  positionals.length === 0 ? name !== besideRow.name : positionals.includes(name),
)

/** In the medium form only rows about the size itself are long. */
function isShort(row: Row): boolean {
  return values.short || (values.medium && row !== hundredMillionRow)
}

async function outcomesOf(row: Row): Promise<Outcome[]> {
  const measured = await row.run({ short: isShort(row), turns: TURNS, of: values.of, checkout, rows })
  return measured.map((one) => ('turns' in one ? outcomeOf(one) : outcomeOfMissing(one)))
}

let failed = false
for (const row of chosen) {
  const began = performance.now()
  process.stdout.write(`${row.name}\n`)
  try {
    const outcomes = await outcomesOf(row)
    for (const outcome of outcomes) process.stdout.write(`  ${describeOutcome(outcome)}\n`)
    if (!dry) keep(row.name, isShort(row), outcomes)
  } catch (error) {
    failed = true
    process.stderr.write(`  ${(error as Error).stack ?? String(error)}\n`)
  }
  process.stdout.write(`  (${((performance.now() - began) / 1000).toFixed(0)} s)\n`)
}
if (!dry) writeReadme(ROWS.map(({ name }) => name))
process.exit(failed ? 1 : 0)
