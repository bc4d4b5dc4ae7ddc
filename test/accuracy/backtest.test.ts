import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

interface Row {
  mase: number
  median: number
  owa: number
  coverage: number
}

/**
 * Returns the published figures by method. The page is computed only once, where test/generated/generated.test.ts compares it
 * with the program's forecasts.
 */
function published(): Map<string, Row> {
  const page = readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'forecasts.md'), 'utf8')
  const rows = page.matchAll(
    /^\| (?<method>[^|]+) \| [\d.]+ \| (?<mase>[\d.]+) \| (?<median>[\d.]+) \| (?<owa>[\d.]+) \| (?<coverage>\d+) % \|/gm,
  )
  return new Map(
    [...rows].map(({ groups }) => [
      groups!.method!,
      {
        mase: Number(groups!.mase),
        median: Number(groups!.median),
        owa: Number(groups!.owa),
        coverage: Number(groups!.coverage),
      },
    ]),
  )
}

test('forecasts real series with a median error and a coverage not worse than the best single model of R', () => {
  const scores = published()
  const own = scores.get('`forecast`') ?? assert.fail('no row of forecast')
  const others = [...scores].filter(([method]) => method.endsWith('(R)')).map(([, row]) => row)
  assert.equal(others.length, 4)
  assert.ok(own.median <= Math.min(...others.map(({ median }) => median)), `median MASE ${own.median}`)
  assert.ok(own.coverage >= Math.max(...others.map(({ coverage }) => coverage)), `${own.coverage} %`)
  assert.ok(own.owa < scores.get('Naive 2')!.owa, `OWA ${own.owa}`)
})

test('forecasts series that no setting was chosen on about as well as the better of two published methods', () => {
  const page = readFileSync(path.join(import.meta.dirname, '..', '..', 'docs', 'forecasts.md'), 'utf8')
  const rows = page.matchAll(
    /^\| (?<method>[^|]+) \| [\d.]+ \| (?<mase>[\d.]+) \| [\d.]+ \| (?<held>\d+) of 100 \|/gm,
  )
  const scores = new Map([...rows].map(({ groups }) => [groups!.method!, groups!]))
  const own = scores.get('`forecast`') ?? assert.fail('no row of forecast')
  const others = [...scores].filter(([method]) => method.endsWith('(published)')).map(([, row]) => row)
  assert.equal(others.length, 2)
  assert.ok(Number(own.mase) <= 1.02 * Math.min(...others.map(({ mase }) => Number(mase))), own.mase)
  assert.ok(Number(own.held) >= Math.max(...others.map(({ held }) => Number(held))), own.held)
})
