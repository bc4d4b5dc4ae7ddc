/** Tests the ids that new templates get. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { freeId } from '../../packages/console/src/drafts/template-id.ts'

const titled = (title: string): string => `---\ntitle: ${title}\ntags: [a]\n---\n# Text\n`

test('an id is the title in plain letters, without the places of its variables', () => {
  assert.equal(freeId('', titled('Late flights, by week'), []), 'late-flights-by-week')
  assert.equal(freeId('', titled('"Verspätungen ab {origin}, {period.label}"'), []), 'verspatungen-ab')
  assert.equal(freeId('', titled('{{ place }}: où?'), []), 'ou')
  assert.match(freeId('', titled('word '.repeat(40)), []), /^(?:word-){11}word$/)
})

test('a text without a title that has letters is a report', () => {
  assert.equal(freeId('', titled('{{ title }}'), []), 'report')
  assert.equal(freeId('', '# No front matter\n', []), 'report')
})

test('a new template never takes the id of another one', () => {
  assert.equal(freeId('', titled('Sales'), ['sales', 'sales-2']), 'sales-3')
  assert.equal(freeId('sold', titled('Sales'), ['sold']), 'sold-2')
})
