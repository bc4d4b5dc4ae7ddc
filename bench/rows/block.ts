/** Measures a block beside DuckDB alone in the same process. Ours adds the guard, the parameters and the cells. */
import { atMost, type Figure } from '../figure.ts'
import { type Form, inTurns, startPeer, TRIVIAL_SQL } from '../measure.ts'
import type { BlockAsk } from '../peers/block.ts'

export const blockRow = {
  name: 'block',
  async run({ turns, short }: Form): Promise<Figure[]> {
    const times = short ? 1000 : 5000
    const peer = await startPeer('block.ts')
    const time = async (side: BlockAsk['side']): Promise<number> =>
      (await peer.ask<number>({ side, sql: TRIVIAL_SQL, times } satisfies BlockAsk)) / times
    try {
      return [
        {
          work: 'a trivial block: judged, prepared, run, read',
          beside: 'DuckDB alone in the same process, same statement',
          aim: atMost(1.3),
          compare: 'ratio',
          unit: 'ms',
          turns: await inTurns(
            turns,
            () => time('ours'),
            () => time('theirs'),
          ),
        },
      ]
    } finally {
      await peer.stop()
    }
  },
}
