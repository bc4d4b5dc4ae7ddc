/** An insight is the same bytes at any clock: each shipped template, run at many clocks, gives its golden Markdown. */
import { clockDifferences, withPool } from '../test/gallery.ts'
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
