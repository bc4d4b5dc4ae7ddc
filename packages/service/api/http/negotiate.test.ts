import assert from 'node:assert/strict'
import { test } from 'node:test'
import { matchesTag } from '@assay/model/entity-tag'
import * as fc from 'fast-check'
import { preferred } from './negotiate.ts'

const OFFERS = ['text/markdown', 'text/html', 'application/json'] as const

const CASES: [string | undefined, string | null][] = [
  [undefined, 'text/markdown'],
  ['', 'text/markdown'],
  ['*/*', 'text/markdown'],
  ['application/json, text/plain, */*', 'text/markdown'],
  ['application/json', 'application/json'],
  ['application/json;q=0.9, text/*;q=0.8', 'application/json'],
  ['text/*, application/json', 'text/markdown'],
  ['text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8', 'text/html'],
  ['text/markdown;q=0, */*', 'text/html'],
  ['text/markdown;q=0.1, application/json;q=0.2', 'application/json'],
  ['TEXT/HTML; charset=utf-8; Q=1', 'text/html'],
  ['text/plain', null],
  ['*/*;q=0', null],
  ['nonsense', 'text/markdown'],
  ['*/json, text/html', 'text/html'],
  ['application/json;q=7, text/html', 'text/html'],
]

for (const [accept, wanted] of CASES) {
  test(`gives ${wanted} to a client that accepts ${JSON.stringify(accept) ?? 'nothing in particular'}`, () => {
    assert.equal(preferred(accept, OFFERS), wanted)
  })
}

test('answers any header with an offer or with none, and never throws', () => {
  fc.assert(
    fc.property(fc.string(), (accept) => {
      const found = preferred(accept, OFFERS)
      assert.ok(found === null || OFFERS.includes(found))
    }),
  )
})

test('knows a tag in a list, behind a W/ and in a star, and no other', () => {
  assert.ok(matchesTag('"a"', '"a"'))
  assert.ok(matchesTag('"b", W/"a"', '"a"'))
  assert.ok(matchesTag(' * ', '"a"'))
  assert.ok(!matchesTag('"ab"', '"a"'))
  assert.ok(!matchesTag(undefined, '"a"'))
})
