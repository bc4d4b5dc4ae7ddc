/**
 * Refuses a query that gives too much before all of it has come. Once more than 1 MB is here, or more rows than the
 * connection allows, the database counts the rows of the query. Small results are never counted.
 */
import type { OpenConnection } from '@assay/model/connection'
import { dialectOf } from '../dialects/engines.ts'
import { counted } from '../dialects/language.ts'
import { printSelect } from '../dialects/print.ts'
import type { Engine } from '../duckdb/duckdb.ts'
import type { BoundQuery } from '../language/remote-query.ts'
import { withoutEnd } from '../language/sql-clauses.ts'
import { numberOf } from '../sufficient/ask.ts'
import { Answers } from './answers.ts'
import type { Kind, OpenOptions } from './kind.ts'
import type { TableRoom } from './rows/large-tables.ts'
import { SourceError } from './source.ts'

/** The bytes that may come before the rows are counted. */
const FEW_BYTES = 1_000_000
/**
 * The factor by which the foreseen bytes must exceed the limit for a refusal, because the first rows may be larger
 * than the others.
 */
const CERTAIN = 2

export interface ForeseenQuery {
  kind: Kind
  /** The options of the query itself. */
  open: OpenOptions
  /** The text of the query, and the values that it binds. */
  text: string
  bound(text: string): BoundQuery
  room: TableRoom
  name: string
}

export class Foreseen {
  readonly #engine: Engine
  readonly #query: ForeseenQuery
  #isJudged = false

  constructor(engine: Engine, query: ForeseenQuery) {
    this.#engine = engine
    this.#query = query
  }

  /**
   * Throws SourceError if the query gives too much. `rows`: the rows of the bytes so far; null if they are not known.
   */
  async judge(rows: number | null, bytes: number): Promise<void> {
    const { connection } = this.#query.open
    const { limits } = connection
    if (this.#isJudged || (bytes <= FEW_BYTES && (rows ?? 0) <= limits.rows)) return
    this.#isJudged = true
    const all = await this.#count()
    if (all === null) return
    if (all > limits.rows) throw tooManyRows(connection, all)
    if (rows === null || rows === 0) return
    const expected = Math.round((bytes / rows) * all)
    if (expected > limits.bytes * CERTAIN)
      throw tooMuch(
        connection,
        `about ${expected} bytes (${all} rows, as large as the first ${rows}), which is more than ${limits.bytes} bytes`,
        'bytes',
      )
  }

  /**
   * Returns the number of rows; null if the database does not count them. It may refuse the query as a part of
   * another, or a second session.
   */
  async #count(): Promise<number | null> {
    const { kind, open, text, bound, room, name } = this.#query
    const { connection } = open
    const from = { query: withoutEnd(text, kind.dialect.syntax) }
    const sql = printSelect({ from, list: { n: counted } }, dialectOf(connection.kind))
    try {
      const reader = await kind.open({ ...open, query: bound(sql) })
      try {
        const [row] = await new Answers(this.#engine, { name, room }).of(reader, open)
        return numberOf(row?.n)
      } finally {
        await reader.close()
      }
    } catch (error) {
      if (error instanceof SourceError) return null
      throw error
    }
  }
}

export const tooManyRows = (connection: OpenConnection, rows: number): SourceError =>
  tooMuch(connection, `${rows} rows, which is more than ${connection.limits.rows} rows`, 'rows')

/** Returns the error for an answer that exceeds a limit of its connection. */
export function tooMuch({ name }: OpenConnection, what: string, limit: string): SourceError {
  return new SourceError(
    `The query over the connection "${name}" gives ${what} (its limits.${limit}): aggregate in the query, or raise the limit.`,
  )
}
