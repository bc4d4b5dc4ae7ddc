/** assay schema: the JSON Schemas for editors, as they lie in docs/. */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Command } from '../command.ts'
import { EXIT, UsageError } from '../exit.ts'
import { out } from '../print.ts'

const FILES: Record<string, string> = {
  'front-matter': 'template.schema.json',
  analysis: 'analysis.schema.json',
}

export const SCHEMA: Command = {
  name: 'schema',
  operands: '[PART]',
  summary: 'Print the JSON Schema of front matter, or of analysis blocks, for editors',
  details: 'PART is front-matter (unless told) or analysis.',
  options: {},
  async run(call) {
    const part = call.operands[0] ?? 'front-matter'
    const file = FILES[part]
    if (file === undefined)
      throw new UsageError(`There is no schema "${part}"; say ${Object.keys(FILES).join(' or ')}.`)
    out(await readFile(path.join(import.meta.dirname, '../../../docs', file), 'utf8'))
    return EXIT.ok
  },
}
