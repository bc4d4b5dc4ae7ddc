/** A whole report over 3 million flights from a cold process: `assay run`, beside DuckDB alone with such queries. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import { sampleFiles } from '../../src/templates/samples.ts'
import type { Figure, Missing } from '../figure.ts'
import { environment, type Form, inTurns, milliseconds, ROOT, withFolder } from '../measure.ts'

export const reportColdRow = {
  name: 'report-cold',
  run: (form: Form): Promise<(Figure | Missing)[]> => withFolder((home) => measure(form, home)),
}

async function runOnce(file: string, args: string[], home: string): Promise<void> {
  const child = spawn(process.execPath, [file, ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: environment({ ASSAY_HOME: home, ASSAY_LOG_LEVEL: 'error' }),
  })
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error(`${file} ended with ${code}.`)
}

/** What flight-delays asks of the data, by its parts, without analyses, prose and charts. */
function statements(): string[] {
  const flights = `read_parquet('${sampleFiles()['flights-3m.parquet']}')`
  const month = `${flights} where date >= '2001-06-01' and date < '2001-07-01'`
  return [
    `select count(*) filter (where date >= '2001-06-01'), avg(delay) filter (where date >= '2001-06-01') from ${flights} where date >= '2001-05-02' and date < '2001-07-01'`,
    `select delay from ${month}`,
    `select cast(date as date) as day, count(*), avg(delay) from ${month} group by day order by day`,
    `select date_trunc('week', date) as week, avg(delay) from ${flights} where date < '2001-07-01' group by week order by week`,
    `select origin, count(*), avg(delay) from ${month} group by origin order by 3 desc`,
    `select hour(date) as hour, count(*), avg(delay) from ${month} group by hour order by hour`,
  ]
}

async function measure({ turns }: Form, home: string): Promise<(Figure | Missing)[]> {
  const sql = JSON.stringify(statements())
  const assay = () => runOnce('bin/assay.js', ['run', 'templates/flight-delays.md'], home)
  const duckdb = () => runOnce(path.join(ROOT, 'bench/peers/queries.ts'), [sql], home)
  const work = 'a report over 3 million flights, cold process to Markdown (`assay run`)'
  return [
    {
      work,
      beside:
        'the floor: a cold process with DuckDB alone and six such queries, no statistics, prose or charts',
      aim: null,
      compare: 'difference',
      unit: 'ms',
      turns: await inTurns(
        turns,
        () => milliseconds(assay),
        () => milliseconds(duckdb),
      ),
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
