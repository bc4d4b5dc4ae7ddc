import assert from 'node:assert/strict'
import { test } from 'node:test'
import { completionAt } from '../../packages/console/src/parts/text/completion.ts'

const SOURCE = `---
variables:
  origin: { type: string }
sources: { flights: { file: sample/flights.csv } }
---

\`\`\`sql daily
select day, avg(delay) as late from flights group by day
\`\`\`

\`\`\`analysis direction
method: trend
of: daily
time: day
\`\`\`

# Delays

`

/** Returns the labels that are offered at "^" in the inserted text. */
function offered(put: string, before = ''): string[] {
  const text = before === '' ? SOURCE + put : SOURCE.replace(before, put)
  const position = text.indexOf('^')
  const found = completionAt(text.replace('^', ''), position, ['delay', 'origin'])
  return found?.words.map(({ label }) => label) ?? []
}

test('the editor offers filters, tags, blocks, fields and variables in the text', () => {
  assert.ok(offered('{{ daily | ro^').includes('round'))
  assert.ok(offered('{% ch^').includes('chart'))
  assert.deepEqual(offered('{{ di^').slice(0, 2), ['daily', 'direction'])
  assert.ok(offered('{{ direction.^').includes('slope'))
  assert.ok(offered('{{ direction.hea^').includes('headline'))
  assert.deepEqual(offered('{{ vars.^'), ['origin'])
  assert.ok(offered('{{ daily.^').includes('late'))
  assert.deepEqual(offered('Plain wor^'), [])
  assert.deepEqual(offered('{{ daily.size }} wor^'), [])
})

test('the editor offers tables and columns in SQL, and methods, options, blocks and columns in an analysis', () => {
  const sql = offered('from fl^', 'from flights')
  assert.ok(sql.includes('flights') && sql.includes('delay') && !sql.includes('direction'))
  assert.ok(offered('method: fo^', 'method: trend').includes('forecast'))
  assert.deepEqual(offered('of: d^', 'of: daily'), ['flights', 'daily'])
  assert.ok(offered('time: day\nval^', 'time: day').includes('value'))
  assert.deepEqual(offered('value: l^', 'time: day'), ['late'])
})
