/** Tests order statistics by counting, with the engine itself as the database. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DUCKDB } from '../dialects/duckdb.ts'
import { printSelect } from '../dialects/print.ts'
import { openEngine, readTable } from '../duckdb/duckdb.ts'
import { SourceError } from '../sources/source.ts'
import type { Asked } from './ask.ts'
import { kept, located, momentsOf, valuesOf } from './numbers.ts'
import { valuesAt } from './places.ts'

test('places are those of the sorted values, and rows that change between two counts are told', async () => {
  const engine = await openEngine()
  try {
    await engine.connection.run(
      'create table t as select ((n * 7919) % 20011) / 8 as v from range(20011) r(n)',
    )
    const asked: Asked = {
      from: { query: 'from t' },
      async ask(select) {
        const found = await readTable(engine, printSelect(select, DUCKDB), {}, 1e6, { floats: 'raw' })
        return found.rows.map((row) =>
          Object.fromEntries(found.columns.map(({ name }, at) => [name, row[at]!])),
        )
      },
    }
    const values = kept(valuesOf(asked, 'v'))
    const { parts } = await momentsOf(asked, values, await located(asked, values))
    assert.ok(parts.length > 1000)
    const places = [1, 2, 5003, 10_006, 20_011]
    const at = await valuesAt(asked, values, parts, places)
    assert.deepEqual(
      places.map((place) => at.get(place)),
      places.map((place) => (place - 1) / 8),
    )
    await engine.connection.run('delete from t where v > 600')
    await assert.rejects(valuesAt(asked, values, parts, places), SourceError)
  } finally {
    engine.close()
  }
})
