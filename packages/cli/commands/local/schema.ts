/** assay schema: prints the JSON Schemas for editors. */
import type { Command } from '../../command.ts'
import { EXIT, UsageError } from '../../exit.ts'
import { out } from '../../print.ts'

const PARTS = ['front-matter', 'analysis']

export const SCHEMA: Command = {
  name: 'schema',
  operands: '[PART]',
  summary: 'Print the JSON Schema of front matter, or of analysis blocks, for editors',
  details: 'PART is front-matter (the default) or analysis.',
  options: {},
  async run(call) {
    const part = call.operands[0] ?? 'front-matter'
    if (!PARTS.includes(part))
      throw new UsageError(`There is no schema "${part}"; say ${PARTS.join(' or ')}.`)
    const { analysisSchema } = await import('@assay/engine/methods/shared/schema')
    const { frontMatterSchema } = await import('@assay/engine/reading/schema')
    out(`${JSON.stringify(part === 'analysis' ? analysisSchema : frontMatterSchema, null, 2)}\n`)
    return EXIT.ok
  },
}
