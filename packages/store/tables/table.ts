/** A table is described once: by its columns, and the plain statements that follow from them. */
import { both, type Kind, type Kinds, optional, type Statement, statement, type Text } from '../statement.ts'

/**
 * The description of a column. A column that may be null has a `?` after its kind. The compiler checks this against
 * the type of the field.
 */
type Column<Value> = null extends Value ? `${Kind}?` : Kind

export interface TableOptions {
  /** Columns that one of the databases lacks. */
  only?: { sqlite?: readonly string[]; postgres?: readonly string[] }
}

/** PostgreSQL's names of the kinds of values. */
export const POSTGRES_TYPES: Record<Kind, string> = {
  text: 'text',
  integer: 'int',
  bigint: 'bigint',
  real: 'float8',
  boolean: 'boolean',
  time: 'timestamptz',
  json: 'json',
}

/** The number of rows of a statement with a parameter for each value. */
const NAMED_ROWS = 25

const named = (names: readonly string[]): string => names.map((name) => `:${name}`).join(', ')

/** Returns the WHERE by which each of the columns has the value of its name. */
export function by(...columns: readonly string[]): string {
  return `WHERE ${columns.map((name) => `${name} = :${name}`).join(' AND ')}`
}

export class Table<Row extends object> {
  readonly name: string
  readonly key: readonly (keyof Row & string)[]
  readonly kinds: Kinds
  readonly nullable: ReadonlySet<string>
  readonly columns: readonly (keyof Row & string)[]
  readonly only: NonNullable<TableOptions['only']>

  constructor(
    name: string,
    key: readonly (keyof Row & string)[],
    columns: { [Name in keyof Row & string]-?: Column<Row[Name]> },
    { only = {} }: TableOptions = {},
  ) {
    const entries = Object.entries<string>(columns)
    this.name = name
    this.key = key
    this.columns = entries.map(([column]) => column as keyof Row & string)
    this.kinds = Object.fromEntries(entries.map(([column, kind]) => [column, kind.replace('?', '') as Kind]))
    this.nullable = new Set(entries.filter(([, kind]) => kind.endsWith('?')).map(([column]) => column))
    this.only = only
  }

  /** Returns all columns but these. */
  except<Name extends keyof Row & string>(...names: Name[]): Exclude<keyof Row & string, Name>[] {
    const left: readonly string[] = names
    return this.columns.filter((column): column is Exclude<typeof column, Name> => !left.includes(column))
  }

  /** Returns the column names as they follow SELECT or RETURNING. */
  list(columns: readonly string[] = this.columns): string {
    return columns.map((column) => `${this.name}.${column}`).join(', ')
  }

  /** Returns the text for each database, with the columns that it has. */
  #texts(
    columns: readonly string[],
    text: (columns: readonly string[], database: 'sqlite' | 'postgres') => string,
  ): Text {
    const lacking = { sqlite: this.only.postgres ?? [], postgres: this.only.sqlite ?? [] }
    return both((database) =>
      text(
        columns.filter((column) => !lacking[database].includes(column)),
        database,
      ),
    )
  }

  /** Makes a SELECT. `tail`: the text after the name of the table. */
  select<Name extends keyof Row & string = keyof Row & string>(
    tail: Text,
    columns?: readonly Name[],
  ): Statement<Pick<Row, Name>> {
    const tails = typeof tail === 'string' ? both(() => tail) : tail
    return this.sql(
      this.#texts(
        columns ?? this.columns,
        (own, database) => `SELECT ${this.list(own)} FROM ${this.name} ${tails[database]}`,
      ),
    )
  }

  /** Returns PostgreSQL's array parameters of these columns, numbered from 1. */
  #arrays(columns: readonly string[]): string {
    return columns.map((name, index) => `$${index + 1}::${POSTGRES_TYPES[this.kinds[name]!]}[]`).join(', ')
  }

  /** Makes an INSERT. A nullable column that is not given is written as null. */
  insert<Answer = unknown>(
    columns: readonly (keyof Row & string)[] = this.columns,
    tail = '',
  ): Statement<Answer> {
    const into = (own: readonly string[]): string => `INSERT INTO ${this.name} (${own.join(', ')})`
    const made = this.sql<Answer>(
      this.#texts(columns, (own) => `${into(own)} VALUES (${named(own)}) ${tail}`),
    )
    const many = {
      sql: `${into(columns)} SELECT * FROM unnest(${this.#arrays(columns)}) ${tail}`,
      parameters: columns.map((name) => ({ name, kind: this.kinds[name]! })),
    }
    const values = (row: number): string =>
      columns.map((_, at) => `$${row * columns.length + at + 1}`).join(', ')
    const rows = Array.from({ length: NAMED_ROWS }, (_, row) => `(${values(row)})`)
    const some = { sql: `${into(columns)} VALUES ${rows.join(', ')} ${tail}`, parameters: many.parameters }
    return {
      ...made,
      sqlite: optional(made.sqlite, this.nullable),
      postgres: optional(made.postgres, this.nullable),
      postgresMany: optional(many, this.nullable),
      postgresRows: { ...optional(some, this.nullable), rows: rows.length },
    }
  }

  /** Makes an INSERT that replaces an existing row, except its key and the columns in `kept`. */
  upsert(
    columns: readonly (keyof Row & string)[] = this.columns,
    kept: readonly (keyof Row & string)[] = [],
  ): Statement {
    const replaced = columns.filter((name) => !this.key.includes(name) && !kept.includes(name))
    const set = replaced.map((name) => `${name} = excluded.${name}`).join(', ')
    return this.insert(columns, `ON CONFLICT (${this.key.join(', ')}) DO UPDATE SET ${set}`)
  }

  update(columns: readonly (keyof Row & string)[], where: string): Statement {
    const set = (own: readonly string[]): string => own.map((name) => `${name} = :${name}`).join(', ')
    return this.sql(this.#texts(columns, (own) => `UPDATE ${this.name} SET ${set(own)} ${where}`))
  }

  /** Makes an UPDATE of the columns of the row with the given `keys`, if `also` holds, for one row or for many at once. */
  updateAll(
    columns: readonly (keyof Row & string)[],
    keys: readonly (keyof Row & string)[] = this.key,
    also = '',
  ): Statement {
    const given = [...keys, ...columns]
    const set = columns.map((name) => `${name} = given.${name}`).join(', ')
    const same = keys.map((name) => `${this.name}.${name} = given.${name}`).join(' AND ')
    return {
      ...this.update(columns, `${by(...keys)} ${also}`),
      postgresMany: {
        sql: `UPDATE ${this.name} SET ${set} FROM unnest(${this.#arrays(given)}) AS given (${given.join(', ')})
          WHERE ${same} ${also}`,
        parameters: given.map((name) => ({ name, kind: this.kinds[name]! })),
      },
    }
  }

  delete(where: string): Statement {
    return this.sql(`DELETE FROM ${this.name} ${where}`)
  }

  /**
   * Makes a DELETE of at most `:most` rows. `lock` locks them on PostgreSQL, and says what happens to those that
   * others hold.
   */
  deleteSome(where: string, lock = ''): Statement {
    const key = this.key.join(', ')
    const several = this.key.length > 1 ? `(${key})` : key
    return this.sql({
      sqlite: `DELETE FROM ${this.name} WHERE ${several} IN (SELECT ${key} FROM ${this.name} ${where} LIMIT :most)`,
      // The rows are found by their place on the disk: the planner may look a list of keys up once for each row of
      // the table.
      postgres: `DELETE FROM ${this.name} WHERE ctid = ANY (ARRAY (
        SELECT ctid FROM ${this.name} ${where} LIMIT :most ${lock}))`,
    })
  }

  /** Returns these columns of a row. */
  pick<Name extends keyof Row & string>(row: Pick<Row, Name>, columns: readonly Name[]): Pick<Row, Name> {
    return Object.fromEntries(columns.map((name) => [name, row[name]])) as Pick<Row, Name>
  }

  /** Makes any other statement whose parameters and answers have names of columns. */
  sql<Answer>(text: Text): Statement<Answer> {
    return statement(text, this.kinds)
  }
}
