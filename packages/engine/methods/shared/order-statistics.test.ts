import assert from 'node:assert/strict'
import { test } from 'node:test'
import { relation } from '../relation-fixture.ts'
import { orderStatistics } from './order-statistics.ts'

const N = 250_000
const COLUMNS: Record<string, string> = {
  'in no order': '(hash(k) % 1000003) / 7.0',
  'in order': 'k',
  'in falling order': '-k',
  'of two values': 'k % 2',
  'of one value': '3',
  'in waves as long as the sample is coarse': 'k % 5',
  'of mostly one value': 'case when k % 1000 = 0 then k else 0 end',
  'of every size': 'pow(10, (hash(k) % 600)::int - 300) * case when k % 2 = 0 then 1 else -1 end',
  'where the sample misleads': 'case when k % 5 = 4 then -k else k end',
}

for (const [title, value] of Object.entries(COLUMNS)) {
  test(`places of many rows are those of a sort: values ${title}`, async () => {
    const table = await relation(`select cast(${value} as double) as v from range(${N}) r(k)`)
    const places = [1, 62_500, 62_501, 125_000, 125_001, 187_500, N]
    const found = await orderStatistics(table, `(select v from ${table.relation})`, N, places)
    const sorted = await table.query(
      `select i, v from (select v, row_number() over (order by v) as i from ${table.relation}) where i in (${places.join(', ')}) order by i`,
    )
    assert.deepEqual(
      places.map((place) => ({ i: place, v: found.get(place) })),
      sorted,
    )
  })
}

test('only few rows are sorted where a sample serves, and all where it does not', async () => {
  const asked = async (value: string): Promise<string[]> => {
    const table = await relation(`select cast(${value} as double) as v from range(${N}) r(k)`)
    const seen: string[] = []
    const watched = { ...table, query: (sql: string) => (seen.push(sql), table.query(sql)) }
    await orderStatistics(watched, `(select v from ${table.relation})`, N, [125_000])
    return seen.filter((sql) => sql.includes('row_number() over (order by v)'))
  }
  assert.equal((await asked('hash(k) % 1000003')).length, 0)
  assert.equal((await asked('case when k % 5 = 4 then -1000000 - k else k end')).length, 1)
})
