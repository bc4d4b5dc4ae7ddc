import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openEngine, readTable } from '../duckdb/duckdb.ts'
import { ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS } from './sql-functions.ts'
import { createGuard } from './sql-guard.ts'
import { ALLOWED_TYPES } from './sql-nodes.ts'

const engine = await openEngine()
const guard = createGuard(engine)
after(() => {
  engine.close()
})

interface Listed {
  name: string
  type: string
  volatile: boolean
}

/** Returns every function of the engine in use, from the engine itself. */
async function functions(): Promise<Listed[]> {
  const { rows } = await readTable(
    engine,
    `select lower(function_name), function_type,
        bool_or(coalesce(has_side_effects, false) or coalesce(stability, 'CONSISTENT') <> 'CONSISTENT')
      from duckdb_functions() group by 1, 2 order by 1, 2`,
    {},
    10_000,
  )
  return rows.map(([name, type, volatile]) => ({
    name: name as string,
    type: type as string,
    volatile: volatile === true,
  }))
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

test('every table function, table macro and pragma of DuckDB is refused unless it is on the list', async () => {
  const listed = (await functions()).filter(({ type }) => ['table', 'table_macro', 'pragma'].includes(type))
  assert.ok(listed.length > 100)
  const passed: string[] = []
  for (const { name } of listed) {
    const verdict = await guard.judge(`select * from ${quoted(name)}('x')`, [])
    if (verdict.ok) passed.push(name)
    assert.equal(verdict.ok, ALLOWED_TABLE_FUNCTIONS.has(name), name)
  }
  assert.deepEqual(
    new Set(passed),
    new Set(['generate_series', 'json_each', 'json_tree', 'range', 'repeat', 'repeat_row', 'unnest']),
  )
})

test('every scalar, aggregate and macro of DuckDB is refused unless it is on the list', async () => {
  const listed = (await functions()).filter(({ type }) => ['scalar', 'aggregate', 'macro'].includes(type))
  assert.ok(listed.length > 700)
  for (const { name } of listed) {
    const second = /^(from_json|json_transform)/.test(name) ? '"integer"' : 'sum'
    const verdict = await guard.judge(`select ${quoted(name)}('a', '${second}', 'c')`, [])
    assert.equal(verdict.ok, ALLOWED_FUNCTIONS.has(name), name)
  }
})

test('no function that DuckDB calls volatile is on the list, but for error()', async () => {
  const listed = (await functions()).filter(({ name, volatile }) => volatile && ALLOWED_FUNCTIONS.has(name))
  assert.deepEqual([...new Set(listed.map(({ name }) => name))], ['error'])
})

test('the list names no function that DuckDB does not have', async () => {
  const known = new Set((await functions()).map(({ name }) => name))
  // These are written as operators or special forms, so duckdb_functions() does not list them.
  for (const name of ['!', '->', '!~', '!~*', 'coalesce', 'ifnull', 'grouping', 'grouping_id'])
    known.add(name)
  for (const name of ['similar_to_escape', 'not_similar_to_escape', 'row', 'unnest']) known.add(name)
  assert.deepEqual(
    [...ALLOWED_FUNCTIONS].filter((name) => !known.has(name)),
    [],
  )
})

test('the list names the types that DuckDB has, and all but those that no block can cast to', async () => {
  const { rows } = await readTable(engine, 'select distinct lower(type_name) from duckdb_types()', {}, 1_000)
  const known = new Set(rows.map(([name]) => name as string))
  assert.deepEqual(
    [...ALLOWED_TYPES].filter((name) => !known.has(name)),
    [],
  )
  const others = ['row', 'time with time zone', 'timestamp with time zone', 'type']
  assert.deepEqual([...known].filter((name) => !ALLOWED_TYPES.has(name)).toSorted(), others)
})

test('every setting of DuckDB is out of reach of a block', async () => {
  const { rows } = await readTable(engine, 'select name from duckdb_settings() order by 1', {}, 1_000)
  assert.ok(rows.length > 100)
  for (const [name] of rows as string[][]) {
    for (const sql of [
      `set ${name} = 1`,
      `reset ${name}`,
      `pragma ${name}`,
      `select current_setting('${name}')`,
    ]) {
      assert.equal((await guard.judge(sql, [])).ok, false, sql)
    }
  }
})
