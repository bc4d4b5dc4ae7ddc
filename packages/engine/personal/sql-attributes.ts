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

/**
 * Returns the attributes that a query of a source names anywhere. Its database is not known before the run, and a text
 * or a comment of one database may be SQL in another: `'it\'s'` ends in MySQL and continues elsewhere.
 */
export function attributesAnywhere(sql: string): (string | null)[] {
  const found = sql.matchAll(/\$reader(?![\w$])(?:\.([a-z_][a-z0-9_]{0,62})(?![\w(]))?/g)
  return [...new Set([...found].map(([, name]) => name ?? null))]
}

export const WITHOUT_ATTRIBUTE = {
  message: '$reader is a person, and SQL takes one of its attributes.',
  remedy: 'Write $reader.NAME, in lower case.',
}
