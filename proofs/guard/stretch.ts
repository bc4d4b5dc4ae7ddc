/**
 * Tries a stretch of statements in this process and reports the results to its parent. Each statement is first written
 * to a file, because a process that DuckDB kills cannot report it.
 */
import { openSync, writeSync } from 'node:fs'
import path from 'node:path'
import { type Stretch, tryGuard } from './try.ts'

/** The first line of the file. The bytes after it are of longer statements before. */
export interface Trying {
  at: number
  sql: string
  passed: boolean
}

const [given, folder] = process.argv.slice(2)
const file = openSync(path.join(folder!, 'trying'), 'w')
await tryGuard(JSON.parse(given!) as Stretch, path.join(folder!, 'worlds'), {
  before: (at, sql, passed) => {
    writeSync(file, `${JSON.stringify({ at, sql, passed } satisfies Trying)}\n`, 0)
  },
  report: (part) => {
    process.send!(part)
  },
})
process.disconnect()
