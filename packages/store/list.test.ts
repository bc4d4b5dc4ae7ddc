/** Pages of rows whose length a client decides. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listOf, PAGE_BYTES } from './list.ts'
import type { Reader } from './rows.ts'
import { Table } from './tables/table.ts'

interface Row {
  id: string
  created_at: string
  text: string
}
const ROWS = new Table<Row>('rows', ['id'], { id: 'text', created_at: 'time', text: 'text' })
const LIST = listOf(ROWS, { columns: ROWS.columns, wide: ['text'], id: 'id', indexed: [[]] })

/**
 * Returns the ids of a page over rows of these lengths, the ids that were read by a statement of their own, and
 * whether more rows follow.
 */
function pageOf(lengths: number[]): { ids: string[]; whole: string[]; goesOn: boolean } {
  const whole: string[] = []
  const rows = {
    dialect: 'sqlite',
    *all(_: unknown, { ids }: { ids?: string[] }) {
      yield Promise.resolve()
      whole.push(...(ids ?? []))
      if (ids) return ids.map((id) => ({ id, text: 'whole' }))
      return lengths.map((bytes, nth) => ({ id: String(nth), created_at: '2026', text: 'short', bytes }))
    },
  } as unknown as Reader
  const page = LIST.page(rows, { limit: 200 })
  let step = page.next()
  while (!step.done) step = page.next()
  const { value } = step
  for (const { id, text } of value.items) assert.equal(text, whole.includes(id) ? 'whole' : 'short')
  return { ids: value.items.map(({ id }) => id), whole, goesOn: value.next_cursor !== null }
}

test('a page ends once the texts of clients have a megabyte, after one row at least, and reads no row beyond its end', () => {
  assert.deepEqual(pageOf([10, 20]), { ids: ['0', '1'], whole: [], goesOn: false })
  assert.deepEqual(pageOf([PAGE_BYTES + 1, 1]), { ids: ['0'], whole: ['0'], goesOn: true })
  assert.deepEqual(pageOf([PAGE_BYTES + 1]), { ids: ['0'], whole: ['0'], goesOn: false })
  assert.deepEqual(pageOf([900_000, 10, 900_000, 10]), { ids: ['0', '1'], whole: ['0'], goesOn: true })
  assert.equal(pageOf(Array.from({ length: 201 }, () => 4000)).ids.length, 200)
})
