/**
 * Tries every view of the engine's own catalog, in every form that gives a name a scope. None may give a path of the
 * server.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { literal, openEngine, readTable, seal } from '../duckdb/duckdb.ts'
import { createGuard } from './sql-guard.ts'

const folder = await mkdtemp(path.join(os.tmpdir(), 'assay-scopes-'))
const file = path.join(folder, 'flights.csv')
await writeFile(file, 'a,b\n1,2\n')
const engine = await openEngine()
await engine.connection.run(`create view flights as from read_csv(${literal(file)})`)
await engine.connection.run(`set temp_directory = ${literal(folder)}`)
const { rows } = await readTable(
  engine,
  `select view_name from duckdb_views() where internal
   union select function_name from duckdb_functions() where function_name ~ '(duckdb|pragma)_.*(s|list)'
   order by 1`,
  {},
  1_000,
)
const catalog = rows.map(([name]) => name as string)
await seal(engine, [file])
const guard = createGuard(engine)
after(async () => {
  engine.close()
  await rm(folder, { recursive: true, force: true })
})

/**
 * The forms. `#` is the name of the catalog; `K` is the same name with a letter that JavaScript reads as "k" and
 * DuckDB does not.
 */
const FORMS = [
  'from #',
  'from main.#',
  'from system.main.#',
  'table #',
  'with # as (from #) from #',
  'with # as (select 1) select (select # from #)',
  'with # as materialized (from #) from #',
  'with recursive # as (from # union all from # where false) from #',
  'with recursive # as (from # union from #) from #',
  'with recursive # using key (a) as (select 1 as a union all select a from # where false) from #',
  'with recursive t as (from # union all from #) from t',
  'with recursive t as (with # as (select 1) from # union all from #) from t',
  'with recursive t as (with recursive # as (from # union from #) from # union from t) from t',
  'with a as (from #), # as (select 1) from a',
  'with # as (select 1), a as (with # as (from #) from #) from a, #',
  '(with # as (select 1) from #) union all by name from #',
  'from (with # as (select 1) from #), #',
  'from flights, lateral (from # limit 5)',
  'with # as (select 1) select * from flights, lateral (with # as (from #) from #)',
  'select (with # as (select 1) select count(*) from #), (select any_value(x) from # x)',
  'select a from flights where exists (with # as (select 1) from #) or a in (select 1 from #)',
  'from flights order by (select any_value(x) from # x)',
  'from flights positional join #',
  'from flights asof join # on a >= b',
  'from # pivot (count(*) for a in (1))',
  'from # unpivot (v for n in (a))',
  'with # as (select 1 as a) from # pivot (count(*) for a in (1))',
  'pivot # on a',
  'unpivot # on a',
  'describe #',
  'summarize #',
  'show #',
  'from (describe #)',
  "from query('from #')",
  "from query_table('#')",
  'from query_table(#)',
  'from #()',
  "from #('flights')",
  'from range((select count(*) from #))',
  'values ((select any_value(x) from # x))',
  'select list_transform([1], lambda x: (select any_value(y) from # y))',
  'select [x for x in [1] if exists (from #)]',
  'with K as (select 1) from #',
  'with # as (select 1) from K',
  'with recursive K as (select 1 union all from # where false) from K',
]

test('a view of the catalog is refused in every scope, or what it gives holds no path', async () => {
  const seen = await readTable(engine, 'select sql from duckdb_views', {}, 1_000)
  assert.ok(JSON.stringify(seen.rows).includes(folder), 'the path is there to be found')
  assert.ok(catalog.includes('duckdb_views') && catalog.includes('pg_settings'))
  for (const name of catalog) {
    for (const form of FORMS) {
      const sql = form.replaceAll('#', name).replaceAll('K', `"${name.replaceAll('k', '\u212A')}"`)
      const verdict = await guard.judge(sql, ['flights'])
      if (!verdict.ok) continue
      const given = await readTable(engine, sql, {}, 1_000).then(
        ({ rows: found }) => JSON.stringify(found),
        String,
      )
      assert.ok(!given.includes(folder), `${sql} gave ${given}`)
    }
  }
})

test('a table of a WITH may not have a name of the catalog, and the fault says to rename it', async () => {
  for (const name of ['duckdb_views', 'DuckDB_Tables', 'pragma_database_list', 'sqlite_master', 'pg_class']) {
    const verdict = await guard.judge(`with a as (select 1), ${name} as (select 2) from a`, [])
    assert.ok(!verdict.ok, name)
    assert.match(verdict.fault.message, /name of the engine's own catalog/)
    assert.match(verdict.fault.remedy, /Rename/)
  }
})

test('recursive queries that analysts write pass and give what they ask for', async () => {
  const first = async (sql: string): Promise<unknown> => {
    const verdict = await guard.judge(sql, ['flights'])
    assert.ok(verdict.ok, JSON.stringify(verdict))
    return (await readTable(engine, sql, {}, 1)).rows[0]![0]
  }
  const count =
    'with recursive t(n) as (select 1 union all select n + 1 from t where n < 100) select max(n) from t'
  assert.equal(await first(count), 100)
  const walk = `with recursive edges(a, b) as (values (1, 2), (2, 3), (3, 1), (3, 4)),
    reached(node) as (select 1 union select e.b from reached r join edges e on e.a = r.node)
    select max(node) from reached`
  assert.equal(await first(walk), 4)
  const days = `with recursive days(day) as (
      select date '2024-01-30' union all select (day + interval 1 day)::date from days where day < date '2024-02-02')
    select count(*)::integer from days d where exists (select 1 from flights where a = 1 and d.day is not null)`
  assert.equal(await first(days), 4)
  const keyed = `with recursive t(k, n) using key (k) as (
      select 1, 1 union all select k, n + 1 from t where n < 5) select n from t`
  assert.equal(await first(keyed), 5)
})
