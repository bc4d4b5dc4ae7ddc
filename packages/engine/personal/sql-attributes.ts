/** `$reader.NAME` in SQL blocks and queries: an attribute of the reader, bound as a parameter. */
import { replaceVariables, type SqlSyntax, STANDARD_SYNTAX } from '../language/sql-clauses.ts'

export const READER = 'reader'
/** An attribute after `$reader`; a call is none. */
export const ATTRIBUTE = /^\.([a-z_][a-z0-9_]{0,62})(?![\w(])/

/** The attributes that SQL names, each once; null among them where `$reader` stands without one. */
export function attributesInSql(sql: string, syntax: SqlSyntax = STANDARD_SYNTAX): (string | null)[] {
  if (!sql.includes('$reader')) return []
  const found = new Set<string | null>()
  replaceVariables(sql, syntax, (name, rest) => {
    if (name === READER) found.add(ATTRIBUTE.exec(rest)?.[1] ?? null)
    return { text: '', taken: 0 }
  })
  return [...found]
}

export const WITHOUT_ATTRIBUTE = {
  message: '$reader is a person, and SQL takes one of its attributes.',
  remedy: 'Write $reader.NAME, in lower case.',
}
