import assert from 'node:assert/strict'
import { mkdtemp, rm, utimes } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { DEFAULT_LIMITS } from '@assay/model/template'
import { bindPlain, bindVariable } from './bindings.ts'
import { arm, execute, keepTable, literal, openEngine, readTable, seal } from './duckdb.ts'
import { engineFailure } from './engine-error.ts'

const engine = await openEngine()
await arm(engine, { memory_bytes: 100_000_000, threads: 1, temp_folder: '', time_zone: 'America/Chicago' })
await seal(engine, [])
after(() => engine.close())

/** SQL, the type of the column, DuckDB's name of the type, and the cell. */
const VALUES: [sql: string, type: string, databaseType: string, cell: unknown][] = [
  ['true', 'boolean', 'BOOLEAN', true],
  ['1::tinyint', 'integer', 'TINYINT', 1],
  ['-2::smallint', 'integer', 'SMALLINT', -2],
  ['3', 'integer', 'INTEGER', 3],
  ['9007199254740991', 'integer', 'BIGINT', 9007199254740991],
  ['9007199254740993', 'integer', 'BIGINT', '9007199254740993'],
  ['(-9223372036854775808)::bigint', 'integer', 'BIGINT', '-9223372036854775808'],
  ['18446744073709551615::ubigint', 'integer', 'UBIGINT', '18446744073709551615'],
  ['5::hugeint', 'integer', 'HUGEINT', 5],
  [
    '170141183460469231731687303715884105727::hugeint',
    'integer',
    'HUGEINT',
    '170141183460469231731687303715884105727',
  ],
  ['sum(2) from range(3)', 'integer', 'HUGEINT', 6],
  ['count(*) from range(3)', 'integer', 'BIGINT', 3],
  ["'123456789012345678901234567890'::bignum", 'integer', 'BIGNUM', '123456789012345678901234567890'],
  ['1.10::decimal(5, 2)', 'decimal', 'DECIMAL(5,2)', '1.10'],
  ['-0.05::decimal(38, 3)', 'decimal', 'DECIMAL(38,3)', '-0.050'],
  ['0.1 + 0.2', 'decimal', 'DECIMAL(3,1)', '0.3'],
  ['0.1::double + 0.2::double', 'number', 'DOUBLE', 0.30000000000000004],
  ['0.1::float', 'number', 'FLOAT', 0.1],
  ['16777217::float', 'number', 'FLOAT', 16777216],
  ['3.4028235e38::float', 'number', 'FLOAT', 3.4028235e38],
  ["'nan'::double", 'number', 'DOUBLE', 'NaN'],
  ["'-inf'::double", 'number', 'DOUBLE', '-Infinity'],
  ["'inf'::float", 'number', 'FLOAT', 'Infinity'],
  ["'it''s €'", 'text', 'VARCHAR', "it's €"],
  ["''", 'text', 'VARCHAR', ''],
  ["'b'::enum('a', 'b')", 'text', "ENUM('a', 'b')", 'b'],
  ['\'{"a": 1}\'::json', 'text', 'JSON', '{"a": 1}'],
  ["'00000000-0000-0000-0000-00000000000f'::uuid", 'text', 'UUID', '00000000-0000-0000-0000-00000000000f'],
  ["date '2024-02-29'", 'date', 'DATE', '2024-02-29'],
  ["'infinity'::date", 'date', 'DATE', 'infinity'],
  ["timestamp '2024-02-29 10:00:00'", 'timestamp', 'TIMESTAMP', '2024-02-29T10:00:00'],
  ["timestamp '2024-02-29 10:00:00.05'", 'timestamp', 'TIMESTAMP', '2024-02-29T10:00:00.05'],
  ["timestamp '1960-01-01 00:00:00'", 'timestamp', 'TIMESTAMP', '1960-01-01T00:00:00'],
  ["'-infinity'::timestamp", 'timestamp', 'TIMESTAMP', '-infinity'],
  ["timestamptz '2024-07-01 10:00:00'", 'timestamp', 'TIMESTAMP WITH TIME ZONE', '2024-07-01T15:00:00Z'],
  ["'2024-01-01 00:00:00'::timestamp_s", 'timestamp', 'TIMESTAMP_S', '2024-01-01T00:00:00'],
  [
    "'2024-01-01 00:00:00.123456789'::timestamp_ns",
    'timestamp',
    'TIMESTAMP_NS',
    '2024-01-01T00:00:00.123456789',
  ],
  ["time '10:00:01.25'", 'time', 'TIME', '10:00:01.25'],
  ["'10:00:00+02'::timetz", 'time', 'TIME WITH TIME ZONE', '10:00:00+02'],
  ["interval '14 months 3 days 4 seconds'", 'interval', 'INTERVAL', '1 year 2 months 3 days 00:00:04'],
  ['[1, null, 3]', 'list', 'INTEGER[]', [1, null, 3]],
  ['[[1.5], []]', 'list', 'DECIMAL(2,1)[][]', [['1.5'], []]],
  ['[1, 2]::int[2]', 'list', 'INTEGER[2]', [1, 2]],
  ["{'a': 1, 'b': ['x']}", 'struct', 'STRUCT(a INTEGER, b VARCHAR[])', { a: 1, b: ['x'] }],
  ["map {'k': date '2024-01-01'}", 'struct', 'MAP(VARCHAR, DATE)', { k: '2024-01-01' }],
  ['map {1: 2}', 'struct', 'MAP(INTEGER, INTEGER)', { 1: 2 }],
  ["'\\xAB'::blob", 'other', 'BLOB', '\\xAB'],
  ["'101'::bit", 'other', 'BIT', '101'],
  ['union_value(k := 3)', 'other', 'UNION(k INTEGER)', 3],
  ['5::variant', 'other', 'VARIANT', 5],
  ['null', 'integer', 'INTEGER', null],
  ['null::date', 'date', 'DATE', null],
  ['null::int[]', 'list', 'INTEGER[]', null],
  ["{'a': null::int}", 'struct', 'STRUCT(a INTEGER)', { a: null }],
]

test('a value of every type becomes the cell that is promised', async () => {
  for (const [sql, type, databaseType, cell] of VALUES) {
    const { columns, rows } = await readTable(
      engine,
      `select ${sql.replace(/^(.*?)( from .*)?$/s, '$1 as x$2')}`,
      {},
      1,
    )
    const [column] = columns
    assert.equal(column?.type, type, sql)
    assert.equal(column?.database_type.replaceAll('"', ''), databaseType, sql)
    assert.deepEqual(rows[0]?.[0], cell, sql)
    assert.deepEqual(JSON.parse(JSON.stringify(rows[0]?.[0])), cell, `${sql} through JSON`)
  }
})

test('a field named __proto__ pollutes nothing', async () => {
  const { rows } = await readTable(
    engine,
    `select {'__proto__': 1, 'a': 2} as s, map {'__proto__': 3} as m`,
    {},
    1,
  )
  const [struct, map] = rows[0] as Record<string, unknown>[]
  assert.equal(Object.getPrototypeOf(struct), Object.prototype)
  assert.equal(struct?.a, 2)
  assert.deepEqual(Object.entries(map!), [['__proto__', 3]])
})

test('methods get doubles as they are', async () => {
  const sql =
    "select 'nan'::double as a, 'inf'::double as b, 1.5::double as c, 2::hugeint as d, $x + 1 as e, $y as f"
  const { rows } = await readTable(engine, sql, bindPlain({ x: 1.5, y: 'q' }), 1, { floats: 'raw' })
  assert.deepEqual(rows[0], [Number.NaN, Number.POSITIVE_INFINITY, 1.5, 2, 2.5, 'q'])
})

test('variables are bound with their types, absent ones too', async () => {
  const of = (
    type: Parameters<typeof bindVariable>[0]['type'],
    value: unknown,
    items: 'integer' | null = null,
  ) => bindVariable({ type, items }, value)
  const span = { start: '2024-01-01', end: '2024-02-01', label: 'January' }
  const period = { ...span, previous: { start: '2023-12-01', end: '2024-01-01', label: 'December' } }
  const bindings = {
    s: of('string', "it's"),
    i: of('integer', '9223372036854775807'),
    n: of('number', 1),
    b: of('boolean', false),
    d: of('date', '2024-02-29'),
    t: of('timestamp', '2024-01-01T10:00:00.5'),
    z: of('timestamp', '2024-01-01T10:00:00Z'),
    p: of('period', period),
    l: of('list', [1, 2], 'integer'),
    e: of('list', [], 'integer'),
    no: of('string', null),
    nd: of('date', null),
    np: of('period', null),
    nl: of('list', null, 'integer'),
  }
  const { columns, rows } = await readTable(
    engine,
    `select $s, $i, $n, $b, $d, $t, $z, $p.start, $p."end", $p.previous.start, $p.label, 2 in $l, len($e),
      $no is null, coalesce($nd, date '2000-01-01'), $np.start, $np.previous."end", $nl, $d + 1, $n / 2`,
    bindings,
    1,
  )
  assert.deepEqual(rows[0], [
    "it's",
    '9223372036854775807',
    1,
    false,
    '2024-02-29',
    '2024-01-01T10:00:00.5',
    '2024-01-01T10:00:00Z',
    '2024-01-01',
    '2024-02-01',
    '2023-12-01',
    'January',
    true,
    0,
    true,
    '2000-01-01',
    null,
    null,
    null,
    '2024-03-01',
    0.5,
  ])
  assert.equal(columns[15]?.type, 'date')
})

test('a bound value is never SQL', async () => {
  const evil = "x' union select 1 from read_text('/etc/passwd') --"
  const { rows } = await readTable(engine, 'select $v', bindPlain({ v: evil }), 1)
  assert.deepEqual(rows, [[evil]])
})

test('rows beyond the limit are counted and not kept', async () => {
  for (const [rows, limit] of [
    [0, 10],
    [10, 10],
    [11, 10],
    [5_000, 10],
    [5_000, 4_999],
    [100, 0],
  ] as const) {
    const table = await readTable(engine, `select i from range(${rows}) t(i)`, {}, limit)
    assert.equal(table.total, rows)
    assert.deepEqual(
      table.rows.map(([value]) => value),
      Array.from({ length: Math.min(rows, limit) }, (_, index) => index),
    )
    assert.equal(table.columns[0]?.name, 'i')
  }
})

test('two columns of one name are told apart', async () => {
  const { columns } = await readTable(engine, 'select 1 as a, 2 as a', {}, 1)
  assert.equal(new Set(columns.map(({ name }) => name)).size, 2)
})

test('a kept table has the rows and types of its query, in its order', async () => {
  await keepTable(engine, 'a "kept" one', 'select 10 - i as i, $d as d from range(5) t(i) -- to the end', {
    d: bindVariable({ type: 'date', items: null }, '2024-01-01'),
  })
  const { columns, rows } = await readTable(engine, 'select * from "a ""kept"" one"', {}, 10)
  assert.deepEqual(
    columns.map(({ type }) => type),
    ['integer', 'date'],
  )
  assert.deepEqual(
    rows.map(([i]) => i),
    [10, 9, 8, 7, 6],
  )
})

test('errors say what they mean: memory, an interrupt, or a reason with its line', async () => {
  const failure = async (sql: string) =>
    engineFailure(await readTable(engine, sql, {}, 1).catch((error: unknown) => error))
  assert.deepEqual(await failure('select list(i) from range(30000000) t(i)'), { kind: 'memory' })
  assert.deepEqual(await failure('select\n  nope\nfrom range(3)'), {
    kind: 'refused',
    line: 2,
    column: 3,
    reason: 'Binder Error: Referenced column "nope" not found in FROM clause! Candidate bindings: "range"',
  })
  const slow = failure('select sum(sqrt(a.range * b.range)) from range(100000) a, range(100000) b')
  // The interrupt is repeated, because one that comes before the query has begun is lost.
  const asking = setInterval(() => engine.connection.interrupt(), 10)
  assert.deepEqual(await slow.finally(() => clearInterval(asking)), { kind: 'interrupted' })
  assert.equal(engineFailure(new TypeError('x')), null)
})

test('an engine has the limits and the zone that it is armed with, and nothing can be changed once it is sealed', async () => {
  const { memory_bytes, threads } = DEFAULT_LIMITS
  for (const bytes of [memory_bytes, 64_000_000]) {
    for (const wanted of [threads, 3]) {
      for (const time_zone of ['UTC', 'Asia/Kathmandu', 'UTC']) {
        const own = await openEngine()
        const temp_folder = path.join(tmpdir(), 'assay-armed')
        await arm(own, { memory_bytes: bytes, threads: wanted, temp_folder, time_zone })
        await seal(own, [])
        const names = 'memory_limit max_temp_directory_size threads temp_directory TimeZone'.split(' ')
        const sql = `select ${names.map((name) => `current_setting('${name}')::varchar`).join(', ')}`
        const { rows } = await readTable(own, sql, {}, 1)
        const [limit, spill, ...rest] = rows[0] as string[]
        assert.ok(Math.abs(bytesOf(limit!) - bytes) < 0.01 * bytes, limit)
        assert.ok(Math.abs(bytesOf(spill!) - 16 * bytes) < 0.01 * 16 * bytes, spill)
        assert.deepEqual(rest, [String(wanted), temp_folder, time_zone])
        for (const change of ["set memory_limit = '2GB'", "set TimeZone = 'UTC'", 'reset threads'])
          await assert.rejects(own.connection.run(change), /locked/, change)
        own.close()
      }
    }
  }
})

/** Returns the bytes of a size such as "953.6 MiB", which DuckDB prints with one digit. */
function bytesOf(text: string): number {
  const [number, unit] = text.split(' ')
  return Number(number) * 1024 ** ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'].indexOf(unit!)
}

test('queries that are asked at once are answered one after the other, each with all of its rows', async () => {
  const asked = [5000, 1, 20_000].map((n) => readTable(engine, `select range from range(${n})`, {}, 10))
  const failed = assert.rejects(readTable(engine, 'select missing', {}, 1))
  const after = readTable(engine, 'select 1', {}, 1)
  assert.deepEqual(
    (await Promise.all(asked)).map(({ total }) => total),
    [5000, 1, 20_000],
  )
  await failed
  assert.equal((await after).total, 1)
})

test('a file in place of another of the same second is read, not the one before', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'assay-replaced-'))
  const own = await openEngine()
  try {
    const file = path.join(folder, 'answer.parquet')
    // DuckDB takes only files older than ten seconds from its cache.
    const second = Math.floor(Date.now() / 1000) - 60
    for (const [index, at] of [second, second + 0.5].entries()) {
      await execute(own, `copy (select ${index} as a from range(300)) to ${literal(file)} (format parquet)`)
      await utimes(file, at, at)
      const { rows } = await readTable(own, `select min(a) from read_parquet(${literal(file)})`, {}, 1)
      assert.deepEqual(rows, [[index]])
    }
  } finally {
    own.close()
    await rm(folder, { recursive: true, force: true })
  }
})
