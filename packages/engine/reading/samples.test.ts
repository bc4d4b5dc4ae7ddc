import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { dataPage, SAMPLES, sampleFiles, templatesFolder } from './samples.ts'

test('every sample exists, has one name and a licence', () => {
  const files = sampleFiles()
  assert.equal(Object.keys(files).length, SAMPLES.length)
  for (const sample of SAMPLES) {
    const file = files[sample.name]
    assert.ok(file !== undefined && path.isAbsolute(file) && existsSync(file), sample.name)
    assert.ok(sample.licence.length > 0 && sample.source.length > 0, sample.name)
  }
})

test('every table in templates/data is on the list and small', () => {
  const folder = path.join(templatesFolder, 'data')
  const own = SAMPLES.filter(({ from }) => from === 'own').map(({ name }) => name)
  assert.deepEqual(readdirSync(folder).toSorted(), own.toSorted())
  for (const name of own) assert.ok(statSync(path.join(folder, name)).size < 2_000_000, name)
})

test("no sample comes from a table that the package's own record leaves without a licence", () => {
  const record = path.join(path.dirname(sampleFiles()['airports.csv'] ?? ''), '..', 'datapackage.json')
  const { resources } = JSON.parse(readFileSync(record, 'utf8')) as {
    resources: { path: string; licenses?: unknown[] }[]
  }
  const licensed = new Set(
    resources.filter(({ licenses }) => (licenses ?? []).length > 0).map((one) => one.path),
  )
  for (const { name, from } of SAMPLES) if (from === 'package') assert.ok(licensed.has(name), name)
})

test('the page names every table with its source and licence', () => {
  const page = dataPage()
  for (const { name, source, licence } of SAMPLES) {
    assert.ok(page.includes(`### \`sample/${name}\``))
    assert.ok(page.includes(source.replace(/\.$/, '')) && page.includes(`Licence: ${licence}.`))
  }
})
