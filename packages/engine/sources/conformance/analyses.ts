/**
 * Tests what every kind of database promises about analyses. An analysis that runs in the database gives the same
 * answer as over a file of the same rows.
 */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Explained } from '@assay/model/explained'
import type { Findings, Outcome } from '@assay/model/insight'
import type { TemplateSource } from '@assay/model/template'
import { dialectOf } from '../../dialects/engines.ts'
import { findingsOf, STARTED_AT, type TestPool, templateOf } from '../../run/test-pool.ts'
import type { Adding } from './metrics.ts'

/** Names that collations treat as equal, quotes, a backslash, an accent, and null. */
const NAMES = ['North', 'north', 'North ', "O'Hara", 'back\\slash', 'Nort\u00e9', '7', null]
const ROWS = 400

interface Measured {
  id: number
  region: string | null
  amount: number | null
  offset_by: number
  tail: number
  whole: number
  flat: number
}

/** Values far from zero with a small spread, values over 600 powers of ten, many equal values, and nulls. */
const measured: readonly Measured[] = Array.from({ length: ROWS }, (_, id) => {
  const noise = Math.sin(id * 12.9898) * 43758.5453
  const u = noise - Math.floor(noise)
  return {
    id,
    region: NAMES[Math.floor(u * 7.99)]!,
    amount: id % 41 === 0 ? null : Math.round(1000 * u ** 3) / 8 + (id % 5),
    offset_by: 1e9 + Math.round(u * 1e6) / 1e3,
    tail: 10 ** (600 * u - 300),
    whole: Math.floor(u * 12) - 3,
    flat: 5,
  }
})

const COLUMNS = ['id', 'region', 'amount', 'offset_by', 'tail', 'whole', 'flat'] as const

async function fill(server: Adding, bench: TestPool): Promise<void> {
  const { kind } = server
  const house = kind === 'clickhouse'
  const nullable = (type: string): string => (house ? `Nullable(${type})` : type)
  const double = { clickhouse: 'Float64', mysql: 'double' }[kind] ?? 'double precision'
  const text = kind === 'mysql' ? 'varchar(20) character set utf8mb4' : 'varchar(20)'
  const folded = kind === 'sqlite' ? ' collate nocase' : ''
  await server.execute('drop table if exists measured')
  await server.execute(
    `create table measured (id integer, region ${nullable(text)}${folded}, amount ${nullable(double)}, offset_by ${double}, tail ${double}, whole integer, flat ${double})`,
  )
  const escaped = (name: string): string =>
    `'${(kind === 'mysql' || house ? name.replaceAll('\\', '\\\\') : name).replaceAll("'", "''")}'`
  const sql = measured.map(
    (row) =>
      `(${COLUMNS.map((name) => {
        const value = row[name]
        return value === null ? 'null' : typeof value === 'string' ? escaped(value) : numeral(value)
      }).join(', ')})`,
  )
  await server.execute(`insert into measured values ${sql.join(', ')}`)
  writeFileSync(path.join(bench.data, 'measured.csv'), measuredText())
}

/** Returns the rows as CSV. */
export function measuredText(): string {
  const lines = measured.map((row) =>
    COLUMNS.map((name) =>
      name === 'region' && row.region !== null ? `"${row.region}"` : (row[name] ?? ''),
    ).join(','),
  )
  return `${COLUMNS.join(',')}\n${lines.join('\n')}\n`
}

/** Writes a number as a double, because a database that reads a decimal would lose digits. */
const numeral = (value: number): string => (Number.isInteger(value) ? String(value) : value.toExponential())

export const ASKED: Record<string, string> = {
  amounts: 'method: describe\nvalue: amount',
  several: 'method: describe\nvalues: [offset_by, tail, whole, flat]',
  links: 'method: correlation\nvalues: [amount, offset_by, whole, tail, flat]',
  regions: 'method: pareto\nvalue: offset_by\nby: region',
  numbers: 'method: pareto\nvalue: amount\nby: whole',
  ranks: 'method: correlation\nvalues: [amount, whole]\ntest: spearman',
}

/** Rows with years in steps of one. They are a series whose rows are fetched in order. */
const YEARS = 'select 1000 + id as passing, amount, whole, offset_by from measured'
/** The number of rows with distinct times. They are so many that only the lag-1 products of neighbours are fetched. */
const PACED = 2100

const SERIES: Record<string, string> = {
  yearly: 'of: years\nmethod: correlation\nvalues: [amount, whole, offset_by]',
  at_times: 'of: PACED\nmethod: correlation\nvalues: [wave, drift]',
}

const block = (name: string, of: string, options: string): string =>
  `\`\`\`analysis ${name}\nof: ${of}\n${options}\n\`\`\`\n`

/** The fields of describe that may differ, because they depend on the order of rows and the way of summing. */
export const WITHOUT = new Set([
  'autocorrelation',
  'method',
  'summary',
  'doubts',
  'notes',
  'caveats',
  'evidence',
])

/** The largest relative difference of a figure, for the moments of describe and for figures from products. */
const BOUND = { describe: 1e-13, products: 1e-12 }

export function assertAlike(there: unknown, here: unknown, at: string, without: ReadonlySet<string>): void {
  if (typeof here === 'number' && typeof there === 'number') {
    const bound = without === WITHOUT ? BOUND.describe : BOUND.products
    const near = here === there || Math.abs(there - here) <= bound * Math.max(Math.abs(here), Math.abs(there))
    assert.ok(near, `${at}: ${there} there, ${here} here`)
  } else if (here !== null && there !== null && typeof here === 'object' && typeof there === 'object') {
    assert.deepEqual(Object.keys(there), Object.keys(here), at)
    for (const [key, value] of Object.entries(here))
      if (!without.has(key))
        assertAlike((there as Record<string, unknown>)[key], value, `${at}.${key}`, without)
  } else assert.equal(there, here, at)
}

export const NOTHING: ReadonlySet<string> = new Set()
export const describes = (name: string): boolean => ASKED[name]!.startsWith('method: describe')

async function outcomesOf(
  server: Adding,
  bench: TestPool,
  of: string,
  front = '',
): Promise<{ found: Findings; outcomes: Record<string, Outcome>; template: TemplateSource }> {
  const blocks = Object.entries(ASKED).map(([name, options]) => block(name, of, options))
  const template = templateOf(`---\n${front}\n---\n${blocks.join('\n')}\n# A\n\n{{ amounts.summary }}\n`)
  const found = findingsOf(await bench.run(template, {}, { connections: server.connections() }))
  return { found, outcomes: found.analyses, template }
}

export async function analysesAskAlike(server: Adding, bench: TestPool): Promise<void> {
  await fill(server, bench)
  const here = await outcomesOf(server, bench, 'measured', 'sources: { measured: { file: measured.csv } }')
  const there = await outcomesOf(server, bench, 'remote.measured')
  for (const name of Object.keys(ASKED))
    assertAlike(there.outcomes[name], here.outcomes[name], name, describes(name) ? WITHOUT : NOTHING)
  const { lineage, markdown } = there.found
  assert.equal(lineage.sources[0]!.rows, null)
  for (const { asked, name } of lineage.blocks) {
    assert.ok(asked, `${name} was asked there`)
    assert.ok(asked.rows < 3 * ROWS, `${name}: ${asked.rows} rows came here`)
  }
  assert.match(markdown, /asked there by \d+ statements/)
  const explained = await explainedBy(server, bench, there.template)
  assert.deepEqual(
    explained.sources.map(({ place, rows, refused }) => [place, rows, refused]),
    [['database', null, null]],
  )
  // The sample holds all rows, so explain asks the same as a run.
  for (const { name, place, statements, because } of explained.blocks) {
    const { asked } = lineage.blocks.find((one) => one.name === name)!
    assert.deepEqual([place, because], ['database', null], name)
    assert.deepEqual(
      statements.map(({ sql }) => shape(sql)),
      asked!.sql.map(shape),
      name,
    )
    assert.equal(
      statements.reduce((sum, { rows }) => sum + rows, 0),
      asked!.rows,
      name,
    )
  }
  await seriesAskAlike(server, bench)
  await rowsStayOrAreCounted(server, bench)
}

/** Returns a statement without its numbers, whose last digits depend on the engine that answered before. */
const shape = (sql: string): string => sql.replaceAll(/-?\d+(\.\d+)?(e[+-]?\d+)?/g, '#')

async function explainedBy(
  server: Adding,
  bench: TestPool,
  template: TemplateSource,
  limits?: { rows: number },
): Promise<Explained> {
  const task = { kind: 'explain', template, variables: { top: 300 }, started_at: STARTED_AT } as const
  const result = await bench.pool.explain(
    { ...task, roots: bench.roots },
    { workspace_id: 'test', connections: server.connections(limits) },
  )
  assert.ok(result.status === 'done', JSON.stringify(result))
  return result.explained
}

/** Tests that a column of times makes the rows of a database a series too. */
async function seriesAskAlike(server: Adding, bench: TestPool): Promise<void> {
  await fillPaced(server, bench)
  const outcomesBy = async (front: string, fence: string, paced: string) => {
    const blocks = Object.entries(SERIES).map(
      ([name, options]) => `\`\`\`analysis ${name}\n${options.replace('PACED', paced)}\n\`\`\`\n`,
    )
    const template = templateOf(
      `---\n${front}\n---\n\`\`\`sql years${fence}\n${YEARS}\n\`\`\`\n${blocks.join('\n')}\n# A\n\n{{ yearly.summary }}\n`,
    )
    return findingsOf(await bench.run(template, {}, { connections: server.connections() }))
  }
  const here = await outcomesBy(
    'sources: { measured: { file: measured.csv }, paced: { file: paced.csv } }',
    '',
    'paced',
  )
  const there = await outcomesBy('', ' at: remote', 'remote.paced')
  for (const name of Object.keys(SERIES)) {
    assertAlike(there.analyses[name], here.analyses[name], name, NOTHING)
    const asked = there.lineage.blocks.find((block) => block.name === name)!.asked
    assert.ok(asked && asked.rows < 4 * ROWS, `${name}: ${asked?.rows} rows came here`)
  }
  const told = there.analyses.at_times!.caveats.map(({ code }) => code)
  assert.ok(told.includes('series_autocorrelated'), told.join(', '))
}

async function fillPaced(server: Adding, bench: TestPool): Promise<void> {
  const { kind } = server
  const time = { clickhouse: 'DateTime', mysql: 'datetime' }[kind] ?? 'timestamp'
  const double = { clickhouse: 'Float64', mysql: 'double' }[kind] ?? 'double precision'
  const rows = Array.from({ length: PACED }, (_, id) => {
    const at = new Date(Date.UTC(2020, 0, 1) + 61_000 * id).toISOString().slice(0, 19).replace('T', ' ')
    return [at, numeral(Math.sin(id / 300)), numeral(Math.cos(id / 251) + id / 2000)] as const
  })
  await server.execute('drop table if exists paced')
  await server.execute(`create table paced (at ${time}, wave ${double}, drift ${double})`)
  const sql = rows.map(([at, wave, drift]) => `('${at}', ${wave}, ${drift})`)
  await server.execute(`insert into paced values ${sql.toReversed().join(', ')}`)
  const lines = rows.map((row) => row.join(','))
  writeFileSync(path.join(bench.data, 'paced.csv'), `at,wave,drift\n${lines.join('\n')}\n`)
}

/** A name with each sign that quotes names, and with what escapes it in some engine. */
const ODD_NAME = 'a\\`b"c'

const QUERIED = `---
variables: { top: { type: integer, default: 300 } }
sources: { rows: { connection: remote, query: select whole from measured } }
---
${block('asked', 'rows', 'method: describe\nvalue: whole')}
# A

{{ asked.summary }}
`

const stays = (kind: string): string => `---
variables: { top: { type: integer, default: 300 } }
---
\`\`\`sql few at: remote
select region, whole, whole as ${dialectOf(kind).identifier(ODD_NAME)} from measured where id < $top; -- as its author wrote it
\`\`\`
${block('asked', 'few', 'method: describe\nvalue: whole')}
${block('odd', 'few', `method: describe\nvalue: ${JSON.stringify(ODD_NAME)}`)}
${block('moved', 'few', 'method: normality\nvalue: whole')}
# A

{{ asked.summary }} {{ moved.summary }}
`

/**
 * Tests that an author's query runs in the database. If an analysis cannot run there, its rows are fetched, unless the
 * connection allows fewer.
 */
async function rowsStayOrAreCounted(server: Adding, bench: TestPool): Promise<void> {
  const template = templateOf(stays(server.kind))
  const few = findingsOf(await bench.run(template, { top: 300 }, { connections: server.connections() }))
  assert.equal(few.analyses.asked!.n, 300)
  assert.equal(few.analyses.moved!.n, 300)
  assert.deepEqual(few.analyses.odd!.q3, few.analyses.asked!.q3)
  assert.match(few.lineage.sources[0]!.remote!.moved!, /analysis "moved"/)
  const fewer = server.connections({ rows: 299 })
  const refused = await bench.run(template, { top: 300 }, { connections: fewer })
  assert.ok(refused.status === 'failed', refused.status)
  assert.match(
    refused.error.detail,
    /"moved" \(normality\) reads its rows here.*counts 300, more than the 299/,
  )
  const { sources, blocks } = await explainedBy(server, bench, template, { rows: 299 })
  const [{ place, rows, bytes, refused: told }] = sources as [Explained['sources'][number]]
  assert.deepEqual([place, rows], ['here', 300])
  assert.ok(bytes! > 300 && bytes! < 30_000, `${bytes} bytes`)
  assert.ok(refused.error.detail.endsWith(told!), told!)
  assert.deepEqual([...new Set(blocks.map((one) => one.place))], ['here'])
  const plain = await explainedBy(server, bench, templateOf(QUERIED), { rows: 399 })
  assert.deepEqual(
    plain.sources.map((one) => [one.place, one.rows, one.because]),
    [['here', ROWS, null]],
  )
  assert.match(plain.sources[0]!.refused!, /The source "rows" reads its rows here.*400, more than the 399/)
}
