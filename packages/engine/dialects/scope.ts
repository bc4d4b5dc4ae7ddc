/** What is known of the columns of a query that is printed for another engine: their types, and the names that they have there. */
import type { Column } from '@assay/model/insight'
import type { Dialect } from './dialect.ts'
import type { Tree } from './tree.ts'

/** `moment`: a time with a zone. `clock`: one on the clock of a zone. `word`: text. */
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
  /** The same of a moment, on the clock of UTC. */
  | 'moment stamp'

export interface Printed {
  sql: string
  type: ValueType
  /** Of what is known before it runs. */
  constant?: string | number | boolean | null
}

/** What a function needs of the printer of expressions. */
export interface Writing {
  dialect: Dialect
  /** As a double, whatever kind of number it is. */
  double(one: Printed): string
  literal(value: string | number | boolean | null): Printed
}

/** The engine lacks a phrase, or the printer a rule: what is asked cannot be asked there. */
export class NotAsked extends Error {}

export interface Named {
  name: string
  type: ValueType
}

/** A table of a FROM, with the columns that SQL may name. */
export interface Place {
  alias: string | null
  /** The name of a column there, and its type; of the base it is learned by asking. */
  column(name: string): Printed | null
  all: readonly Named[]
  /** Columns that `using` has merged into another table's. */
  merged: ReadonlySet<string>
  /** Where a value stands among those of its group, if quantiles of it are asked for. */
  rankOf?(value: Tree): Rank | null
}

/** The place of a row's value in its group, from 1, and how many values that has. */
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
