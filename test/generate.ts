/** Writes what is generated: "npm run gen", or "npm run gen -- docs/errors.md" or "... test/golden" for one. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { writeGolden } from './gallery.ts'
import { GENERATED } from './generated.ts'

const wanted = process.argv.slice(2)
for (const [file, make] of Object.entries(GENERATED)) {
  if (wanted.length > 0 && !wanted.includes(file)) continue
  writeFileSync(path.join(import.meta.dirname, '..', file), await make())
  process.stdout.write(`wrote ${file}\n`)
}
if (wanted.length === 0 || wanted.includes('test/golden')) {
  await writeGolden()
  process.stdout.write('wrote test/golden\n')
}
