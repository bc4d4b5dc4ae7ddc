/**
 * Tests large tables of queries. They lie on the disk of the job, whole and in order, and no larger than the room
 * there.
 */
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, test } from 'node:test'
import { DECIMAL, INTEGER, VARCHAR } from '@duckdb/node-api'
import { arm, type Engine, execute, openEngine, readTable, seal } from '../../duckdb/duckdb.ts'
import type { RemoteColumn } from '../kind.ts'
import { NoRoom } from '../room.ts'
import { PackedColumn } from './columns.ts'
import { PackedText } from './packed-text.ts'
import { RowsTable } from './rows-table.ts'

const home = mkdtempSync(path.join(tmpdir(), 'assay-rows-table-'))
after(() => rmSync(home, { recursive: true, force: true }))

const ROWS = 3000
const COLUMNS: RemoteColumn[] = [
  { name: 'n', type: INTEGER },
  { name: 'price', type: VARCHAR, settle: () => DECIMAL(38, 1) },
]

async function opened(folder: string): Promise<Engine> {
  const engine = await openEngine()
  await arm(engine, { memory_bytes: 1e9, threads: 1, temp_folder: folder, time_zone: 'UTC' })
  await execute(engine, 'create table facts (n integer, price varchar)')
  return engine
}

/** Makes rows from `first` on. `bytes`: their size as received. */
function batch(first: number, bytes: number) {
  const numbers = new PackedColumn(4, ROWS)
  const prices = new PackedText(ROWS)
  for (let row = 0; row < ROWS; row += 1) {
    numbers.setWhole(row, first + row)
    prices.setText(row, `${first + row}.5`)
  }
  return { rows: ROWS, bytes, columns: [numbers, prices] }
}

test('a large table comes whole and in order, with settled types, and is read where the engine is sealed', async () => {
  const temp_folder = path.join(home, 'large')
  const engine = await opened(temp_folder)
  try {
    const table = await RowsTable.open(engine, 'facts', COLUMNS, {
      temp_folder,
      spill_bytes: 1e9,
    })
    for (const [index, bytes] of [1000, 20_000_000, 1000].entries())
      await table.write(batch(index * ROWS, bytes))
    await table.finish()
    assert.ok(existsSync(path.join(temp_folder, 'large.duckdb')))
    await seal(engine, [])
    const sql = `select count(*)::int, count(*) filter (where n = r and price = n + 0.5)::int, max(typeof(price))
      from (select *, row_number() over () - 1 as r from facts)`
    const { rows } = await readTable(engine, sql, {}, 1)
    assert.deepEqual(rows, [[3 * ROWS, 3 * ROWS, 'DECIMAL(38,1)']])
  } finally {
    engine.close()
  }
})

test('a small table needs no disk, and a dropped one can be made again', async () => {
  const temp_folder = path.join(home, 'small')
  const engine = await opened(temp_folder)
  try {
    const first = await RowsTable.open(engine, 'facts', COLUMNS, {
      temp_folder,
      spill_bytes: 1e9,
    })
    await first.write(batch(0, 1000))
    await first.drop()
    assert.equal(existsSync(temp_folder), false)
    await execute(engine, 'create table facts (n integer, price varchar)')
    const again = await RowsTable.open(engine, 'facts', COLUMNS, {
      temp_folder,
      spill_bytes: 1e9,
    })
    await again.write(batch(0, 20_000_000))
    await again.drop()
    await execute(engine, 'create table facts (n integer, price varchar)')
    const third = await RowsTable.open(engine, 'facts', COLUMNS, {
      temp_folder,
      spill_bytes: 1e9,
    })
    await third.write(batch(7, 20_000_000))
    await third.finish()
    const { rows } = await readTable(engine, 'select min(n), count(*)::int from facts', {}, 1)
    assert.deepEqual(rows, [[7, ROWS]])
  } finally {
    engine.close()
  }
})

test('a table that needs more than the room of its job is refused', async () => {
  const temp_folder = path.join(home, 'full')
  const engine = await opened(temp_folder)
  try {
    const table = await RowsTable.open(engine, 'facts', COLUMNS, {
      temp_folder,
      spill_bytes: 10_000,
    })
    await table.write(batch(0, 20_000_000))
    await assert.rejects(
      async () => {
        await table.write(batch(ROWS, 100_000_000))
        await table.finish()
      },
      (error) => error instanceof NoRoom && /may write to disk: aggregate in the query/.test(error.message),
    )
  } finally {
    engine.close()
  }
})
