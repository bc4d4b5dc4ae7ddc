/** PostgreSQL behind the interface of the nouns. */
import type { QueryResult, QueryResultRow } from 'pg'
import type { Reader, Routine, Writer } from '../rows.ts'
import { jsonOf, type Parameter, type Rendered, type Statement, valueOf } from '../statement.ts'

function encoded(parameter: Parameter, values: object): unknown {
  const value = valueOf(parameter, values)
  return parameter.kind === 'json' && value !== null ? jsonOf(value) : value
}

export type Answer = QueryResult<QueryResultRow>
/** Sends a statement. Resolves with its answer. */
export type Ask = (sql: string, values: unknown[]) => Promise<Answer>

function send(ask: Ask, { sql, parameters }: Rendered, values: object): Promise<Answer> {
  return ask(
    sql,
    parameters.map((parameter) => encoded(parameter, values)),
  )
}

export function readerOf(ask: Ask): Reader {
  function* answer(statement: Statement, values: object): Routine<Answer> {
    return (yield send(ask, statement.postgres, values)) as Answer
  }
  return {
    dialect: 'postgres',
    *find<Row>(statement: Statement<Row>, values: object = {}): Routine<Row | undefined> {
      return (yield* answer(statement, values)).rows[0] as Row | undefined
    },
    *all<Row>(statement: Statement<Row>, values: object = {}): Routine<Row[]> {
      return (yield* answer(statement, values)).rows as Row[]
    },
  }
}

/** Sends a statement whose answer is not awaited. Its failure shows at the next statement, or at the commit. */
export interface Starter {
  start<Row>(statement: Statement<Row>, values?: object): Promise<Row[]>
}

/** Yields the statements that write the rows. */
function* written(
  { postgres, postgresMany: many, postgresRows: named }: Statement,
  rows: readonly object[],
): Generator<{ sql: string; values: unknown[] }> {
  if (!many) throw new Error(`Not for many rows: ${postgres.sql}`)
  const whole = named ? rows.length - (rows.length % named.rows) : 0
  if (named)
    for (let from = 0; from < whole; from += named.rows) {
      const some = rows.slice(from, from + named.rows)
      const values = some.flatMap((row) => named.parameters.map((parameter) => encoded(parameter, row)))
      yield { sql: named.sql, values }
    }
  const rest = rows.slice(whole)
  const [row, ...others] = rest
  if (row && others.length === 0)
    yield { sql: postgres.sql, values: postgres.parameters.map((parameter) => encoded(parameter, row)) }
  else if (row)
    yield {
      sql: many.sql,
      values: many.parameters.map((parameter) => rest.map((each) => encoded(parameter, each))),
    }
}

/** Makes the writer of a transaction. `later` gets each statement that is not awaited. */
export function writerOf(
  ask: Ask,
  later: (answer: Promise<unknown>) => void,
): Reader & Pick<Writer, 'run' | 'writeAll'> & Starter {
  function start<Row>(statement: Statement<Row>, values: object = {}): Promise<Row[]> {
    const rows = send(ask, statement.postgres, values).then((answer) => answer.rows as Row[])
    later(rows)
    return rows
  }
  return {
    ...readerOf(ask),
    start,
    *run(statement, values = {}): Routine<number> {
      return ((yield send(ask, statement.postgres, values)) as Answer).rowCount ?? 0
    },
    // oxlint-disable-next-line require-yield -- it waits for nothing
    *writeAll(statement, rows): Routine<void> {
      for (const { sql, values } of written(statement, rows)) later(ask(sql, values))
    },
  }
}
