import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Declared, read, refusal } from '../text/polluted/read-fixture.ts'

const json = (document: unknown, given: Declared = {}) =>
  read(typeof document === 'string' ? document : JSON.stringify(document), { name: 'a.json', ...given })

test('the only list of objects within an object is the table, and the lineage names it', async () => {
  const page = {
    meta: { page: 1 },
    errors: [],
    data: [
      { day: '13/02/2024', n: 2 },
      { n: 3, extra: 'x' },
    ],
  }
  const found = await json(page)
  assert.deepEqual([found.types, found.list], [['day DATE', 'n BIGINT', 'extra VARCHAR'], 'data'])
  assert.deepEqual(found.rows, [
    ['2024-02-13', 2, null],
    [null, 3, 'x'],
  ])
  const deep = await json({ result: { items: [{ a: 1 }, { a: 2 }] } })
  assert.deepEqual([deep.list, deep.rows], ['result.items', [[1], [2]]])
  const typed = await json({ data: [{ code: '7' }] }, { columns: { code: 'integer' } })
  assert.deepEqual(typed.types, ['code INTEGER'])
  const packed = await json({ document: [{ document: 1 }] })
  assert.deepEqual(packed.rows, [[1]])
})

test('of several lists the source names one, and nothing is guessed', async () => {
  const both = { orders: [{ a: 1 }], customers: [{ b: 2 }, { b: 3 }] }
  assert.match(
    await refusal(JSON.stringify(both), { name: 'a.json' }),
    /several lists of objects.*Write "list: orders" or "list: customers" in the source, or "list: ''"/,
  )
  assert.deepEqual((await json(both, { dialect: { list: 'customers' } })).rows, [[2], [3]])
  const whole = await json(both, { dialect: { list: '' } })
  assert.deepEqual([whole.total, whole.list], [1, undefined])
  assert.match(
    await refusal(JSON.stringify(both), { name: 'a.json', dialect: { list: 'rows' } }),
    /no list of objects "rows". Write "list: orders" or "list: customers"/,
  )
  assert.match(await refusal('a\n1\n', { dialect: { list: 'rows' } }), /"list" is for JSON/)
})

test('rows that hold lists stay rows, and lines of pages are put together where the source says so', async () => {
  const rows = await json('{"a":1,"tags":[{"k":1}]}\n{"a":2,"tags":[{"k":2}]}\n')
  assert.deepEqual([rows.total, rows.list], [2, undefined])
  const plain = await json([{ data: [{ a: 1 }] }, { data: [] }])
  assert.deepEqual([plain.total, plain.list], [2, undefined])
  for (const one of ['[{"data":[{"a":1}]}]', '{"data":[{"a":1}]}'])
    assert.equal(
      (await json(one, { name: one.startsWith('[') ? 'a.json' : 'a.ndjson' })).list,
      undefined,
      one,
    )
  assert.equal((await json({ data: [1, 2] })).total, 1, 'a list of numbers is no table')
  const pages = '{"data":[{"a":1},{"a":2}]}\n{"data":[{"a":3}]}\n'
  const told = await json(pages, { name: 'a.ndjson', dialect: { list: 'data' } })
  assert.deepEqual(told.rows, [[1], [2], [3]])
})
