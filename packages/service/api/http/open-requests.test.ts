import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AppError } from '@assay/model/errors'
import { createOpenRequests } from './open-requests.ts'

test('a workspace has a bounded number of open requests, a token half of it, and each that ends makes room', () => {
  const requests = createOpenRequests(4)
  const open = (workspace_id: string, token_id: string) => requests.open({ workspace_id, token_id })
  const first = open('a', 'one')
  open('a', 'one')
  assert.throws(
    () => open('a', 'one'),
    (error) =>
      error instanceof AppError &&
      error.code === 'workspace_busy' &&
      /token has 2 .*max_streams/.test(error.message),
  )
  open('a', 'two')
  open('a', 'two')
  assert.throws(() => open('a', 'three'), /The workspace has 4/)
  open('b', 'four')
  first()
  first()
  open('a', 'three')
  assert.throws(() => open('a', 'three'), /The workspace has 4/)
  assert.deepEqual(
    [...requests.counts()].toSorted(([a], [b]) => (a < b ? -1 : 1)),
    [
      ['a', 4],
      ['b', 1],
    ],
  )
})
