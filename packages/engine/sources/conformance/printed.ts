/**
 * Tests what every kind of database promises about methods whose own SQL is printed for it. They answer as over a file
 * of the same rows, and rows are fetched only if the database lacks a phrase.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { RunResult } from '../../run/protocol.ts'
import { findingsOf, type TestPool, templateOf } from '../../run/test-pool.ts'
import { assertAlike } from './analyses.ts'
import type { Adding } from './metrics.ts'

const ROWS = 600
/** Names that collations treat as equal, with a quote and an accent. */
const PLACES = ['North', 'north', 'North ', "O'Hara", 'Nort\u00e9', 'South']
const EVENTS = ['visit', 'cart', 'order']

interface Visit {
  at: string
  day: string
  person: number
  event: string
  place: string | null
  arm: string
  before: number
  amount: number | null
  won: number
  visits: number
}

/** Twenty months of visits, with a weekly wave, a level that rises, an effect of the arm, and nulls. */
const visits: readonly Visit[] = Array.from({ length: ROWS }, (_, id) => {
  const noise = Math.sin((id + 1) * 12.9898) * 43758.5453
  const u = noise - Math.floor(noise)
  const moment = new Date(Date.UTC(2023, 0, 2) + id * 86_400_000 + Math.floor(u * 80_000) * 1000)
  const at = moment.toISOString().slice(0, 19).replace('T', ' ')
  const arm = id % 2 === 0 ? 'control' : 'new'
  const before = Math.round(100 * ((u * 7) % 1)) / 4
  return {
    at,
    day: at.slice(0, 10),
    person: (id * 7) % 150,
    event: EVENTS[id % 3]!,
    place: id % 53 === 0 ? null : PLACES[Math.floor(u * 5.999)]!,
    arm,
    before,
    amount:
      id % 61 === 0
        ? null
        : Math.round(100 * (before + 20 * u + (arm === 'new' ? 3 : 0) + 4 * Math.sin(id / 1.114) + id / 60)) /
          100,
    won: u > (arm === 'new' ? 0.5 : 0.6) ? 1 : 0,
    visits: 1 + Math.floor(u * 5),
  }
})
const COLUMNS = ['at', 'day', 'person', 'event', 'place', 'arm', 'before', 'amount', 'won', 'visits'] as const

async function fill(server: Adding, bench: TestPool): Promise<void> {
  const { kind } = server
  const house = kind === 'clickhouse'
  const nullable = (type: string): string => (house ? `Nullable(${type})` : type)
  const double = { clickhouse: 'Float64', mysql: 'double' }[kind] ?? 'double precision'
  const time = { clickhouse: "DateTime('UTC')", mysql: 'datetime' }[kind] ?? 'timestamp'
  const text = kind === 'mysql' ? 'varchar(20) character set utf8mb4' : 'varchar(20)'
  const folded = kind === 'sqlite' ? ' collate nocase' : ''
  await server.execute('drop table if exists visits')
  await server.execute(
    `create table visits (at ${time}, day ${house ? 'Date32' : 'date'}, person integer, event ${text}, place ${nullable(text)}${folded}, arm ${text}, ${kind === 'mysql' ? '`before`' : '"before"'} ${double}, amount ${nullable(double)}, won integer, visits integer)`,
  )
  const literal = (value: string | number | null): string =>
    value === null
      ? 'null'
      : typeof value === 'string'
        ? `'${value.replaceAll("'", "''")}'`
        : Number.isInteger(value)
          ? String(value)
          : value.toExponential()
  const rows = visits.map((row) => `(${COLUMNS.map((name) => literal(row[name])).join(', ')})`)
  await server.execute(`insert into visits values ${rows.join(', ')}`)
  // A DateTime of ClickHouse is a moment.
  writeFileSync(path.join(bench.data, 'visits.csv'), visitsText(house ? 'Z' : ''))
}

/** Returns the rows as CSV. `zone`: the text behind a time. */
export function visitsText(zone = ''): string {
  const quoted = (value: string | number | null): string =>
    value === null ? '' : typeof value === 'string' ? `"${value}"` : String(value)
  const lines = visits.map((row) =>
    COLUMNS.map((name) => quoted(name === 'at' ? `${row.at}${zone}` : row[name])).join(','),
  )
  return `${COLUMNS.join(',')}\n${lines.join('\n')}\n`
}

/** The options of each method. */
export const PRINTED: Record<string, string> = {
  months: 'method: compare\ntime: day\nvalue: amount\nperiod: month',
  weeks: 'method: compare\ntime: at\nvalue: amount\nperiod: week\naggregate: mean',
  line: 'method: trend\ntime: day\nvalue: amount',
  each: 'method: trend\ntime: day\nvalue: amount\nby: arm',
  levels: 'method: changepoints\ntime: day\nvalue: amount',
  waves: 'method: seasonality\ntime: day\nvalue: amount',
  odd: 'method: anomalies\ntime: day\nvalue: amount',
  ahead: 'method: forecast\ntime: day\nvalue: amount\nhorizon: 7',
  variances: 'method: anova\nvalue: amount\nby: place',
  groups: 'method: compare_groups\nvalue: amount\ngroup: arm',
  ranks: 'method: compare_groups\nvalue: amount\ngroup: place\ntest: kruskal_wallis',
  straight: 'method: regression\ny: amount\nx: [before, visits]',
  arms: 'method: ab_test\nsuccess: won\ngroup: arm\ncontrol: control',
  trial:
    'method: experiment\nunit: person\narm: arm\ncontrol: control\nmetrics: [{ name: amount, value: amount, covariate: before }]',
  columns: 'method: profile',
  returns: 'method: cohorts\nid: person\ntime: day\nevery: quarter',
  steps: 'method: funnel\nid: person\nevent: event\ntime: at\nsteps: [visit, cart, order]',
  again: 'method: funnel\nid: person\nevent: event\ntime: at\nsteps: [visit, visit, cart]\nwindow: 30 days',
  causes: 'method: drivers\nvalue: amount\ntime: day\nperiod: month\nby: [place, arm]',
  far: 'method: outliers\nvalue: amount',
}

/** Group names that each database writes with other digits, so this analysis does not run there. */
const MOVED = 'method: anova\nvalue: amount\nby: before'

async function outcomesOf(
  server: Adding,
  bench: TestPool,
  analyses: Readonly<Record<string, string>>,
  { of, front = '', limits }: { of: string; front?: string; limits?: { rows: number } },
): Promise<RunResult> {
  const blocks = Object.entries(analyses).map(
    ([name, options]) => `\`\`\`analysis ${name}\nof: ${of}\n${options}\n\`\`\`\n`,
  )
  const [first] = Object.keys(analyses)
  const template = templateOf(
    `---\nlimits: { timeout: 600 }\n${front}\n---\n${blocks.join('\n')}\n# A\n\n{{ ${first}.summary }}\n`,
  )
  return bench.run(template, {}, { connections: server.connections(limits) })
}

const NOTHING: ReadonlySet<string> = new Set()

export async function methodsPrintAlike(server: Adding, bench: TestPool): Promise<void> {
  await fill(server, bench)
  const analyses = { ...PRINTED, moved: MOVED }
  const file = { of: 'visits', front: 'sources: { visits: { file: visits.csv } }' }
  const here = findingsOf(await outcomesOf(server, bench, analyses, file))
  const there = findingsOf(await outcomesOf(server, bench, analyses, { of: 'remote.visits' }))
  for (const name of Object.keys(analyses))
    assertAlike(there.analyses[name], here.analyses[name], name, NOTHING)
  // The message names the first analysis that reads the rows here.
  assert.match(there.lineage.sources[0]!.remote!.moved!, /analysis "moved" \(anova\)/)
  for (const { name, asked } of there.lineage.blocks) {
    assert.ok(asked, `${name} was asked there`)
    assert.ok(asked.rows < 3 * ROWS, `${name}: ${asked.rows} rows came as answers`)
  }
  const fewer = { of: 'remote.visits', limits: { rows: ROWS - 1 } }
  const refused = await outcomesOf(server, bench, { moved: MOVED }, fewer)
  assert.ok(refused.status === 'failed', refused.status)
  assert.match(refused.error.detail, /"moved" \(anova\) reads its rows here.*counts 600, more than the 599/)
}

/** The largest relative difference of a figure of least squares, because some databases add up without a compensation. */
const NEAR = 1e-7

function assertNear(there: unknown, here: unknown, at: string): void {
  if (typeof here === 'number' && typeof there === 'number')
    assert.ok(Math.abs(there - here) <= NEAR * Math.abs(here), `${at}: ${there} there, ${here} here`)
  else if (here !== null && there !== null && typeof here === 'object' && typeof there === 'object') {
    assert.deepEqual(Object.keys(there), Object.keys(here), at)
    for (const [key, value] of Object.entries(here))
      assertNear((there as Record<string, unknown>)[key], value, `${at}.${key}`)
  } else assert.equal(there, here, at)
}

/** The number of rows of which a regression fetches none. */
const MANY = 200_001

/** `series` is a query of the database with the whole numbers `n` from 1 to MANY, perhaps without a sign: no value here is below zero. */
export async function manyRowsAreFitted(server: Adding, bench: TestPool, series: string): Promise<void> {
  const query = `select n % 97 as a, (n * 7) % 89 as b, 200 + 3 * (n % 97) + (n * 31) % 83 - 2 * ((n * 7) % 89) as y from (\n${series}\n) s`
  const fence = `\`\`\`sql rows at: remote\n${query}\n\`\`\`\n`
  const block = (name: string, options: string): string =>
    `\`\`\`analysis ${name}\nmethod: regression\nof: rows\ny: y\n${options}\n\`\`\`\n`
  const blocks = `${block('plain', 'x: [a, b]')}\n${block('loose', 'x: [a]\nerrors: hc3')}`
  const template = templateOf(
    `---\nlimits: { timeout: 600 }\n---\n${fence}\n${blocks}\n# A\n\n{{ plain.summary }}\n`,
  )
  const found = findingsOf(await bench.run(template, {}, { connections: server.connections() }))
  const here = templateOf(
    `---\nlimits: { timeout: 600 }\nsources: { rows: { file: many.csv } }\n---\n${blocks}\n# A\n\n{{ plain.summary }}\n`,
  )
  const lines = Array.from({ length: MANY }, (_, index) => {
    const n = index + 1
    const [a, b] = [n % 97, (n * 7) % 89]
    return `${a},${b},${200 + 3 * a + ((n * 31) % 83) - 2 * b}`
  })
  writeFileSync(path.join(bench.data, 'many.csv'), `a,b,y\n${lines.join('\n')}\n`)
  const known = findingsOf(await bench.run(here, {}, { connections: server.connections() }))
  for (const name of ['plain', 'loose']) assertNear(found.analyses[name], known.analyses[name], name)
  for (const { asked: there } of found.lineage.blocks)
    assert.ok(there && there.rows < 20, `${there?.rows ?? 0} rows came here`)
}
