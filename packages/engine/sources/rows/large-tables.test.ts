/**
 * Tests large tables of files: made by a query, made again if the query was found to be wrong, and read after the
 * engine is sealed.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { arm, openEngine, readTable, seal } from '../../duckdb/duckdb.ts'
import { NoRoom } from '../room.ts'
import { keepLarge } from './large-tables.ts'

const home = mkdtempSync(path.join(tmpdir(), 'assay-large-tables-'))
after(() => rmSync(home, { recursive: true, force: true }))

test('large tables are kept under their names and leave the limits as they were', async () => {
  const temp_folder = path.join(home, 'kept')
  const room = { temp_folder, spill_bytes: 1e9 }
  const engine = await openEngine()
  try {
    await arm(engine, { memory_bytes: 3e8, threads: 1, temp_folder, time_zone: 'UTC' })
    const limit = "select current_setting('memory_limit')"
    const before = await readTable(engine, limit, {}, 1)
    await assert.rejects(keepLarge(engine, 'one', "select cast('none' as integer) as n", room))
    for (const count of [10, 300_000]) await keepLarge(engine, 'one', `from range(${count}) r(n)`, room)
    await keepLarge(engine, 'rows of "two"', "select 'é' as t, null::hugeint as h", room)
    assert.deepEqual(readdirSync(temp_folder), ['large.duckdb'])
    await seal(engine, [])
    const sql = 'select count(*)::int, sum(n)::int, (select t from "rows of ""two""") from one where n < 100'
    assert.deepEqual((await readTable(engine, sql, {}, 1)).rows, [[100, 4950, 'é']])
    assert.deepEqual((await readTable(engine, limit, {}, 1)).rows, before.rows)
  } finally {
    engine.close()
  }
})

test('a large table that fills the disk of its job is refused', async () => {
  const temp_folder = path.join(home, 'full')
  const engine = await openEngine()
  try {
    const room = { temp_folder, spill_bytes: 10_000 }
    await assert.rejects(keepLarge(engine, 'one', 'from range(100000) r(n)', room), NoRoom)
    // One statement that would write 340 MB ends in the middle.
    const many = 'select hash(n) as a, hash(n + 1) as b from range(20000000) r(n)'
    await assert.rejects(keepLarge(engine, 'two', many, room), NoRoom)
    assert.ok(statSync(path.join(temp_folder, 'large.duckdb')).size < 170e6)
  } finally {
    engine.close()
  }
})
