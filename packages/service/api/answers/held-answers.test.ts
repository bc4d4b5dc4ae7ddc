import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { ServerResponse } from 'node:http'
import { test } from 'node:test'
import { AppError } from '@assay/model/errors'
import { createHeldAnswers } from './held-answers.ts'

/** The side of an answer that tells its end. */
const response = (): ServerResponse => new EventEmitter() as unknown as ServerResponse
const large = (): Buffer => Buffer.alloc(400_000)

test('an owner has so many bytes waiting, told by the cap, and each answer that is sent makes room', () => {
  const held = createHeldAnswers(1_000_000)
  const first = response()
  held.hold('a', large(), first)
  held.hold('a', 'x'.repeat(400_000), response())
  held.hold('a', 'a short answer', response())
  assert.equal(held.bytes('a'), 800_000)
  assert.throws(
    () => held.hold('a', large(), response()),
    (error) =>
      error instanceof AppError &&
      error.code === 'workspace_busy' &&
      error.retryAfter === 5 &&
      /Answers of 1 MB wait .* and 1 MB may/.test(error.message),
  )
  held.hold('b', large(), response())
  first.emit('close')
  assert.equal(held.bytes('a'), 400_000)
  held.hold('a', large(), response())
})

test('bytes that many answers share count once, and one answer alone may be larger than the cap', () => {
  const held = createHeldAnswers(1_000_000)
  const page = Buffer.alloc(3_000_000)
  const readers = Array.from({ length: 50 }, response)
  for (const reader of readers) held.hold('a', page, reader)
  assert.equal(held.bytes('a'), 3_000_000)
  for (const reader of readers.slice(1)) reader.emit('close')
  assert.equal(held.bytes('a'), 3_000_000)
  readers[0]!.emit('close')
  assert.equal(held.bytes('a'), 0)
})
