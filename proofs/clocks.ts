/** Runs each shipped template at many clocks. Its Markdown must equal the golden one, byte for byte. */
import { clockDifferences, withPool } from '../test/generated/gallery.ts'
import type { Proof } from './main.ts'

export const proof: Proof = {
  summary: 'shipped templates give the same bytes at 40 clocks [--clocks N]',
  async run({ number, log }) {
    const clocks = number('clocks', 40)
    const differ = await withPool((pool) => clockDifferences(pool, clocks))
    log(`${clocks} clocks, ${differ.length} runs differ`)
    return differ
  },
}
