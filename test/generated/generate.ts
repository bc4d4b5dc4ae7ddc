/** Writes the generated files: "npm run gen" for all, "npm run gen -- docs/errors.md" or "... test/golden" for one. */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { migratedSchema, missingPostgres, startPostgres } from '../servers/postgres.ts'
import { writeGolden } from './gallery.ts'
import { GENERATED } from './generated.ts'

const wanted = process.argv.slice(2)
for (const [file, make] of Object.entries(GENERATED)) {
  if (wanted.length > 0 && !wanted.includes(file)) continue
  writeFileSync(path.join(import.meta.dirname, '../..', file), await make())
  process.stdout.write(`wrote ${file}\n`)
}
if (wanted.length === 0 || wanted.includes('test/golden')) {
  await writeGolden()
  process.stdout.write('wrote test/golden\n')
}
const schema = 'packages/store/postgres/schema.sql'
if (wanted.length === 0 || wanted.includes(schema)) {
  const missing = await missingPostgres()
  if (missing === null) {
    const postgres = await startPostgres()
    writeFileSync(path.join(import.meta.dirname, '../..', schema), await migratedSchema(postgres))
    await postgres.stop()
  }
  process.stdout.write(missing === null ? `wrote ${schema}\n` : `left ${schema} as it is: ${missing}\n`)
}
