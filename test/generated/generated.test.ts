/** Checks that generated files are up to date with their sources. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { CODE_NAMES } from '../../packages/engine/verdicts/codes.ts'
import { SITUATIONS, toldOf } from '../sentences/page.ts'
import { GENERATED } from './generated.ts'

/**
 * Pages that other tests compare, because those have their figures at hand. Of docs/files.md they have a part; `npm run
 * proof -- polluted` compares all of it.
 */
const ELSEWHERE = ['docs/accuracy.md', 'docs/files.md']
const files = Object.fromEntries(Object.entries(GENERATED).filter(([file]) => !ELSEWHERE.includes(file)))

for (const [file, make] of Object.entries(files)) {
  test(`${file} is what "npm run gen" writes`, async () => {
    const written = readFileSync(path.join(import.meta.dirname, '../..', file), 'utf8')
    assert.equal(written, await make())
  })
}

test('no headline of a situation holds a statistic, a column name, a sign, a cause or more than three digits', async () => {
  for (const situation of SITUATIONS)
    assert.deepEqual((await toldOf(situation)).faults, [], `${situation.method}: ${situation.is}`)
})

test('every code of a verdict stands in a situation', async () => {
  const told = await Promise.all(SITUATIONS.map(toldOf))
  const shown = new Set(told.flatMap(({ codes }) => codes))
  assert.deepEqual(
    CODE_NAMES.filter((code) => !shown.has(code)),
    [],
  )
})
