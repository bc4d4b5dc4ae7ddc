/** The dialect of databases with question marks as parameters: one per value, and one per item of a list. */
import type { Parameter, Plain, QueryDialect } from '../../language/remote-query.ts'
import type { SqlSyntax } from '../../language/sql-clauses.ts'

export function questionMarks(syntax: SqlSyntax): QueryDialect {
  return {
    syntax,
    placeholder: (_, { list, value }) =>
      list ? (Array.isArray(value) ? value : []).map(() => '?').join(', ') || 'null' : '?',
    reuses: false,
  }
}

/** Returns the values of the question marks, in order. */
export function valuesOf<Value>(
  parameters: readonly Parameter[],
  encode: (value: Plain, type: Parameter['type']) => Value,
): Value[] {
  return parameters.flatMap(({ value, list, type }) => {
    if (Array.isArray(value)) return value.map((item) => encode(item, type))
    return list ? [] : [encode(value, type)]
  })
}
