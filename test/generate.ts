/** Writes what is generated: "npm run gen", or "npm run gen -- docs/errors.md" for one. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { GENERATED } from './generated.ts'

const wanted = process.argv.slice(2)
for (const [file, make] of Object.entries(GENERATED)) {
  if (wanted.length > 0 && !wanted.includes(file)) continue
  writeFileSync(path.join(import.meta.dirname, '..', file), await make())
  process.stdout.write(`wrote ${file}\n`)
}
