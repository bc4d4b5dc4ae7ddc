import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowedMethods, withoutSlash } from './path.ts'

const route = (method: string, path: string) => ({ method, path, operation: { streams: false } })
const ROUTES = [
  route('GET', '/v1alpha/jobs/'),
  route('POST', '/v1alpha/jobs/run'),
  route('DELETE', '/v1alpha/jobs/{assignment_id}'),
  route('PUT', '/v1alpha/files/{path...}'),
]
const methodsOf = (url: string): string[] => allowedMethods(ROUTES, url)

test('tells the methods of a path, with and without a slash at its end, and a fixed path before a pattern', () => {
  assert.deepEqual(methodsOf('/v1alpha/jobs'), ['GET', 'HEAD'])
  assert.deepEqual(methodsOf('/v1alpha/jobs//?a=b'), ['GET', 'HEAD'])
  assert.deepEqual(methodsOf('/v1alpha/jobs/run/'), ['POST'])
  assert.deepEqual(methodsOf('/v1alpha/jobs/other'), ['DELETE'])
  assert.deepEqual(methodsOf('/v1alpha/files/a/b/c.csv'), ['PUT'])
  assert.deepEqual(methodsOf('/v1alpha/jobs/other/more'), [])
})

// With a time that grows with the square of the length these would not end.
test('a path of very many slashes or steps takes no longer than it is long', () => {
  const many = 2_000_000
  for (const path of [`/${'/'.repeat(many)}x`, '/x'.repeat(many), `/v1alpha/jobs/${'x/'.repeat(many)}`])
    assert.deepEqual(methodsOf(path), [])
  assert.equal(withoutSlash(`/a${'/'.repeat(many)}`), '/a')
  assert.equal(withoutSlash('///'), '/')
})
