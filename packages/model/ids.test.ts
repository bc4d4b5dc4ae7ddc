import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isUuid, uuidv7 } from './ids.ts'

test('ids are UUIDs of version 7 that sort in the order in which they were made', () => {
  const ids = Array.from({ length: 20_000 }, () => uuidv7())
  assert.equal(new Set(ids).size, ids.length)
  assert.deepEqual(ids, ids.toSorted())
  for (const id of ids) {
    assert.ok(isUuid(id))
    assert.match(id, /^.{14}7.{4}[89ab]/)
  }
})

test('an id bears the millisecond in which it was made', () => {
  const soon = Date.now() + 3_600_000
  assert.equal(Number.parseInt(uuidv7(soon).replaceAll('-', '').slice(0, 12), 16), soon)
})
