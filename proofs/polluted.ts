/** Reads each polluted file, with each of its lines polluted in turn. docs/files.md shows the result of each kind. */
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { GENERATED } from '../test/generated/generated.ts'
import type { Proof } from './main.ts'

const PAGE = 'docs/files.md'

export const proof: Proof = {
  summary: 'each polluted file is read as docs/files.md says',
  async run({ log }) {
    const made = await GENERATED[PAGE]!()
    log(/^Of [0-9]+ files .*$/m.exec(made)![0])
    const written = readFileSync(path.join(import.meta.dirname, '..', PAGE), 'utf8')
    return made === written ? [] : [`${PAGE} is not what "npm run gen -- ${PAGE}" writes`]
  },
}
