import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { QueryObserver } from '@tanstack/react-query'
import { createClient, etagOf } from '../../packages/client/client.ts'
import { queryClient } from '../../packages/console/src/api.ts'
import { asShown, OUTDATED } from '../../packages/console/src/drafts/unchanged.ts'

/** Makes a client whose service answers a user, each time with the next name and its tag. */
function serving(...names: string[]) {
  const fetch = async (): Promise<Response> => {
    const display_name = names.shift()!
    return Response.json({ user_id: 'ada', display_name }, { headers: { etag: `"${display_name}"` } })
  }
  return createClient({ url: 'http://127.0.0.1:9', token: 'none', fetch })
}

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

test('what a page shows keeps the tag of the newest answer, although unchanged parts are shared', async () => {
  const client = serving('Ada', 'Ada', 'Ada L.')
  const observer = new QueryObserver(queryClient, {
    queryKey: ['user'],
    queryFn: () => client.users.get('ada'),
  })
  observer.subscribe(() => undefined)
  const tags: (string | undefined)[] = []
  for (let asked = 0; asked < 3; asked += 1) tags.push(etagOf((await observer.refetch()).data!))
  assert.deepEqual(tags, ['"Ada"', '"Ada"', '"Ada L."'])
})

test('what a list shows is changed only while it is so', async () => {
  const client = serving('Ada', 'Ada', 'Ada L.')
  const read = () => client.users.get('ada')
  const shown = await read()
  assert.deepEqual(await asShown(shown, read, ['display_name']), { ifMatch: '"Ada"' })
  await assert.rejects(asShown(shown, read, ['display_name']), new Error(OUTDATED))
})
