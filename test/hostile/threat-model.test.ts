/** Checks that each wall of docs/threat-model.md names an existing test. */
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { test } from 'node:test'

const root = path.dirname(path.dirname(import.meta.dirname))
const read = (file: string): string => readFileSync(path.join(root, file), 'utf8')

test('every wall of the threat model names a file and a test that stands in it', () => {
  const walls = /## Walls\n([\s\S]*?)\n## /.exec(read('docs/threat-model.md'))![1]!
  const rows = walls
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .slice(1)
  assert.ok(rows.length > 25, String(rows.length))
  for (const row of rows) {
    const [, file, title] = /\| `([^`]+)`: (.+) \|$/.exec(row) ?? []
    assert.ok(file && title, row)
    const text = read(file).replaceAll(String.raw`\'`, "'")
    assert.ok(
      // Tests that both databases run are members of an object.
      ["'", '"', '`'].some((quote) =>
        [`test(${quote}${title}${quote}`, `  ${quote}${title}${quote}:`].some((named) =>
          text.includes(named),
        ),
      ),
      `${file}: ${title}`,
    )
  }
})
