/** Tests that the engine reads footers without some row groups. */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { openEngine, readTable } from '../../../duckdb/duckdb.ts'
import { BadFooter, keepRowGroups } from './footer.ts'

const TRAILER = 8

function divided(file: string): { body: Buffer; footer: Buffer } {
  const bytes = readFileSync(file)
  const length = bytes.readUInt32LE(bytes.length - TRAILER)
  const at = bytes.length - TRAILER - length
  return { body: bytes.subarray(0, at), footer: bytes.subarray(at, at + length) }
}

function written(file: string, body: Buffer, footer: Buffer): void {
  const length = Buffer.alloc(4)
  length.writeUInt32LE(footer.length)
  writeFileSync(file, Buffer.concat([body, footer, length, Buffer.from('PAR1')]))
}

test('a file has the rows of the row groups that are kept, and no others', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'assay-footer-'))
  const engine = await openEngine()
  const rowsOf = async (file: string, which = 'true'): Promise<unknown> => {
    const sql = `select count(*), sum(id), count(distinct word), max(nested.a) from '${file}' where ${which}`
    return (await readTable(engine, sql, {}, 1)).rows[0]
  }
  try {
    const whole = path.join(folder, 'whole.parquet')
    await engine.connection.run(`copy (select i as id, 'word ' || i % 7 as word, case when i % 3 = 0 then null else i / 7 end as f,
      [i, i + 1] as list, {'a': i, 'b': [true, i % 2 = 0]} as nested, map([i], [date '2026-01-01']) as m
      from range(61440) r(i)) to '${whole}' (row_group_size 2048, compression zstd)`)
    const { body, footer } = divided(whole)
    for (const kept of [
      [],
      [0],
      [29],
      [1, 2, 17],
      Array.from({ length: 16 }, (_, index) => 2 * index),
      [...Array(30).keys()],
    ]) {
      const part = path.join(folder, 'part.parquet')
      written(part, body, keepRowGroups(footer, new Set(kept)))
      const among = kept.length === 0 ? 'false' : `id // 2048 in (${kept.join(', ')})`
      assert.deepEqual(await rowsOf(part), await rowsOf(whole, among), kept.join(', '))
      const { rows } = await readTable(
        engine,
        `select num_rows::varchar from parquet_file_metadata('${part}')`,
        {},
        1,
      )
      const groups = kept.filter((group) => group < 30)
      assert.deepEqual(rows, [[String(groups.length * 2048)]])
    }
    assert.equal(Buffer.compare(keepRowGroups(footer, new Set(Array(30).keys())), footer), 0)
    for (let length = 0; length < footer.length; length += 97)
      assert.throws(() => keepRowGroups(footer.subarray(0, length), new Set([0])), BadFooter)
  } finally {
    engine.close()
    rmSync(folder, { recursive: true, force: true })
  }
})
