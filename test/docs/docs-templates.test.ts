/** Checks and runs every example of docs/templates.md under a comment "test: template". */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { parseTemplate } from '@assay/engine/reading/parse'
import { templateVersion } from '@assay/engine/reading/partials'
import { convertVariables } from '@assay/engine/values/variables'
import { OWN } from '../../packages/engine/methods/catalog.ts'
import { roots, STARTED_AT, withPool } from '../generated/gallery.ts'

const guide = readFileSync(path.join(import.meta.dirname, '../..', 'docs', 'templates.md'), 'utf8')
const examples = [...guide.matchAll(/^<!-- test: template -->\n(`{3,})markdown\n([\s\S]*?)^\1$/gm)].map(
  (match) => ({ line: guide.slice(0, match.index).split('\n').length, source: match[2]! }),
)

/** The reader for the example of a personal template. */
const READER = { id: 'docs', states: ['CA', 'NV'] }

/** The shipped metrics that an example reads. */
const SHIPPED = {
  'metrics/late_flights.yaml': readFileSync(
    path.join(import.meta.dirname, '../..', 'templates', 'metrics', 'late_flights.yaml'),
    'utf8',
  ),
}

test('the guide holds examples, and no template in it goes untested', () => {
  assert.ok(examples.length >= 5)
  assert.equal(guide.match(/^`{3,}markdown$/gm)?.length, examples.length)
})

test('every example of the guide has no fault and runs', { timeout: 120_000 }, async () => {
  await withPool(async (pool) => {
    for (const { line, source } of examples) {
      const template = {
        template_id: 'example',
        version: templateVersion(source, SHIPPED),
        source,
        partials: SHIPPED,
      }
      const faults = await pool.check({ kind: 'check', template, roots }, { workspace_id: 'test' })
      assert.deepEqual(faults, [], `docs/templates.md, line ${line}`)
      const declared = parseTemplate(template).template!.variables
      const variables = convertVariables(declared, {}).values
      const result = await pool.run(
        { kind: 'run', template, variables, started_at: STARTED_AT, roots, reader: READER },
        { workspace_id: 'docs' },
      )
      assert.equal(result.status, 'done', `docs/templates.md, line ${line}: ${JSON.stringify(result)}`)
    }
  })
})

test('the guide has every method with all its options', () => {
  for (const { name, options } of Object.values(OWN)) {
    const row = guide
      .split('\n')
      .find((line) => line.startsWith('|') && line.split('|')[2]?.trim() === `\`${name}\``)
    assert.ok(row !== undefined, name)
    const { properties = {} } = options as { properties?: object }
    const words = new Set(row.match(/[a-z_0-9]+/g))
    for (const word of Object.keys(properties)) assert.ok(words.has(word), `${name}: ${word}`)
  }
})
