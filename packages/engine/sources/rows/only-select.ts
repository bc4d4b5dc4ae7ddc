/** For databases whose session alone does not keep statements out that give rows and do more: KILL, ATTACH, PRAGMA. */
import { SourceError } from '../source.ts'

export function requireSelect(sql: string): void {
  const bare = sql.replace(/^(?:[\s(]+|--[^\n]*\n?|\/\*[\s\S]*?\*\/)+/, '')
  if (!/^(?:select|with|values|from)\b/i.test(bare))
    throw new SourceError('The query gives no rows: write one SELECT.')
}
