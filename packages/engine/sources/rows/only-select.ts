/**
 * Refuses all statements but SELECT, for databases whose read-only session still allows statements such as KILL,
 * ATTACH and PRAGMA.
 */
import { SourceError } from '../source.ts'

export function requireSelect(sql: string): void {
  const bare = sql.replace(/^(?:[\s(]+|--[^\n]*\n?|\/\*[\s\S]*?\*\/)+/, '')
  if (!/^(?:select|with|values|from)\b/i.test(bare))
    throw new SourceError('The query gives no rows: write one SELECT.')
}
