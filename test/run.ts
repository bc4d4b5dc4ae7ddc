/**
 * Runs the tests: every *.test.ts beside its file in src/, and the whole-system ones in test/. Arguments narrow by a
 * part of the path: "npm test -- src/store crash". A file that takes longer than its limit has failed.
 */
import { globSync } from 'node:fs'
import path from 'node:path'
import { run } from 'node:test'
import { spec } from 'node:test/reporters'

const root = path.dirname(import.meta.dirname)
const wanted = process.argv.slice(2)
const files = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], { cwd: root })
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .toSorted()
if (files.length === 0) {
  process.stderr.write(`No test file matches ${wanted.join(' ')}.\n`)
  process.exit(1)
}
const stream = run({ files: files.map((file) => path.join(root, file)), concurrency: 2, timeout: 300_000 })
stream.on('test:fail', (event) => {
  if (event.todo === undefined || event.todo === false) process.exitCode = 1
})
stream.compose(spec).pipe(process.stdout)
