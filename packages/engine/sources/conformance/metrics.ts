/** Tests what every kind of database promises about metrics: its sums equal those over a file of the same rows. */
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { GRAINS, type Grain } from '@assay/model/metric'
import type { ConnectionAccess } from '../../run/connection-requests.ts'
import { findingsOf, type TestPool, templateOf } from '../../run/test-pool.ts'

/** A server whose connection is called `remote`. */
export interface Adding {
  kind: string
  execute(sql: string): Promise<void>
  connections(limits?: { rows: number }): ConnectionAccess
}

/**
 * Rows at the ends of days, of weeks over a new year, of a leap day and of quarters, with quotes in texts, and nulls.
 */
const ROWS: readonly (readonly [
  time: string | null,
  amount: number | null,
  status: string,
  country: string,
])[] = [
  ['2024-02-28 23:59:59', 10, 'paid', 'DE'],
  ['2024-02-29 00:00:00', 20, 'paid', 'FR'],
  ['2024-02-29 12:30:00', 7, 'open', 'DE'],
  ['2024-03-31 23:00:00', 30, 'paid', 'DE'],
  ['2024-04-01 00:00:00', null, 'paid', 'DE'],
  ['2024-12-29 08:00:00', 50, "it's paid", 'FR'],
  ['2024-12-30 08:00:00', 60, 'paid', 'FR'],
  ['2025-01-05 23:59:59', 70, 'paid', 'DE'],
  ['2025-01-06 00:00:00', 80, 'back\\slash', 'DE'],
  ['2025-01-06 00:30:00', 80, 'paid', 'DE'],
  [null, 90, 'paid', 'DE'],
]

const VALUES = {
  total: "sum(amount)\nwhere: status in ('paid', 'it''s paid', 'back\\slash')",
  mean: "avg(amount)\nwhere: status <> 'open' and amount is not null",
  share: "{ ratio: { numerator: sum(case when country = 'DE' then 1 else 0 end), denominator: count(*) } }",
  countries: 'count(distinct country)',
} as const

/** The metric whose days and tests are counted by day. */
const KEPT = VALUES.mean

const escaped = (text: string, kind: string): string =>
  `'${(kind === 'mysql' || kind === 'clickhouse' ? text.replaceAll('\\', '\\\\') : text).replaceAll("'", "''")}'`

function definition(value: string, source: string, zone: string): string {
  const isKept = source.includes('connection') && value === KEPT
  const rules = isKept ? 'partitions: { reopen: 1d, deletes: none }\n' : ''
  const tests = `{ not_null: amount }, { accepted: { country: [DE, "it's"] } }, { ${value === KEPT ? 'fresh: 9d' : 'unique: amount'} }`
  return `metric: tried\nsource: ${source}\ntime: { column: paid_at, grain: hour, zone: ${zone} }\nvalue: ${value}\n${rules}tests: [ ${tests} ]\n`
}

interface Compared {
  server: Adding
  bench: TestPool
  table: string
  zone: string
}

/** Asserts that the table and the file of the same name give the same series by each step and country. */
async function assertSame(
  { server, bench, table, zone }: Compared,
  value: string,
  grains: readonly Grain[],
): Promise<void> {
  for (const grain of grains) {
    const rowsOf = async (source: string) => {
      const text = `\`\`\`metric rev\nmetric: tried\nby: country\ngrain: ${grain}\n\`\`\`\n\n# A\n\n{{ rev.size }}\n`
      const template = templateOf(text, { 'metrics/tried.yaml': definition(value, source, zone) })
      const run = await bench.run(template, {}, { connections: server.connections() })
      const findings = findingsOf(run)
      return { rows: findings.tables.rev!.rows, tests: findings.lineage.metrics![0]!.tests }
    }
    const there = await rowsOf(`{ connection: remote, table: ${table} }`)
    assert.deepEqual(there, await rowsOf(`{ file: ${table}.csv }`), `${value} by ${grain}, ${zone}`)
    assert.ok(there.rows.length > 0)
  }
}

/** Tests that times without a zone are those of the metric's zone, whatever it is. */
export async function metricsAreAddedUpAlike(server: Adding, bench: TestPool): Promise<void> {
  const { kind } = server
  const time = kind === 'mysql' ? 'datetime' : 'timestamp'
  await server.execute('drop table if exists sold')
  const nullable = kind === 'clickhouse' ? (type: string) => `Nullable(${type})` : (type: string) => type
  await server.execute(
    `create table sold (paid_at ${nullable(kind === 'clickhouse' ? 'DateTime' : time)}, amount ${nullable(kind === 'clickhouse' ? 'Int32' : 'integer')}, status varchar(20), country varchar(9))`,
  )
  for (const [at, amount, status, country] of ROWS)
    await server.execute(
      `insert into sold values (${at === null ? 'null' : `'${at}'`}, ${amount ?? 'null'}, ${escaped(status, kind)}, '${country}')`,
    )
  const lines = ROWS.map(([at, ...row]) => [at ?? '', ...row.map((cell) => cell ?? '')].join(','))
  writeFileSync(path.join(bench.data, 'sold.csv'), `paid_at,amount,status,country\n${lines.join('\n')}\n`)
  const compared = { server, bench, table: 'sold', zone: 'UTC' }
  for (const [name, value] of Object.entries(VALUES))
    await assertSame(compared, value, name === 'total' ? GRAINS : ['day'])
}

/** Tests that moments are cut into days and hours in the metric's zone, also when its clocks change. */
export async function metricsKeepTheirZone(server: Adding, bench: TestPool): Promise<void> {
  const moments = [
    '2026-03-28T22:59:59Z',
    '2026-03-28T23:00:00Z',
    '2026-03-29T00:59:59Z',
    '2026-03-29T01:00:00Z',
    '2026-03-29T21:59:59Z',
    '2026-03-29T22:00:00Z',
    '2026-10-25T00:30:00Z',
    '2026-10-25T01:30:00Z',
    '2026-12-31T23:00:00Z',
  ]
  await server.execute('drop table if exists sold_at')
  const mysql = server.kind === 'mysql'
  const type = mysql ? 'timestamp null' : 'timestamptz'
  await server.execute(`create table sold_at (paid_at ${type}, amount integer, country varchar(9))`)
  for (const [at, moment] of moments.entries()) {
    // MySQL reads a text in the zone of the session, which is UTC.
    const written = mysql ? moment.replace('T', ' ').replace('Z', '') : moment
    await server.execute(`insert into sold_at values ('${written}', ${2 ** at}, 'DE')`)
  }
  const lines = moments.map((moment, at) => `${moment},${2 ** at},DE`)
  writeFileSync(path.join(bench.data, 'sold_at.csv'), `paid_at,amount,country\n${lines.join('\n')}\n`)
  for (const zone of ['Europe/Berlin', 'Asia/Kolkata'])
    await assertSame({ server, bench, table: 'sold_at', zone }, 'sum(amount)', ['hour', 'day', 'year'])
}

/**
 * Texts that collations without case and trailing blanks treat as equal, and quotes, a backslash, an accent, an empty
 * text and null.
 */
const PEOPLE: readonly (readonly [region: string | null, level: number | null, amount: number])[] = [
  ['North', 1, 1],
  ['north', 2, 2],
  ['North ', 3, 4],
  ["O'Hara", 5, 8],
  ['back\\slash', null, 16],
  ['Nort\u00e9', 5, 32],
  ['', 0, 64],
  [null, 5, 128],
]

/**
 * Tests that the rule of a metric lets the same rows count in the database as in a file of the same rows. `sums`: the
 * amounts of 1, 2, 4, ...
 */
export async function metricsKeepTheirRows(server: Adding, bench: TestPool): Promise<void> {
  const { kind } = server
  const house = kind === 'clickhouse'
  const nullable = (type: string): string => (house ? `Nullable(${type})` : type)
  const folded = kind === 'sqlite' ? ' collate nocase' : ''
  await server.execute('drop table if exists people')
  await server.execute(
    `create table people (day date, region ${nullable('varchar(20)')}${folded}, level ${nullable('integer')}, amount integer)`,
  )
  const written = (text: string | null): string => (text === null ? 'null' : escaped(text, kind))
  for (const [region, level, amount] of PEOPLE)
    await server.execute(
      `insert into people values ('2024-01-31', ${written(region)}, ${level ?? 'null'}, ${amount})`,
    )
  const cases: [rule: string, sum: number][] = [
    ['region = $reader.region', 1],
    ['region != $reader.region', 126],
    ['region in ($reader.texts)', 8 + 16 + 32 + 64],
    ['not region in ($reader.texts)', 1 + 2 + 4],
    ["level = $reader.level and region is not null or region = 'back\\slash'", 8 + 16 + 32],
    ['level not in (5, $reader.one)', 2 + 4 + 64],
    ['region in ($reader.none) or level is null', 16],
  ]
  const texts = ["O'Hara", 'back\\slash', 'Nort\u00e9', '']
  const reader = { id: 'anna', region: 'North', texts, none: [], level: 5, one: '1' }
  for (const [rule, sum] of cases) {
    const metric = `metric: tried\nsource: { connection: remote, table: people }\nrows: ${JSON.stringify(rule)}\ntime: { column: day }\nvalue: sum(amount)\ntests: [ { not_null: region } ]\n`
    const template = templateOf('```metric rev\nmetric: tried\n```\n\n# A\n\n{{ rev.size }}\n', {
      'metrics/tried.yaml': metric,
    })
    const run = await bench.run(template, {}, { connections: server.connections(), reader })
    const { tables, lineage } = findingsOf(run)
    assert.deepEqual(tables.rev!.rows, [['2024-01-31', sum]], rule)
    assert.equal(lineage.metrics![0]!.tests[0]!.ok, true, rule)
  }
}

/** The way in which numbers of a type are compared: exactly, or as binary numbers of 64 or 32 bits. */
type Precision = 'integer' | 'exact' | 'double' | 'single'

const NUMBERS: Record<string, readonly (readonly [type: string, precision: Precision])[]> = {
  postgresql: [
    ['integer', 'integer'],
    ['bigint', 'integer'],
    ['numeric(20,3)', 'exact'],
    ['numeric', 'exact'],
    ['double precision', 'double'],
    ['real', 'single'],
  ],
  mysql: [
    ['int', 'integer'],
    ['bigint unsigned', 'integer'],
    ['decimal(20,3)', 'exact'],
    ['double', 'double'],
    ['float', 'single'],
  ],
  sqlite: [
    ['integer', 'integer'],
    ['real', 'double'],
  ],
  clickhouse: [
    ['Int32', 'integer'],
    ['UInt64', 'integer'],
    ['Int128', 'integer'],
    ['Decimal(20, 3)', 'exact'],
    ['Float64', 'double'],
    ['Float32', 'single'],
  ],
}
const TEXTS: Record<string, readonly string[]> = {
  postgresql: ['text', 'varchar(20)'],
  mysql: ['varchar(20)', 'text'],
  sqlite: ['text', 'text collate nocase'],
  clickhouse: ['Nullable(String)', 'LowCardinality(Nullable(String))'],
}
/** Numbers of which some are equal in 32 bits, and some of those differ in 64. */
const DIGITS = [
  '0',
  '1',
  '7',
  '0.1',
  '0.5',
  '0.125',
  '16777216',
  '16777217',
  '123456789012345.123',
  '123456789012345.125',
]
const LETTERS = ['a', 'A', 'a ', '\u00e1', '1', '01', '1.0']

function isSame(stored: string, wanted: string, precision: Precision): boolean {
  if (precision === 'single') return Math.fround(Number(stored)) === Math.fround(Number(wanted))
  return precision === 'double' ? Number(stored) === Number(wanted) : stored === wanted
}

const fits = (digits: string, precision: Precision): boolean =>
  precision !== 'integer' || (!digits.includes('.') && Number(digits) < 2 ** 31)

/** Tests that a rule finds in a column of each type the rows with the value, and no others. */
export async function rulesKnowEachType(server: Adding, bench: TestPool): Promise<void> {
  const { kind } = server
  const numbers = NUMBERS[kind]!.map(([type, precision], at) => ({ name: `n${at}`, type, precision }))
  const texts = TEXTS[kind]!.map((type, at) => ({ name: `t${at}`, type }))
  const cells = [
    ...numbers.flatMap(({ name, precision }) =>
      DIGITS.filter((digits) => fits(digits, precision)).map((digits) => ({
        name,
        stored: digits,
        sql: digits,
      })),
    ),
    ...texts.flatMap(({ name }) => LETTERS.map((stored) => ({ name, stored, sql: escaped(stored, kind) }))),
  ]
  const columns = [...numbers, ...texts].map(({ name, type }) =>
    kind === 'clickhouse' && name.startsWith('n') ? `${name} Nullable(${type})` : `${name} ${type}`,
  )
  const names = columns.map((column) => column.split(' ')[0]!)
  await server.execute('drop table if exists typed')
  await server.execute(`create table typed (id integer, day date, ${columns.join(', ')})`)
  const rows = cells.map(
    ({ name, sql }, id) =>
      `(${id}, '2024-01-31', ${names.map((other) => (other === name ? sql : 'null')).join(', ')})`,
  )
  await server.execute(`insert into typed values ${rows.join(', ')}`)
  const idsOf = async (rule: string, v: string | number): Promise<number[]> => {
    const metric = `metric: tried\nsource: { connection: remote, table: typed }\nrows: ${JSON.stringify(rule)}\ntime: { column: day }\nvalue: count(*)\n`
    const template = templateOf('```metric rev\nmetric: tried\nby: id\n```\n\n# A\n\n{{ rev.size }}\n', {
      'metrics/tried.yaml': metric,
    })
    const reader = { id: 'anna', v }
    const run = await bench.run(template, {}, { connections: server.connections(), reader })
    return findingsOf(run).tables.rev!.rows.map(([, id]) => Number(id))
  }
  const sorted = (ids: number[]): number[] => ids.toSorted((one, other) => one - other)
  const any = (of: readonly { name: string }[], value: string): string =>
    of.map(({ name }) => `${name} = ${value}`).join(' or ')
  const precisionOf = new Map(numbers.map(({ name, precision }) => [name, precision]))
  for (const wanted of DIGITS) {
    const expected = cells.flatMap(({ name, stored }, id) => {
      const precision = precisionOf.get(name)
      return precision && isSame(stored, wanted, precision) ? [id] : []
    })
    assert.deepEqual(sorted(await idsOf(any(numbers, wanted), 'x')), expected, `${kind}: ${wanted}`)
    // SQLite gives no types, so a text is a text there.
    const given = kind === 'sqlite' ? Number(wanted) : wanted
    assert.deepEqual(
      sorted(await idsOf(any(numbers, '$reader.v'), given)),
      expected,
      `${kind}: ${wanted} of the reader`,
    )
  }
  for (const wanted of LETTERS) {
    const expected = cells.flatMap(({ name, stored }, id) =>
      name.startsWith('t') && stored === wanted ? [id] : [],
    )
    assert.deepEqual(sorted(await idsOf(any(texts, '$reader.v'), wanted)), expected, `${kind}: ${wanted}`)
  }
}
