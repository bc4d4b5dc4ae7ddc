/** Asks a database for statistics over its rows. DuckDB answers by the same code. */
import type { Cell } from '@assay/model/insight'
import type { Expression, From, Select } from '../dialects/language.ts'

export type Answer = Record<string, Cell>

/** A day such as "2024-02-29", and the number of its rows. */
export type DayCount = readonly [day: string, n: number]

export interface Asked {
  /** The table, or the author's query. */
  from: From
  /** Whether the database adds up whole numbers and decimals of a column without an error (Dialect.strict). */
  strict?: boolean
  /** The columns of text whose equal values have equal bytes, and that the database shows as they are. */
  plain?: ReadonlySet<string>
  /** Sends one SELECT to the database. Numbers within 2^53 are numbers. */
  ask(select: Select): Promise<Answer[]>
}

/** Returns a select of computed columns, from which another select reads. */
export const columnsOf = (from: From, list: Readonly<Record<string, Expression>>): From => ({
  select: { from, list },
})

export const numberOf = (cell: Cell | undefined): number => Number(cell ?? 0)
