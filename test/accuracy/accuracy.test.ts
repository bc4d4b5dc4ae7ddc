import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { digits } from './figure.ts'
import { specialFunctionErrors } from './special-functions.ts'
import { accuracyTable, allFigures } from './table.ts'

const all = await allFigures()

for (const [title, figures] of Object.entries(all)) {
  test(`agrees with ${title} to the digits that each case asks for`, () => {
    assert.ok(figures.length > 50)
    const short = figures.filter((figure) => digits(figure) < figure.least)
    assert.deepEqual(short, [])
  })
}

test('agrees with mpmath to 1e-12 in every special function', () => {
  for (const { name, worst } of specialFunctionErrors().rows) assert.ok(worst <= 1e-12, `${name}: ${worst}`)
})

test('docs/accuracy.md is what "npm run gen" writes, with a line for each case', async () => {
  const table = readFileSync(path.join(import.meta.dirname, '../../docs/accuracy.md'), 'utf8')
  assert.equal(table, await accuracyTable(all))
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
