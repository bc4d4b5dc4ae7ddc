/** Knows the types of the columns of a query that is printed for another database, and their names there. */
import type { Column } from '@assay/model/insight'
import type { Dialect } from './dialect.ts'
import type { Tree } from './tree.ts'

/** The types of values. `moment`: a time with a zone. `clock`: a time on the clock of a zone. `word`: text. */
export type ValueType =
  | 'integer'
  | 'double'
  | 'word'
  | 'date'
  | 'clock'
  | 'moment'
  | 'boolean'
  | 'nothing'
  /** A text that `readSum` reads. */
  | 'sum'
  /** A time as text, in the engine's own form. */
  | 'stamp'
  /** A moment as text, in the same form, on the clock of UTC. */
  | 'moment stamp'

export interface Printed {
  sql: string
  type: ValueType
  /** The value, if it is known before the query runs. */
  constant?: string | number | boolean | null
}

/** The part of the printer of expressions that functions use. */
export interface Writing {
  dialect: Dialect
  /** Returns the SQL of a value as a double, whatever kind of number it is. */
  double(one: Printed): string
  literal(value: string | number | boolean | null): Printed
}

/** Says that the query cannot run in the database, because the database lacks a phrase or the printer a rule. */
export class NotAsked extends Error {}

export interface Named {
  name: string
  type: ValueType
}

/** A table of a FROM, with the columns that SQL may name. */
export interface Place {
  alias: string | null
  /** Returns the name of a column there and its type. The base learns its columns as they are asked for. */
  column(name: string): Printed | null
  all: readonly Named[]
  /** The columns that `using` has merged into another table's. */
  merged: ReadonlySet<string>
  /** Returns the rank of a value in its group, if quantiles of it are asked for. */
  rankOf?(value: Tree): Rank | null
}

/** The rank of a row's value in its group, from 1, and the number of values in the group. */
export interface Rank {
  place: string
  size: string
}

export function resolved(places: readonly Place[], names: readonly string[]): Printed | null {
  const name = names.at(-1)!
  const table = names.length > 1 ? names.at(-2)! : null
  const found = places.flatMap((place) => {
    if (table === null ? place.merged.has(name) : place.alias !== table) return []
    const one = place.column(name)
    return one ? [one] : []
  })
  return found[0] ?? null
}

export function typeOf({ type, database_type }: Column): ValueType | null {
  switch (type) {
    case 'integer':
      return 'integer'
    case 'number':
    case 'decimal':
      return 'double'
    case 'text':
      return 'word'
    case 'date':
      return 'date'
    case 'timestamp':
      return database_type.includes('ZONE') ? 'moment' : 'clock'
    case 'boolean':
      return 'boolean'
    default:
      return null
  }
}
