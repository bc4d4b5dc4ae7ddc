/**
 * Measures a report over 3 million flights from a cold process: `assay run`, beside DuckDB alone and a framework for
 * reports with the same queries.
 */
import { readFileSync, rmSync } from 'node:fs'
import path from 'node:path'
import { sampleFiles } from '@assay/engine/reading/samples'
import { atMost, type Figure, type Missing } from '../figure.ts'
import { environment, type Form, inTurns, ROOT, withFolder } from '../measure.ts'
import { runTree, type TreeUse } from '../process-tree.ts'

export const reportColdRow = {
  name: 'report-cold',
  run: (form: Form): Promise<(Figure | Missing)[]> => withFolder((home) => measure(form, home)),
}

const run = (file: string, args: string[], home: string): Promise<TreeUse> =>
  runTree({
    file: process.execPath,
    args: [file, ...args],
    cwd: ROOT,
    env: environment({ ASSAY_HOME: home, ASSAY_LOG_LEVEL: 'error' }),
  })

const FRAMEWORK = path.join(ROOT, 'bench/peers/framework')
const version = (
  JSON.parse(
    readFileSync(path.join(ROOT, 'bench/node_modules/@observablehq/framework/package.json'), 'utf8'),
  ) as { version: string }
).version

/** Builds the report by the framework's own command, without its cache and without an earlier build. */
async function buildFramework(sql: string): Promise<TreeUse> {
  for (const left of ['dist', 'src/.observablehq'])
    rmSync(path.join(FRAMEWORK, left), { recursive: true, force: true })
  return runTree({
    file: process.execPath,
    args: [
      path.join(ROOT, 'bench/node_modules/@observablehq/framework/dist/bin/observable.js'),
      'build',
      '--root',
      'src',
    ],
    cwd: FRAMEWORK,
    env: environment({ OBSERVABLE_TELEMETRY_DISABLE: 'true', REPORT_SQL: sql }),
  })
}

/** Returns the SQL of flight-delays, without analyses, prose and charts. */
function statements(): string[] {
  const flights = `read_parquet('${sampleFiles()['flights-3m.parquet']}')`
  const month = `${flights} where date >= '2001-06-01' and date < '2001-07-01'`
  return [
    `select cast(date as date) as day, count(*), avg(delay) from ${flights} where date >= '2001-05-02' and date < '2001-07-01' group by day order by day`,
    `select origin, count(*), avg(delay) from ${month} group by origin order by 3 desc`,
    `select hour(date) as hour, count(*), avg(delay) from ${month} group by hour order by hour`,
  ]
}

async function measure({ turns }: Form, home: string): Promise<(Figure | Missing)[]> {
  const sql = JSON.stringify(statements())
  const assay = () => run('bin/assay.js', ['run', 'templates/flight-delays.md'], home)
  const duckdb = () => run(path.join(ROOT, 'bench/peers/queries.ts'), [sql], home)
  const work = 'a report over 3 million flights, cold process to Markdown (`assay run`)'
  const floor = await inTurns(turns, assay, duckdb)
  const peer = await inTurns(turns, assay, () => buildFramework(sql))
  const beside = `Observable Framework ${version}: a cold build to a page`
  const note = 'three such queries; it leaves the two charts to the browser and has no statistics'
  return [
    {
      work,
      beside:
        'the floor: a cold process with DuckDB alone and three such queries, no statistics, prose or charts',
      aim: null,
      compare: 'difference',
      unit: 'ms',
      turns: floor.map(({ ours, theirs }) => ({ ours: ours.ms, theirs: theirs.ms })),
    },
    {
      work: `${work}: time`,
      beside,
      aim: atMost(1),
      compare: 'ratio',
      unit: 'ms',
      turns: peer.map(({ ours, theirs }) => ({ ours: ours.ms, theirs: theirs.ms })),
      note,
    },
    {
      work: `${work}: peak memory of all processes`,
      beside,
      aim: atMost(1),
      compare: 'ratio',
      unit: 'MB',
      turns: peer.map(({ ours, theirs }) => ({
        ours: ours.peak_bytes / 1e6,
        theirs: theirs.peak_bytes / 1e6,
      })),
      note,
    },
    {
      work,
      beside: 'Evidence 40.1.8',
      aim: 'ahead, in time and memory',
      reason:
        'it installs from npm (769 packages, 619 MB), but without a network its source step had not ended after 100 s and its build asked for a package that it does not bring',
    },
  ]
}
