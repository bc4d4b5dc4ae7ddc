/**
 * The form of a table in a copy: every column that one of the databases has, as text. A column that a database lacks
 * is computed here, so that a copy fits both databases.
 */

import type { Kind } from '../statement.ts'
import { TABLES } from '../tables/all.ts'

export type StoreKind = 'sqlite' | 'postgres'

/** The values in the order of the table's columns. Booleans are 0 and 1, times are RFC 3339, JSON is its text. */
export type CopiedRow = (string | null)[]

export interface CopiedTable {
  name: string
  columns: readonly string[]
  kinds: Readonly<Record<string, Kind>>
  lacking: Record<StoreKind, readonly string[]>
}

/**
 * A further column for `next_seq` of a recovery, which differs between the databases. It holds the value for the
 * other database.
 */
const ELSEWHERE = 'next_seq_elsewhere'
const EXTRA: Record<string, Record<string, Kind>> = { recoveries: { [ELSEWHERE]: 'bigint' } }

/** Tables that are not copied. Their counts are computed again from the jobs. */
const LEFT: readonly string[] = ['job_counts']

export const COPIED: readonly CopiedTable[] = TABLES.filter(({ name }) => !LEFT.includes(name)).map(
  ({ name, columns, kinds, only }) => ({
    name,
    columns: [...columns, ...Object.keys(EXTRA[name] ?? {})],
    kinds: { ...kinds, ...EXTRA[name] },
    lacking: { sqlite: only.postgres ?? [], postgres: only.sqlite ?? [] },
  }),
)

/** SQL expressions of each database for the columns that it lacks. */
const FILLED: Record<StoreKind, Record<string, Record<string, string>>> = {
  sqlite: {
    deliveries: { event_at: '(SELECT timestamp FROM events WHERE seq = event_seq)' },
    recoveries: {
      // PostgreSQL walks by time, from the first event that the walk has not seen to beyond the last. Deliveries that
      // exist already are recognized.
      next_at: 'coalesce((SELECT min(timestamp) FROM events WHERE seq >= next_seq), created_at)',
      until: `strftime('%Y-%m-%dT%H:%M:%fZ', coalesce((SELECT max(timestamp) FROM events WHERE seq <= to_seq), created_at), '+0.001 seconds')`,
      [ELSEWHERE]: '0',
    },
  },
  postgres: {
    recoveries: {
      // SQLite walks by number.
      to_seq: `(SELECT coalesce(max(seq), 0) FROM events
        WHERE events.workspace_id = recoveries.workspace_id AND timestamp < until)::text`,
      [ELSEWHERE]: `(SELECT coalesce(min(seq) FILTER (WHERE (timestamp, seq) >= (next_at, next_seq)), max(seq) + 1, 0)
        FROM events WHERE events.workspace_id = recoveries.workspace_id)::text`,
    },
  },
}

/** Expressions that turn a value of PostgreSQL into the text that SQLite holds. */
const POSTGRES_TEXT: Partial<Record<Kind, (column: string) => string>> = {
  boolean: (column) => `${column}::int::text`,
  time: (column) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
}

export const quoted = (name: string): string => `"${name}"`

/** Returns the query of all columns of the table, in their order. */
export function selectAll(table: CopiedTable, kind: StoreKind): string {
  const filled = FILLED[kind][table.name] ?? {}
  const columns = table.columns.map((name) => {
    const own = filled[name] ?? (table.lacking[kind].includes(name) ? 'NULL' : null)
    if (own !== null) return `${own} AS ${quoted(name)}`
    if (kind === 'sqlite') return quoted(name)
    const text = POSTGRES_TEXT[table.kinds[name]!] ?? ((column: string) => `${column}::text`)
    return `${text(`${table.name}.${quoted(name)}`)} AS ${quoted(name)}`
  })
  return `SELECT ${columns.join(', ')} FROM ${table.name}`
}

export interface TargetColumn {
  name: string
  kind: Kind
  /** The index of the column's value in a copied row. */
  index: number
}

/** Returns the columns that the database has, each with the index of its value in a row copied from a database `from`. */
export function targetColumns(table: CopiedTable, kind: StoreKind, from: StoreKind): TargetColumn[] {
  return table.columns
    .filter((name) => name !== ELSEWHERE && !table.lacking[kind].includes(name))
    .map((name) => {
      const elsewhere = kind !== from && name === 'next_seq' && table.columns.includes(ELSEWHERE)
      return { name, kind: table.kinds[name]!, index: table.columns.indexOf(elsewhere ? ELSEWHERE : name) }
    })
}

/** Returns the indexes of the values that are equal in both databases. Two copies are compared by these. */
export function sharedIndexes(table: CopiedTable): number[] {
  const own = [...table.lacking.sqlite, ...table.lacking.postgres, ELSEWHERE]
  if (table.columns.includes(ELSEWHERE)) own.push('next_seq')
  return table.columns.flatMap((name, index) => (own.includes(name) ? [] : [index]))
}
