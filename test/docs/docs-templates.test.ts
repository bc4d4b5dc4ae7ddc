/** Checks and runs every example of docs/templates.md and its pages under a comment "test: template". */
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { parseTemplate } from '@assay/engine/reading/parse'
import { templateVersion } from '@assay/engine/reading/partials'
import { convertVariables } from '@assay/engine/values/variables'
import { OWN } from '../../packages/engine/methods/catalog.ts'
import { roots, STARTED_AT, withPool } from '../generated/gallery.ts'

const docs = path.join(import.meta.dirname, '../../docs')
const pages = globSync(['templates.md', 'templates/*.md'], { cwd: docs }).map((page) => ({
  page,
  text: readFileSync(path.join(docs, page), 'utf8'),
}))
const examples = pages.flatMap(({ page, text }) =>
  [...text.matchAll(/^<!-- test: template -->\n(`{3,})markdown\n([\s\S]*?)^\1$/gm)].map((match) => ({
    place: `docs/${page}, line ${text.slice(0, match.index).split('\n').length}`,
    source: match[2]!,
  })),
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
  const fences = pages.flatMap(({ text }) => text.match(/^`{3,}markdown$/gm) ?? [])
  assert.equal(fences.length, examples.length)
})

test('every example of the guide has no fault and runs', { timeout: 120_000 }, async () => {
  await withPool(async (pool) => {
    for (const { place, source } of examples) {
      const template = {
        template_id: 'example',
        version: templateVersion(source, SHIPPED),
        source,
        partials: SHIPPED,
      }
      const faults = await pool.check({ kind: 'check', template, roots }, { workspace_id: 'test' })
      assert.deepEqual(faults, [], place)
      const declared = parseTemplate(template).template!.variables
      const variables = convertVariables(declared, {}).values
      const result = await pool.run(
        { kind: 'run', template, variables, started_at: STARTED_AT, roots, reader: READER },
        { workspace_id: 'docs' },
      )
      assert.equal(result.status, 'done', `${place}: ${JSON.stringify(result)}`)
    }
  })
})

test('the guide has every method with all its options', () => {
  for (const { name, options } of Object.values(OWN)) {
    const row = pages
      .flatMap(({ text }) => text.split('\n'))
      .find((line) => line.startsWith('|') && line.split('|')[2]?.trim() === `\`${name}\``)
    assert.ok(row !== undefined, name)
    const { properties = {} } = options as { properties?: object }
    const words = new Set(row.match(/[a-z_0-9]+/g))
    for (const word of Object.keys(properties)) assert.ok(words.has(word), `${name}: ${word}`)
  }
})
