import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutDates } from './template.ts'

test('the draft of a table without dates begins with a sentence, and charts and tables follow', () => {
  const parts = {
    source: { file: 'shops.csv' },
    name: 'shops',
    notes: [],
    years: null,
    whole: true,
    mean: false,
    fmt: null,
  }
  for (const dimensions of [[], ['town']])
    for (const measures of [[], ['Umsatz in €']]) {
      const draft = withoutDates({ ...parts, dimensions, measures })
      assert.match(draft, /\n# Shops\n\n\{\{ \w+\.summary \}\}\n/)
      assert.equal(draft.includes('{% chart'), dimensions.length > 0)
    }
  const byYear = withoutDates({ ...parts, years: 'year', dimensions: ['town'], measures: ['sales'] })
  assert.match(byYear, /\n# Shops\n\n\*\*\{\{ direction\.summary \}\}\*\*\n/)
})
