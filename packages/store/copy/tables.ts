/**
 * What a copy of a store holds of each table: every column that one of the databases has, as text. Where a database lacks a
 * column its value is worked out here, so that a copy goes into either of them.
 */

import type { Kind } from '../statement.ts'
import { TABLES } from '../tables/all.ts'

export type StoreKind = 'sqlite' | 'postgres'

/** In the order of the table's columns. Booleans are 0 and 1, times RFC 3339, JSON is its text. */
export type CopiedRow = (string | null)[]

export interface CopiedTable {
  name: string
  columns: readonly string[]
  kinds: Readonly<Record<string, Kind>>
  lacking: Record<StoreKind, readonly string[]>
}

/** `next_seq` of a recovery means something else in each database: this is its value for the one that it does not come from. */
const ELSEWHERE = 'next_seq_elsewhere'
const EXTRA: Record<string, Record<string, Kind>> = { recoveries: { [ELSEWHERE]: 'bigint' } }

/** Not copied: these counts are made anew from the jobs. */
const LEFT: readonly string[] = ['job_counts']

export const COPIED: readonly CopiedTable[] = TABLES.filter(({ name }) => !LEFT.includes(name)).map(
  ({ name, columns, kinds, only }) => ({
    name,
    columns: [...columns, ...Object.keys(EXTRA[name] ?? {})],
    kinds: { ...kinds, ...EXTRA[name] },
    lacking: { sqlite: only.postgres ?? [], postgres: only.sqlite ?? [] },
  }),
)

/** The words of each database for what it lacks. */
const FILLED: Record<StoreKind, Record<string, Record<string, string>>> = {
  sqlite: {
    deliveries: { event_at: '(SELECT timestamp FROM events WHERE seq = event_seq)' },
    recoveries: {
      // PostgreSQL walks by time: from the first event not yet looked at to past the last. What was made already is seen.
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

/** PostgreSQL's text of a value, as SQLite holds it. */
const POSTGRES_TEXT: Partial<Record<Kind, (column: string) => string>> = {
  boolean: (column) => `${column}::int::text`,
  time: (column) => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`,
}

export const quoted = (name: string): string => `"${name}"`

/** Reads all columns of the table, in their order. */
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
  /** The index of its value in a copied row. */
  index: number
}

/** The columns that the database has, each with where its value is in a row that was copied out of a database `from`. */
export function targetColumns(table: CopiedTable, kind: StoreKind, from: StoreKind): TargetColumn[] {
  return table.columns
    .filter((name) => name !== ELSEWHERE && !table.lacking[kind].includes(name))
    .map((name) => {
      const elsewhere = kind !== from && name === 'next_seq' && table.columns.includes(ELSEWHERE)
      return { name, kind: table.kinds[name]!, index: table.columns.indexOf(elsewhere ? ELSEWHERE : name) }
    })
}

/** Where the values are that are the same in both databases: by them two copies are compared. */
export function sharedIndexes(table: CopiedTable): number[] {
  const own = [...table.lacking.sqlite, ...table.lacking.postgres, ELSEWHERE]
  if (table.columns.includes(ELSEWHERE)) own.push('next_seq')
  return table.columns.flatMap((name, index) => (own.includes(name) ? [] : [index]))
}
