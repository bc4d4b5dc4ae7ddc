import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

/** By method. The page is computed once, where test/generated.test.ts holds it to what the program forecasts. */
function publishedOwa(): Map<string, number> {
  const page = readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'forecasts.md'), 'utf8')
  const rows = page.matchAll(/^\| (?<method>[^|]+) \| [\d.]+ \| [\d.]+ \| (?<owa>[\d.]+) \|/gm)
  return new Map([...rows].map(({ groups }) => [groups!.method!, Number(groups!.owa)]))
}

test('forecasts real series better than the naive benchmark and Theta, and about as well as R', () => {
  const scores = publishedOwa()
  const owa = (method: string) => scores.get(method) ?? assert.fail(`no row ${method}`)
  const own = owa('`forecast`')
  assert.ok(own < owa('Naive 2'), `OWA ${own}`)
  assert.ok(own < owa('Theta (R)'), `OWA ${own}`)
  assert.ok(own < 1.1 * owa('ETS, additive (R)'), `OWA ${own}`)
})
