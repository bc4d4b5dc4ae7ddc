import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { array, assert as assertProperty, asyncProperty, constantFrom } from 'fast-check'
import { createGuard } from './sql-guard.ts'

const guard = await createGuard()
after(() => guard.close())
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

const ESCAPES = [
  // Files, by function, by name, by replacement.
  "select * from read_csv('/etc/passwd')",
  "select * from read_text('/etc/passwd')",
  "select * from read_blob('/etc/passwd')",
  "select * from parquet_metadata('x.parquet')",
  "select * from sniff_csv('/etc/passwd')",
  "select * from glob('/**')",
  "select * from '/etc/passwd'",
  'select * from "../data/x.csv"',
  "select * from 'https://example.com/x.parquet'",
  "from (from 'x.csv')",
  "select (select count(*) from 'x.csv')",
  // What writes, or attaches, or changes.
  "copy (select 1) to '/tmp/x'",
  "export database '/tmp/x'",
  "import database '/tmp/x'",
  "attach '/tmp/x.db'",
  "attach ':memory:' as m",
  'create table t as select 1',
  'create macro f() as 1',
  'insert into flights values (1)',
  'update flights set a = 1',
  'delete from flights',
  'drop table flights',
  'alter table flights add column a int',
  'checkpoint',
  'vacuum',
  'use memory',
  'set variable a = 1',
  'install httpfs',
  'load httpfs',
  'call enable_logging()',
  'begin',
  'explain select 1',
  'explain analyze select 1',
  'prepare p as select 1',
  'execute p',
  'set threads = 4',
  'reset threads',
  'pragma version',
  "pragma enable_profiling('json')",
  'describe flights',
  'show tables',
  'summarize flights',
  'select * from (describe flights)',
  'select * from (show tables)',
  'select * from (summarize flights)',
  'pivot flights on a',
  // A SELECT that kills the process, prints, or reads what is hidden.
  "select * from enable_logging(storage='file', storage_config={'path': '/any/forbidden'})",
  "select * from enable_logging(storage='stdout')",
  "select * from enable_profiling('json')",
  "select current_setting('secret_directory')",
  'select * from duckdb_settings()',
  'select * from duckdb_settings',
  'select * from duckdb_databases()',
  'select * from duckdb_secrets()',
  'select * from information_schema.tables',
  'select * from pg_catalog.pg_class',
  'select * from sqlite_master',
  'select * from main.flights',
  'select * from memory.main.flights',
  "select * from query('select 1')",
  "select * from query_table('flights')",
  "select * from json_execute_serialized_sql('{}')",
  "select json_serialize_plan('select 1')",
  "select * from histogram('flights', 'a')",
  "select * from histogram_values('duckdb_settings', 'a')",
  "select getenv('HOME')",
  "select getvariable('a')",
  "select nextval('s')",
  'select pg_sleep(10)',
  'select sleep_ms(10000)',
  "select write_log('x')",
  // Chance and clocks.
  'select random()',
  'select "RANDOM"()',
  'select main.random()',
  'select x.random() from flights x',
  'select uuid()',
  'select gen_random_uuid()',
  'select setseed(0.1)',
  'select now()',
  'select today()',
  'select current_localtimestamp()',
  'select get_current_timestamp()',
  'select transaction_timestamp()',
  'select ago(interval 1 day)',
  "select age(timestamp '2020-01-01')",
  'select current_query()',
  'select txid_current()',
  'select version()',
  'select * from flights using sample 10',
  'select * from flights tablesample 10%',
  'select * from (select 1) tablesample bernoulli(10%)',
  'select reservoir_quantile(a, 0.5) from flights',
  "select list_aggregate([1, 2], 'reservoir_quantile', 0.5)",
  'select list_aggregate([1, 2], a) from flights',
  // More than one statement.
  'select 1; select 2',
  'select 1; drop table flights',
  '',
  ';',
]

test('refuses every known way out, each with what to do', async () => {
  for (const sql of ESCAPES) await refusal(sql)
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

test('a table of a WITH is known where it is in reach and nowhere else', async () => {
  await reads('with duckdb_settings as (select 1) from duckdb_settings')
  await refusal(
    'select (with duckdb_settings as (select 1) select 1 from duckdb_settings), (select value from duckdb_settings)',
  )
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

test('places are counted in characters, whatever stands before them', async () => {
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
