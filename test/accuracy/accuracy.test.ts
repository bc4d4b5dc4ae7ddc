import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { digits } from './figure.ts'
import { nistFigures } from './nist.ts'
import { publishedFigures } from './published.ts'
import { specialFunctionErrors } from './special-functions.ts'
import { testFigures } from './tests.ts'

for (const [title, collect] of Object.entries({
  "NIST's certified values": nistFigures,
  'the answers that others published': publishedFigures,
  'the answers of scipy and statsmodels': testFigures,
})) {
  test(`agrees with ${title} to the digits that each case asks for`, async () => {
    const figures = await collect()
    assert.ok(figures.length > 50)
    const short = figures.filter((figure) => digits(figure) < figure.least)
    assert.deepEqual(short, [])
  })
}

test('agrees with mpmath to 1e-12 in every special function', () => {
  for (const { name, worst } of specialFunctionErrors().rows) assert.ok(worst <= 1e-12, `${name}: ${worst}`)
})

/** test/generated.test.ts holds it to what is computed. */
test('docs/accuracy.md has a line for each case', () => {
  const table = readFileSync(path.join(import.meta.dirname, '../../docs/accuracy.md'), 'utf8')
  for (const expected of [
    '| regression | Filip |',
    '| anova | SmLs09 |',
    '| trend | Bogra rainfall, Hamed-Rao |',
    '| studentUpper |',
    '| compare_groups | InsectSprays, Bartlett |',
    '| experiment | covariate, anorexia |',
  ]) {
    assert.ok(table.includes(expected), expected)
  }
})
