/** Generated files are up to date with their sources. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'
import { GENERATED } from './generated.ts'

for (const [file, make] of Object.entries(GENERATED)) {
  test(`${file} is what "npm run gen" writes`, async () => {
    const written = readFileSync(path.join(import.meta.dirname, '..', file), 'utf8')
    assert.equal(written, await make())
  })
}
