/**
 * Pages of a list, newest first. A page reads one row more than requested, which tells whether a next page exists. If
 * the given filters have an index together, a page reads only what it returns. Filters without an index are applied
 * to the next `LOOKED_AT_MOST` rows of the best index. Such a page may have fewer rows than requested, or none, and a
 * cursor. (Each delivery and each job would pay for an index of every pair of filters.) Rows may be long, because
 * clients write them, so a page also ends where the `wide` columns of its rows have PAGE_BYTES together
 * (docs/decisions/0200-pages-end-by-their-bytes.md).
 */
import type { Page, PageQuery } from './contract/page.ts'
import { decodeCursor, encodeCursor } from './cursor.ts'
import type { Reader, Routine } from './rows.ts'
import { both, type Statement, statement } from './statement.ts'
import type { Table } from './tables/table.ts'

/**
 * The most rows that a page looks at. They take some milliseconds of either database, in which SQLite answers no
 * other request.
 */
export const LOOKED_AT_MOST = 5000

/** The most bytes of the wide columns of a page together, unless one row has more. */
export const PAGE_BYTES = 1_000_000
/**
 * The most bytes in the wide columns of a row that is read at once. A longer row is read whole once it is known to
 * belong to the page.
 */
const ROW_BYTES = 5000

/** Rows of a list that have indexes of their own. */
export interface Part {
  /** The condition of these rows. */
  where: string
  /** Filters that `where` fulfills for all of these rows. */
  holds?: readonly string[]
  /**
   * The indexed filters of the part; by default those of the list. `all`: the rows are few, and every filter is
   * applied to them.
   */
  indexed?: readonly (readonly string[])[] | 'all'
  /** The table to read, if it is not that of the list. */
  from?: string
}

export type Parts = Readonly<Record<'sqlite' | 'postgres', readonly Part[]>>

export interface ListOptions<Name extends string, Row> {
  /** The name of the list in its cursors. The default is the name of the table. */
  name?: string
  /** The columns of an item, with the id and `created_at`. */
  columns: readonly (Name & keyof Row)[]
  /** The columns whose length a client chooses. */
  wide?: readonly (Name & keyof Row)[]
  /** The id that breaks ties between rows of the same `created_at`. */
  id: Name & keyof Row
  /** The fields of the query with their conditions. A field without a condition is compared with its column. */
  filters?: Readonly<Record<string, string | null>>
  /** The condition that all rows of the list fulfill. */
  always?: string
  /**
   * Combinations of filters whose rows an index holds in the order of the list, or whose rows are few by nature. The
   * first combination that is given is read.
   */
  indexed: readonly (readonly string[])[]
  /**
   * Returns the parts of a list for the given filters. Each is read in its order, and they are merged. The default is
   * one part with all rows.
   */
  parts?: (given: readonly string[]) => Parts
}

export const WHOLE: Parts = { sqlite: [{ where: '' }], postgres: [{ where: '' }] }

/**
 * Returns two parts: rows without a reader and rows with one. A list that is `seen_by` one person has her rows alone
 * in the second.
 */
export function partsOfReaders(given: readonly string[]): Part[] {
  const others = { where: 'reader_id IS NULL', holds: ['seen_by'] }
  return given.includes('seen_by')
    ? [others, { where: 'reader_id = :seen_by', holds: ['seen_by'], indexed: [['workspace_id']] }]
    : [others, { where: 'reader_id IS NOT NULL' }]
}

/** Conditions on the time, which follow the order of the list and bound any index. */
const TIMES: Readonly<Record<string, string>> = {
  created_after: 'created_at >= :created_after',
  created_before: 'created_at < :created_before',
}

/** A row with `bytes`, the bytes of its wide columns. The wide columns are null beyond ROW_BYTES. */
type Listed<Item> = Item & { fits?: number | boolean | null; row_no?: number; bytes?: number }

/** The query of one page from one part. */
interface Asked {
  from: string
  /** The condition of filters that are applied row by row; empty if there are none. */
  looked: string
}

export class List<Item> {
  readonly #name: string
  readonly #table: Table<never>
  readonly #id: string
  readonly #columns: readonly string[]
  readonly #wide: readonly string[]
  readonly #whole: Statement<Item>
  readonly #conditions: Readonly<Record<string, string>>
  readonly #always: readonly string[]
  readonly #indexed: readonly (readonly string[])[]
  readonly #parts: NonNullable<ListOptions<string, unknown>['parts']>
  /** The statements by the given filters. They are few, and each is prepared once. */
  readonly #statements = new Map<string, Statement<Listed<Item>>>()

  constructor(
    table: Table<never>,
    options: Omit<ListOptions<string, Record<string, unknown>>, 'columns' | 'wide'> &
      Record<'columns' | 'wide', readonly string[]>,
  ) {
    const { name = table.name, columns, wide, id, filters = {}, always, indexed, parts } = options
    const fields = new Set([...indexed.flat(), ...Object.keys(filters)])
    this.#name = name
    this.#table = table
    this.#id = id
    this.#columns = columns
    this.#wide = wide
    this.#whole = statement(
      `SELECT ${[id, ...wide].join(', ')} FROM ${table.name} WHERE ${id} = ANY (:ids)`,
      table.kinds,
    )
    this.#conditions = {
      ...Object.fromEntries([...fields].map((field) => [field, filters[field] ?? `${field} = :${field}`])),
      ...TIMES,
    }
    this.#always = always === undefined ? [] : [always]
    this.#indexed = indexed
    this.#parts = parts ?? (() => WHOLE)
  }

  *page(rows: Reader, query: PageQuery): Routine<Page<Item>> {
    const values: Record<string, unknown> = { ...query, most: query.limit + 1 }
    const given = Object.keys(this.#conditions).filter((field) => values[field] !== undefined)
    if (query.cursor !== undefined) {
      const [at, id] = decodeCursor(this.#name, query.cursor, ['string', 'string'])
      Object.assign(values, { after_at: at, after_id: id })
    }
    const listed = yield* rows.all(this.#statement(given, query.cursor !== undefined), values)
    const page = listed.slice(0, Math.min(query.limit, fitting(listed)))
    const isMore = listed.length > page.length || page.at(-1)?.row_no === LOOKED_AT_MOST
    const last = (isMore ? page.at(-1) : undefined) as Record<string, string> | undefined
    return {
      items: yield* this.#items(
        rows,
        page.filter(({ fits, row_no }) => row_no === undefined || fits),
      ),
      next_cursor: last ? encodeCursor(this.#name, [last['created_at']!, last[this.#id]!]) : null,
    }
  }

  /** Adds the wide columns that were left out. An item that was deleted meanwhile is missing from the result. */
  *#items(rows: Reader, found: Listed<Item>[]): Routine<Item[]> {
    const idOf = (row: Item): unknown => row[this.#id as keyof Item]
    const isNarrow = ({ bytes = 0 }: Listed<Item>): boolean => bytes <= ROW_BYTES
    const ids = found.filter((row) => !isNarrow(row)).map(idOf)
    const wide = new Map(
      ids.length === 0 ? [] : (yield* rows.all(this.#whole, { ids })).map((row) => [idOf(row), row]),
    )
    return found
      .filter((row) => isNarrow(row) || wide.has(idOf(row)))
      .map((row) => {
        const { fits: _fits, row_no: _row_no, bytes: _bytes, ...item } = { ...row, ...wide.get(idOf(row)) }
        return item as Item
      })
  }

  #statement(given: string[], goesOn: boolean): Statement<Listed<Item>> {
    const key = `${given.join()} ${goesOn}`
    const known = this.#statements.get(key)
    if (known) return known
    const made = statement<Listed<Item>>(
      both((database) => this.#text(database, given, goesOn)),
      this.#table.kinds,
    )
    this.#statements.set(key, made)
    return made
  }

  #ask(part: Part, given: string[], goesOn: boolean): Asked {
    const { where, holds = [], indexed: lying = this.#indexed, from = this.#table.name } = part
    const left = given.filter((field) => !holds.includes(field))
    const indexed =
      lying === 'all' ? left : (lying.find((fields) => fields.every((field) => left.includes(field))) ?? [])
    const isRead = (field: string): boolean => indexed.includes(field) || field in TIMES
    const condition = (field: string): string => this.#conditions[field]!
    const conditions = [...this.#always, where, ...left.filter(isRead).map(condition)]
    if (goesOn) conditions.push(`(created_at, ${this.#id}) < (:after_at, :after_id)`)
    const all = conditions.filter((one) => one !== '')
    const looked = left.filter((field) => !isRead(field)).map(condition)
    return {
      from: `FROM ${from}${all.length === 0 ? '' : ` WHERE ${all.join(' AND ')}`}`,
      looked: looked.join(' AND '),
    }
  }

  #text(database: 'sqlite' | 'postgres', given: string[], goesOn: boolean): string {
    const parts = this.#parts(given)[database].map((part) => this.#ask(part, given, goesOn))
    const order = `ORDER BY created_at DESC, ${this.#id} DESC`
    const looks = parts.some(({ looked }) => looked !== '')
    // PostgreSQL uses the order of an index for a part only if the part itself is sorted.
    const isSorted = database === 'postgres' && parts.length > 1
    const merged = (limit: string, select: (one: Asked) => string): string =>
      parts
        .map(select)
        .map((text) => (isSorted ? `(${text} ${order} LIMIT ${limit})` : text))
        .join(' UNION ALL ')
    const columns = this.#selected(database)
    if (!looks) return `${merged(':most', ({ from }) => `SELECT ${columns} ${from}`)} ${order} LIMIT :most`
    const isWide = this.#wide.length > 0
    const seen = isWide ? `${this.#id}, created_at` : '*'
    const rows = merged(
      `${LOOKED_AT_MOST}`,
      ({ from, looked }) => `SELECT ${seen}, ${looked || 'true'} AS fits ${from}`,
    )
    const first = `${order} LIMIT ${LOOKED_AT_MOST}`
    // The last row that is looked at is returned whether it fits or not, because the next page begins there. SQLite
    // yields the rows in the order of the index. A second mention of the order would sort them all first.
    const numbered =
      database === 'sqlite'
        ? `SELECT *, row_number() OVER () AS row_no FROM (${rows} ${first}) AS latest`
        : `SELECT *, row_number() OVER (${order}) AS row_no FROM (${rows}) AS latest ${first}`
    const found = `FROM (${numbered}) AS looked_at WHERE fits OR row_no = ${LOOKED_AT_MOST} LIMIT :most`
    if (!isWide) return `SELECT ${columns}, fits, row_no ${found}`
    const { name } = this.#table
    return `SELECT ${this.#selected(database, `${name}.`)}, fits, row_no FROM (SELECT ${this.#id}, fits, row_no ${found}) AS found
      JOIN ${name} ON ${name}.${this.#id} = found.${this.#id} ORDER BY row_no`
  }

  /** Returns the columns after SELECT. It leaves out the wide columns of a wide row. */
  #selected(database: 'sqlite' | 'postgres', prefix = ''): string {
    const wide = new Set(this.#wide)
    // SQLite knows the length of a text without reading it. PostgreSQL holds JSON as another type.
    const lengthOf = (name: string): string =>
      `coalesce(octet_length(${database === 'sqlite' ? prefix + name : `CAST(${prefix}${name} AS text)`}), 0)`
    const bytes = this.#wide.map(lengthOf).join(' + ')
    const columns = this.#columns.map((name) =>
      wide.has(name)
        ? `CASE WHEN ${bytes} <= ${ROW_BYTES} THEN ${prefix}${name} END AS ${name}`
        : prefix + name,
    )
    return [...columns, ...(wide.size > 0 ? [`${bytes} AS bytes`] : [])].join(', ')
  }
}

/** Returns how many of the first rows have PAGE_BYTES together, at least one. */
function fitting(rows: readonly { bytes?: number }[]): number {
  let together = 0
  const over = rows.findIndex(({ bytes = 0 }, index) => {
    together += bytes
    return together > PAGE_BYTES && index > 0
  })
  return over < 0 ? rows.length : over
}

/** Makes the list of a table's rows. */
export function listOf<Row extends object, Name extends keyof Row & string>(
  table: Table<Row>,
  options: ListOptions<Name, Row>,
): List<Pick<Row, Name>> {
  return new List(table as unknown as Table<never>, { wide: [], ...options })
}
