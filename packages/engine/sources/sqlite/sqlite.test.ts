import assert from 'node:assert/strict'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, before, suite, test } from 'node:test'
import { CONNECTION_LIMITS } from '@assay/model/connection-kinds'
import * as fc from 'fast-check'
import { findingsOf, openTestPool, type TestPool } from '../../run/test-pool.ts'
import {
  accessOf,
  kindConformance,
  queryTemplate,
  type Server,
  type TypeCase,
} from '../conformance/conformance.ts'

async function start(folder: string): Promise<Server> {
  const database = new DatabaseSync(path.join(folder, 'shop.db'))
  const columns = TYPES.map(
    ({ type, sql }, index) => [`c${index} ${/^an? /.test(type) ? '' : type}`, sql] as const,
  )
  database.exec(`create table kinds (${columns.map(([column]) => column).join(', ')})`)
  database.exec(`insert into kinds values (${columns.map(([, sql]) => sql).join(', ')})`)
  return {
    connection: {
      name: 'remote',
      kind: 'sqlite',
      options: { file: 'shop.db' },
      secrets: {},
      limits: { ...CONNECTION_LIMITS, timeout_seconds: 60 },
      targets: [],
    },
    execute: async (sql) => database.exec(sql),
    running: () => null,
    close: async () => database.close(),
  }
}

const TYPES: TypeCase[] = [
  { type: 'integer', sql: '9223372036854775807', comes: 'BIGINT', cell: '9223372036854775807' },
  { type: 'real', sql: '0.1', comes: 'DOUBLE', cell: 0.1 },
  { type: 'text', sql: "'é'", comes: 'VARCHAR', cell: 'é' },
  { type: 'varchar(3)', sql: "'a'", comes: 'VARCHAR', cell: 'a' },
  { type: 'blob', sql: "x'00ff41'", comes: 'BLOB', cell: String.raw`\x00\xFFA` },
  { type: 'boolean', sql: '1', comes: 'BOOLEAN', cell: true },
  { type: 'date', sql: "'2024-02-29'", comes: 'DATE', cell: '2024-02-29' },
  { type: 'datetime', sql: "'2024-02-29 10:00:00.5'", comes: 'TIMESTAMP', cell: '2024-02-29T10:00:00.5' },
  { type: 'timestamp', sql: '1709200800', comes: 'TIMESTAMP', cell: '2024-02-29T10:00:00' },
  { type: 'decimal(10,2)', sql: '12.5', comes: 'DECIMAL(38,1)', cell: '12.5' },
  { type: 'json', sql: `'{"a":1}'`, comes: 'JSON', cell: '{"a":1}' },
  { type: 'an expression of integers', sql: '1', comes: 'BIGINT', cell: 1 },
  { type: 'an expression of reals', sql: '1.5', comes: 'DOUBLE', cell: 1.5 },
  { type: 'an expression of texts', sql: "'x'", comes: 'VARCHAR', cell: 'x' },
]

suite('SQLite files as sources', () => {
  kindConformance({
    title: 'SQLite',
    start,
    types: TYPES.map((one, index) => ({ ...one, sql: `kinds.c${index}` })),
    from: 'kinds',
    series: (count, length) =>
      `with recursive s(n) as (select 1 union all select n + 1 from s where n < ${count})
       select n, printf('%.${length}c', 'x') as t from s`,
    slow: null,
    writes: [
      'insert into items values (2)',
      'insert into items values (2) returning a',
      'delete from items returning a',
      'with x as (select 1) delete from items returning a',
      'create table more (a integer)',
      "attach database '/etc/passwd' as other",
      "vacuum into '/tmp/assay-should-not-be-here.db'",
      'pragma writable_schema = 1',
      'select file from pragma_database_list',
    ],
    parameters: 'select $number as n, $text as t, $day as d, $flag as f, 2 in ($numbers) as x',
  })

  suite('packed columns', () => {
    let server: Server
    let bench: TestPool
    before(async () => {
      bench = await openTestPool()
      server = await start(bench.data)
    })
    after(async () => {
      await server?.close()
      await bench?.close()
    })

    /** Returns what the blocks find in a table `v` with a row for each value. */
    const find = async (declared: string, values: readonly Kept[], sql: string) => {
      const database = new DatabaseSync(path.join(bench.data, 'shop.db'))
      database.exec(`drop table if exists v; create table v (n integer, v ${declared}, t text)`)
      const insert = database.prepare('insert into v values (?, ?, ?)')
      database.exec('begin')
      for (const [row, value] of values.entries())
        insert.run(row, value, value === null ? null : String(value))
      database.exec('commit')
      database.close()
      const connections = accessOf(server.connection)
      const findings = findingsOf(
        await bench.run(queryTemplate('select * from v', { sql }), {}, { connections }),
      )
      return findings.tables.b!.rows[0]!
    }

    test('every value is the one that SQLite has', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc
            .constantFrom(...Object.keys(FORMS))
            .chain((declared) =>
              fc.tuple(
                fc.constant(declared),
                fc.array(fc.option(FORMS[declared]!.value), { minLength: 1, maxLength: 60 }),
                fc.nat(3000),
              ),
            ),
          async ([declared, some, count]) => {
            const values = Array.from({ length: count }, (_, row) => some[row % some.length]!)
            const is = FORMS[declared]!.is
            const sql = `select count(*) filter (where (${is}) is distinct from true and v is not null)::int as wrong,
              count(v)::int as kept from a`
            const kept = values.filter((value) => value !== null).length
            assert.deepEqual(await find(declared, values, sql), [0, kept])
          },
        ),
        { numRuns: 40 },
      )
    })

    test('what the first values do not show of a column, later ones do', async () => {
      const sql =
        "select typeof(any_value(v)), count(*)::int, string_agg(v::varchar, ' ' order by n desc)[:40] from a"
      const many = (value: Kept): Kept[] => Array<Kept>(1500).fill(value)
      const cases: [string, Kept[], string, string][] = [
        ['', [...many(1n), 0.5], 'DOUBLE', '0.5 1.0 '],
        ['', [...many(1n), 'x'], 'VARCHAR', 'x 1 '],
        ['', [...many(0.5), 'x'], 'VARCHAR', 'x 0.5 '],
        ['', [...many(1.5), 2n ** 60n], 'DOUBLE', '1.152921504606847e+18 1.5 '],
        ['decimal(10,2)', [...many(0.25), 2n ** 60n], 'DECIMAL(38,2)', '1152921504606846976.00 0.25 '],
        ['decimal(10,2)', [...many(0.25), 0.12345678901234566], 'DECIMAL(38,17)', '0.12345678901234566 '],
        ['decimal(10,2)', [...many(null), 0.25, 3n], 'DECIMAL(38,2)', '3.00 0.25'],
      ]
      for (const [declared, values, type, shown] of cases) {
        const [found, count, text] = await find(declared, values, sql)
        assert.deepEqual([found, count], [type, values.length])
        assert.ok(typeof text === 'string' && text.startsWith(shown), `${declared}: ${JSON.stringify(text)}`)
      }
    })
  })
})

type Kept = string | number | bigint | null

const day = fc
  .date({ min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true })
  .map((date) => date.toISOString())
const amount = fc
  .tuple(fc.integer({ min: -100_000_000, max: 100_000_000 }), fc.nat(5))
  .map(([units, scale]) => units / 10 ** scale)

/** The values of a declared type, and the SQL condition that a value is the expected one, whose text is `t`. */
const FORMS: Record<string, { value: fc.Arbitrary<Exclude<Kept, null>>; is: string }> = {
  bigint: { value: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), is: 'v = t::bigint' },
  real: { value: fc.double({ noNaN: true, noDefaultInfinity: true }), is: 'v = t::double' },
  text: { value: fc.string({ unit: 'grapheme', maxLength: 50 }), is: 'v = t' },
  date: { value: day.map((text) => text.slice(0, 10)), is: 'v = t::date' },
  datetime: { value: day.map((text) => text.slice(0, 23).replace('T', ' ')), is: 'v = t::timestamp' },
  'decimal(12, 5)': { value: amount, is: 'v = t::decimal(38, 10)' },
  numeric: {
    value: fc.oneof(amount, fc.bigInt({ min: -(2n ** 60n), max: 2n ** 60n })),
    is: 'v = t::decimal(38, 10)',
  },
  'any integer': { value: fc.maxSafeInteger().map(BigInt), is: 'v = t::bigint' },
  '': { value: fc.oneof(amount, fc.integer().map(BigInt)), is: 'v::double = t::double' },
}
