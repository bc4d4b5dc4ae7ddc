import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createStatuses } from './statuses.ts'

function given(told = true) {
  let change: (assignment_id: string) => void = () => undefined
  const statuses = createStatuses({
    onJobChange(changed) {
      change = changed
      return told
    },
  })
  return { statuses, change: (assignment_id: string) => change(assignment_id) }
}

test('keeps an answer until its own job changes, for its own workspace', () => {
  const { statuses, change } = given()
  statuses.reading('mine', 'a')('answer')
  statuses.reading('other', 'a')
  change('b')
  assert.equal(statuses.get('mine', 'a'), 'answer')
  assert.equal(statuses.get('other', 'a'), undefined)
  change('a')
  assert.equal(statuses.get('mine', 'a'), undefined)
})

test('keeps no answer that was read before the job changed', () => {
  const { statuses, change } = given()
  const early = statuses.reading('mine', 'a')
  change('a')
  const late = statuses.reading('mine', 'a')
  early('before')
  assert.equal(statuses.get('mine', 'a'), undefined)
  late('after')
  early('before')
  assert.equal(statuses.get('mine', 'a'), 'after')
})

test('keeps no more than some thousands, and nothing where it is not told of changes', () => {
  const { statuses } = given()
  for (let job = 0; job < 5000; job += 1) statuses.reading('mine', `${job}`)('answer')
  assert.equal(statuses.get('mine', '0'), undefined)
  assert.equal(statuses.get('mine', '4999'), 'answer')
  const never = given(false).statuses
  never.reading('mine', 'a')('answer')
  assert.equal(never.get('mine', 'a'), undefined)
})
