import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { QueryObserver } from '@tanstack/react-query'
import { queryClient } from '../../packages/console/src/api.ts'

/** Makes a query on a page, whose requests the test answers. */
function watched(queryKey: string[]) {
  const requests: ((answer: string) => void)[] = []
  const observer = new QueryObserver(queryClient, {
    queryKey,
    queryFn: () => new Promise<string>((resolve) => requests.push(resolve)),
  })
  observer.subscribe(() => undefined)
  return { requests, shown: () => observer.getCurrentResult() }
}

afterEach(() => queryClient.clear())

test('a change while a page asks for the first time is followed by a new request, whose answer is shown', async () => {
  const { requests, shown } = watched(['rows', 'a'])
  const refreshed = queryClient.invalidateQueries({ queryKey: ['rows'] })
  requests[0]!('before the change')
  await new Promise(setImmediate)
  assert.equal(shown().data, undefined)
  requests[1]!('after the change')
  await refreshed
  assert.equal(shown().data, 'after the change')
  assert.equal(requests.length, 2)
})

test('a page that is opened again after a change asks again, though its first request was under way', async () => {
  const requests: ((answer: string) => void)[] = []
  const options = {
    queryKey: ['rows'],
    queryFn: () => new Promise<string>((resolve) => requests.push(resolve)),
  }
  const leave = new QueryObserver(queryClient, options).subscribe(() => undefined)
  leave()
  await queryClient.invalidateQueries({ queryKey: ['rows'] })
  requests[0]!('before the change')
  await new Promise(setImmediate)
  const opened = new QueryObserver(queryClient, options)
  opened.subscribe(() => undefined)
  requests[1]!('after the change')
  await new Promise(setImmediate)
  assert.equal(opened.getCurrentResult().data, 'after the change')
})

test('the answer to a change stays when an older answer comes after it', async () => {
  const { requests, shown } = watched(['job', 'one'])
  requests[0]!('draft')
  await new Promise(setImmediate)
  const asked = queryClient.refetchQueries({ queryKey: ['job', 'one'] })
  queryClient.keep(['job', 'one'], 'queued')
  requests[1]!('draft')
  await asked
  assert.equal(shown().data, 'queued')
  assert.equal(shown().fetchStatus, 'idle')
})
