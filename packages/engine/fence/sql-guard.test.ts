import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { array, assert as assertProperty, asyncProperty, constantFrom } from 'fast-check'
import { openEngine, seal } from '../duckdb/duckdb.ts'
import { sessionFault } from '../run/plan.ts'
import { ESCAPES } from './sql-escapes-fixture.ts'
import { createGuard } from './sql-guard.ts'

const engine = await openEngine()
await seal(engine, [])
const guard = createGuard(engine)
after(() => engine.close())
const NAMES = ['flights', 'Airports']

async function refusal(sql: string): Promise<{ message: string; line: number; column: number }> {
  const verdict = await guard.judge(sql, NAMES)
  assert.ok(!verdict.ok, `passed: ${sql}`)
  assert.ok(verdict.fault.remedy.length > 0)
  return verdict.fault
}

async function reads(sql: string): Promise<string[]> {
  const verdict = await guard.judge(sql, NAMES)
  assert.ok(verdict.ok, `refused: ${sql}: ${JSON.stringify(verdict)}`)
  return verdict.reads
}

test('refuses every known way out, each with what to do', async () => {
  for (const sql of Object.values(ESCAPES).flat()) await refusal(sql)
})

const PLACES = [
  'select #',
  'select a from flights where #',
  'select a from flights group by #',
  'select count(*) from flights having #',
  'select a from flights qualify # > 1',
  'select a from flights order by #',
  'select a from flights limit (select #)',
  'select distinct on (#) a from flights',
  'select case when # then 1 else # end',
  'select cast(# as int), try_cast(# as int)',
  'select sum(#) filter (where #) over (partition by # order by # rows between # preceding and current row)',
  'select string_agg(a, b order by #) from flights',
  'select * replace (# as a) from flights',
  'select columns(x -> # > 1) from flights',
  'select [x for x in [1] if #]',
  "select {'a': [#]}, map {#: #}, row(#)",
  'select list_transform([1], lambda x: #)',
  'select (a)[#:#] from flights',
  'select exists (select #), # in (select #)',
  'with t as (select #) select * from t',
  'with recursive t as (select 1 as a union all select # from t) select * from t',
  'select 1 union all select #',
  'select * from (values (#))',
  'select * from range(#)',
  'select * from unnest([#])',
  'select * from flights, lateral (select #)',
  'select * from flights join "Airports" on #',
  'select * from flights pivot (sum(#) for a in (1, 2))',
  'select a between # and #, a is distinct from #, a collate nocase = #, not #',
  "select # at time zone 'UTC', (#).a, #.b",
]

test('finds a refused call wherever an expression may stand', async () => {
  for (const place of PLACES) {
    const { message } = await refusal(place.replaceAll('#', 'random()'))
    assert.match(message, /random\(\) is not allowed/, place)
  }
})

test('lets through what analysts write', async () => {
  const written = [
    "select date_trunc('month', date) as m, count(*) as n, avg(delay) filter (where delay > 0) from flights where origin = $origin and date >= $period.start group by all order by 1 limit 10",
    'with a as (select * from flights), b as (from a) select * from b join "airports" using (id)',
    'with recursive t(n) as (select 1 union all select n + 1 from t where n < 5) from t',
    'select row_number() over w, lag(a) over w, a - lag(a, 1, 0) over w from flights window w as (partition by b order by c)',
    "select * exclude (a) replace (upper(b) as b), columns('x.*') from flights",
    "select unnest([1, 2]) as a, [x * 2 for x in [1, 2] if x > 1], {'k': 1}.k, map {'a': 1}['a'], 'abc'[1:2], 5 // 2, 2 ** 3",
    "select quantile_cont(delay, [0.5, 0.9]), median(delay), mode(origin), arg_max(a, b), string_agg(origin, ', ' order by origin) from flights",
    "select regexp_extract(a, '(\\d+)', 1), a ilike '%x%', a similar to 'x', a not in ('b'), strftime(date, '%Y') from flights",
    'select * from flights asof join airports on flights.a >= airports.a',
    'select * from flights unpivot (value for name in (a, b))',
    "select a::decimal(10, 2), interval '1 day' * 3, date '2024-01-01' + 1, timestamp '2024-01-01' at time zone 'UTC' from flights",
    "select json_extract_string(j, '$.a'), j ->> 'a' from flights, json_each(j)",
    'select a from flights intersect (select b from airports except select 3)',
    'from flights select a where b order by all',
    'select count(*) from flights group by grouping sets ((a), ()), cube (b)',
    'select 1;',
    "-- a remark; with signs\nselect /* ; */ ';'",
  ]
  for (const sql of written) await reads(sql)
})

test('says which sources and blocks are read, as they were named', async () => {
  assert.deepEqual(await reads('select * from FLIGHTS f join airports a using (id), flights g'), [
    'flights',
    'Airports',
  ])
  assert.deepEqual(await reads('with flights as (select 1) select * from flights'), [])
  assert.deepEqual(await reads('with a as (select * from flights) select * from a'), ['flights'])
})

test('a table of a WITH is known only in its scope', async () => {
  await reads('with settings as (select 1) from settings')
  await refusal('select (with settings as (select 1) select 1 from settings), (select value from settings)')
  await refusal(
    'select (with duckdb_settings as (select 1) select 1 from duckdb_settings), (select value from duckdb_settings)',
  )
  await refusal('with recursive x as (select * from x union all select * from x where false) from x')
  await refusal('with a as (from b), b as (select 1) from a')
  await refusal('with pg_class as (from pg_class) from pg_class')
})

test('names asking the clock are reported with their place, for the engine to weigh against the columns', async () => {
  const verdict = await guard.judge('select\n  current_date, user, f.today from flights f', NAMES)
  assert.ok(verdict.ok)
  assert.deepEqual(
    verdict.session.map(({ name, fault }) => [name, fault.line, fault.column]),
    [
      ['current_date', 2, 3],
      ['user', 2, 17],
    ],
  )
})

test('a name of the clock is a column only where a relation of the same FROM has that column', async () => {
  const columns = (name: string) => (name === 'flights' ? [{ name: 'current_date' }, { name: 'User' }] : [])
  const asks = async (sql: string): Promise<string | null> => {
    const verdict = await guard.judge(sql, NAMES)
    assert.ok(verdict.ok, sql)
    return sessionFault(verdict.session, columns)?.remedy ?? null
  }
  for (const sql of [
    'select current_date from flights',
    'select f.current_date from "Airports", flights f where current_date > b',
    'select a from flights f where exists (select 1 from "Airports" where b = f.current_date)',
    'with t as (select current_date, user from flights) select user, count(*) from t group by user',
    'select a from flights limit (select year(min(current_date)) from flights)',
  ])
    assert.equal(await asks(sql), null, sql)
  for (const sql of [
    'with t as (select current_date) select t.* from t, flights',
    'from flights cross join (select 1 from "Airports" where current_date > b)',
    'select (with t as (select current_date) from t) from flights',
    'select 1 from "Airports" union select current_date union select a from flights',
    'select current_date from flights f(a, b)',
    'select current_date from "Airports" semi join flights on a = b',
    'with flights as (select 1) select current_date from flights',
    'select a from flights where exists (select 1 from "Airports" where b = current_date)',
    'select a from flights limit (select current_date from "Airports")',
    'select a from flights limit 1 offset (select current_date)',
    'from flights as u positional join "Airports" select 1 where (select current_date from "Airports" as u)',
    'from flights U select 1 where (select current_date from (select 1) as u)',
    'select count(*) from flights anti join flights on true group by cube (current_date)',
    'select a from flights limit (select year(current_date))%',
    'select a from flights union select a from flights limit (select current_date)',
  ])
    assert.match((await asks(sql)) ?? 'passed', /with its table: t\.current_date/, sql)
})

test('a cast or a structure of JSON may name the types of DuckDB in any spelling', async () => {
  await reads("select 'a'::JSON, 1::\"Integer\", null::struct(a json[], b decimal(10, 2)), 'a'::enum('a')")
  await reads(`select from_json('{}', '{"a": ["DECIMAL(10, 2)"], "b": {"c": "varchar[]"}}')`)
  const { message } = await refusal("select json_transform('{}', '{' || '}')")
  assert.match(message, /structure of json_transform\(\) is not text/)
})

test('positions are counted in characters, whatever stands before them', async () => {
  const fault = await refusal("select 'é€😀',\n  'ü', random()")
  assert.deepEqual([fault.line, fault.column], [2, 8])
})

test('a statement nested beyond measure is refused, not a crash', async () => {
  const deep = 3_000
  await refusal(`select ${'('.repeat(deep)}random()${')'.repeat(deep)}`)
  await guard.judge(`select ${'(select '.repeat(deep)}1${')'.repeat(deep)}`, [])
  await refusal(`select ${Array.from({ length: deep }, () => 'random()').join(' + ')}`)
})

test('any text gets an answer, and random() never gets through', async () => {
  const words = constantFrom(
    'select',
    'from',
    'flights',
    'a',
    '1',
    '(',
    ')',
    ',',
    "'",
    '"',
    'random()',
    '--',
    '/*',
    '*/',
    ';',
    'with',
    'as',
    'union',
    '[',
    ']',
    '$a',
    'x',
  )
  await assertProperty(
    asyncProperty(array(words, { maxLength: 12 }), async (parts) => {
      const sql = parts.join(' ')
      const verdict = await guard.judge(sql, NAMES)
      if (!verdict.ok) assert.ok(verdict.fault.line >= 1 && verdict.fault.column >= 1)
      const code = sql.replace(/'[^']*('|$)|"[^"]*("|$)|--.*$|\/\*.*?(\*\/|$)/g, ' ')
      if (verdict.ok) assert.ok(!code.includes('random()'), sql)
    }),
    { numRuns: 300 },
  )
})

test('a statement that has passed passes again, and by its names alone', async () => {
  const sql = 'select count(*) from flights'
  const first = await guard.judge(sql, NAMES)
  assert.deepEqual(await guard.judge(sql, NAMES), first)
  assert.equal((await guard.judge(sql, ['Airports'])).ok, false)
  assert.deepEqual(await guard.judge(sql, ['FLIGHTS']), { ...first, reads: ['FLIGHTS'] })
})

test('a function that does not exist is called unknown, with what to write; one that exists stays refused', async () => {
  const told = async (sql: string): Promise<string> => {
    const verdict = await guard.judge(sql, NAMES)
    return verdict.ok ? 'passed' : `${verdict.fault.column} ${verdict.fault.message} ${verdict.fault.remedy}`
  }
  assert.equal(
    await told('select coutn(*) from flights'),
    '8 There is no function coutn(). Did you mean count()?',
  )
  assert.equal(
    await told('select dayte_trunc(1) from flights'),
    '8 There is no function dayte_trunc(). Did you mean date_trunc()?',
  )
  assert.match(await told('select getdate() from flights'), /no function getdate\(\)\. Write a date variable/)
  assert.match(
    await told('select NVL(a, 0) from flights'),
    /no function nvl\(\)\. Write coalesce\(value, other\)/,
  )
  assert.match(
    await told('select wholly_unheard_of_thing(a) from flights'),
    /no function .*list of functions/,
  )
  assert.match(
    await told('select * from generate_serie(1, 3)'),
    /no function generate_serie\(\)\. Did you mean generate_series\(\)\?/,
  )
  assert.match(await told('select random() from flights'), /^8 random\(\) is not allowed/)
  assert.match(await told("select * from read_csv('x')"), /read_csv\(\) is not allowed/)
})
