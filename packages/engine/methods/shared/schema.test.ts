import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { Ajv } from 'ajv'
import { parse as parseYaml } from 'yaml'
import { metricSchema, metricUseSchema } from '../../metrics/schema.ts'
import { frontMatterSchema, analysisSchema as headSchema } from '../../reading/schema.ts'
import { METHODS } from '../catalog.ts'
import { analysisSchema, QUESTIONS } from './schema.ts'

const accepts = new Ajv({ strict: false, allErrors: true }).compile(
  JSON.parse(JSON.stringify(analysisSchema)),
)

test("the editors' schema accepts every analysis block of the shipped templates and the guides, and together they use every method", () => {
  const used = new Set<string>()
  const folder = path.join(import.meta.dirname, '../../../..')
  for (const file of globSync(['templates/*.md', 'docs/*.md', 'docs/templates/*.md'], { cwd: folder })) {
    const source = readFileSync(path.join(folder, file), 'utf8')
    for (const [, yaml = ''] of source.matchAll(/^```analysis \w+\n([\s\S]*?)^```$/gm)) {
      const block = parseYaml(yaml) as { method: string }
      used.add(block.method)
      assert.ok(accepts(block), `${file}: ${JSON.stringify(accepts.errors)}`)
    }
  }
  assert.deepEqual([...used].toSorted(), Object.keys(METHODS).toSorted())
})

test("the editors' schema refuses what a run would: an unknown method, an unknown option, a missing one, a wrong type", () => {
  const trend = { method: 'trend', of: 'daily', time: 'day', value: 'n' }
  assert.ok(accepts(trend))
  const { value, ...short } = trend
  for (const wrong of [
    { ...trend, method: 'trends' },
    { ...trend, tset: 'auto' },
    short,
    { ...trend, value: 1 },
  ])
    assert.ok(!accepts(wrong), JSON.stringify(wrong))
  assert.equal(value, 'n')
})

test('each method tells the question that it answers', () => {
  assert.deepEqual(Object.keys(QUESTIONS).toSorted(), Object.keys(METHODS).toSorted())
})

test('each schema by which a template or a metric is checked is a valid schema, which no run looks at again', () => {
  const ajv = new Ajv({ strict: false })
  const schemas = { frontMatterSchema, headSchema, metricSchema, metricUseSchema }
  const options = Object.entries(METHODS).map(([name, method]): [string, object] => [name, method.options])
  for (const [name, schema] of [...Object.entries(schemas), ...options]) {
    const { $schema: _, ...own } = schema as { $schema?: string }
    assert.ok(ajv.validateSchema(own), `${name}: ${ajv.errorsText()}`)
  }
  assert.ok(!ajv.validateSchema({ properties: { a: { type: 'text' } } }), 'a wrong one is noticed')
})
