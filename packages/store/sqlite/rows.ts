/** SQLite behind the interface of the nouns. Statements are prepared once, and each is answered at once. */
import type { DatabaseSync, SQLInputValue, SQLOutputValue, StatementSync } from 'node:sqlite'
import type { JobCaps } from '../caps.ts'
import { finish, type Native, type Routine, Step, type Transaction } from '../rows.ts'
import { jsonOf, type Kind, type Parameter, type Statement, valueOf } from '../statement.ts'
import type { Hint } from '../store.ts'

function encoded(parameter: Parameter, values: object): SQLInputValue {
  const value = valueOf(parameter, values)
  if (value === null) return null
  if (parameter.kind === 'json' || Array.isArray(value)) return jsonOf(value)
  return typeof value === 'boolean' ? Number(value) : (value as SQLInputValue)
}

const READERS: Partial<Record<Kind, (value: SQLOutputValue) => unknown>> = {
  boolean: (value) => value === 1,
  json: (value) => JSON.parse(value as string) as unknown,
}

/** A prepared statement. Rows come as arrays, because node:sqlite takes twice the time to make objects. */
interface Prepared {
  statement: StatementSync
  columns: { name: string; read: ((value: SQLOutputValue) => unknown) | undefined }[]
  /** A row of nulls. A copy of it has room for all columns at once; an empty object would grow column by column. */
  empty: Readonly<Record<string, unknown>>
}

function prepare(db: DatabaseSync, { sqlite, kinds }: Statement): Prepared {
  const statement = db.prepare(sqlite.sql)
  statement.setReturnArrays(true)
  const columns = statement.columns().map(({ name }) => ({ name, read: READERS[kinds[name] ?? 'text'] }))
  return { statement, columns, empty: Object.fromEntries(columns.map(({ name }) => [name, null])) }
}

/** Returns the values in the forms of the contract. */
function decoded({ columns, empty }: Prepared, values: SQLOutputValue[]): unknown {
  const row = { ...empty }
  for (let index = 0; index < columns.length; index += 1) {
    const { name, read } = columns[index]!
    const value = values[index]!
    row[name] = read && value !== null ? read(value) : value
  }
  return row
}

export interface SqliteContext {
  db: DatabaseSync
  now(): string
  publicUrl: string | null
  caps: JobCaps
  hint(hint: Hint): void
}

/** Runs a routine to its end, with one time for all that it writes. */
export type Run = <Result>(work: (tx: Transaction) => Routine<Result>) => Result

export function sqliteRows(
  { db, now, publicUrl, caps, hint }: SqliteContext,
  nativeOf: (tx: Transaction) => Native,
): Run {
  let time = ''
  const prepared = new Map<Statement, Prepared>()

  function preparedOf(statement: Statement): Prepared {
    const known = prepared.get(statement)
    if (known) return known
    const made = prepare(db, statement)
    prepared.set(statement, made)
    return made
  }

  function bound({ sqlite }: Statement, values: object): SQLInputValue[] {
    return sqlite.parameters.map((parameter) =>
      parameter.name === 'now' ? time : encoded(parameter, values),
    )
  }

  function change(statement: Statement, values: object): number {
    return Number(preparedOf(statement).statement.run(...bound(statement, values)).changes)
  }

  const tx: Transaction = {
    dialect: 'sqlite',
    get native() {
      return native
    },
    publicUrl,
    caps,
    hint,
    get now() {
      return time
    },
    find: <Row>(statement: Statement<Row>, values: object = {}) =>
      new Step(() => {
        const made = preparedOf(statement)
        const row = made.statement.get(...bound(statement, values))
        return row && (decoded(made, row as unknown as SQLOutputValue[]) as Row)
      }),
    all: <Row>(statement: Statement<Row>, values: object = {}) =>
      new Step(() => {
        const made = preparedOf(statement)
        const rows = made.statement.all(...bound(statement, values))
        return rows.map((row) => decoded(made, row as unknown as SQLOutputValue[]) as Row)
      }),
    run: (statement, values = {}) => new Step(() => change(statement, values)),
    writeAll: (statement, rows) =>
      new Step(() => {
        for (const values of rows) change(statement, values)
      }),
  }
  const native = nativeOf(tx)
  return (work) => {
    time = now()
    return finish(work(tx))
  }
}
