/** PostgreSQL as the nouns see it. */
import type { QueryResult, QueryResultRow } from 'pg'
import type { Reader, Routine, Writer } from '../rows.ts'
import { type Parameter, type Rendered, type Statement, valueOf } from '../statement.ts'

function encoded(parameter: Parameter, values: object): unknown {
  const value = valueOf(parameter, values)
  return parameter.kind === 'json' && value !== null ? JSON.stringify(value) : value
}

type Ask = (sql: string, values: unknown[]) => Promise<QueryResult<QueryResultRow>>

export function postgresRows(query: Ask): Reader & Pick<Writer, 'run' | 'insertAll'> {
  function ask({ sql, parameters }: Rendered, values: object): Promise<QueryResult<QueryResultRow>> {
    return query(
      sql,
      parameters.map((parameter) => encoded(parameter, values)),
    )
  }

  function* answer(statement: Statement, values: object): Routine<QueryResult<QueryResultRow>> {
    return (yield ask(statement.postgres, values)) as QueryResult<QueryResultRow>
  }

  return {
    dialect: 'postgres',
    *find<Row>(statement: Statement<Row>, values: object = {}): Routine<Row | undefined> {
      return (yield* answer(statement, values)).rows[0] as Row | undefined
    },
    *all<Row>(statement: Statement<Row>, values: object = {}): Routine<Row[]> {
      return (yield* answer(statement, values)).rows as Row[]
    },
    *run(statement, values = {}): Routine<number> {
      return (yield* answer(statement, values)).rowCount ?? 0
    },
    *insertAll(statement, rows): Routine<void> {
      const many = statement.postgresMany
      if (!many) throw new Error(`Not an insert: ${statement.postgres.sql}`)
      if (rows.length === 0) return
      const columns = many.parameters.map((parameter) => rows.map((row) => encoded(parameter, row)))
      yield query(many.sql, columns)
    },
  }
}
