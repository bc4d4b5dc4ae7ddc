/** Replaces proofs/guard/stretch.ts. Two of its statements end the process as DuckDB would, by a signal and by a code. */
import { openSync, writeSync } from 'node:fs'
import path from 'node:path'
import { NOTHING } from '../../proofs/guard/report.ts'
import type { Trying } from '../../proofs/guard/stretch.ts'
import type { Stretch } from '../../proofs/guard/try.ts'

const [given, folder] = process.argv.slice(2)
const { from, to, without = [] } = JSON.parse(given!) as Stretch
const file = openSync(path.join(folder!, 'trying'), 'w')
let statements = 0
for (let at = from; at < to; at += 1) {
  statements += 1
  if (!without.includes(at)) {
    const passed = at === 1200
    writeSync(file, `${JSON.stringify({ at, sql: 'select crash', passed } satisfies Trying)}\n`, 0)
    if (at === 1200) process.kill(process.pid, 'SIGSEGV')
    if (at === 1700) process.exit(134)
  }
  if (statements === 1000 || at === to - 1) {
    const part = { ...NOTHING, statements }
    await new Promise<void>((sent) => process.send!(part, () => sent()))
    statements = 0
  }
}
process.disconnect()
