/**
 * Reads the columns that stand in names of folders, such as `day=2026-01-01/part.parquet`, as Hive and Spark write
 * them.
 */
import { literal } from '../../duckdb/duckdb.ts'

/** The values by column; null if a row has no value. */
export type PartitionNames = Readonly<Record<string, string | null>>

const STEP = /^([A-Za-z_][A-Za-z0-9_]{0,62})=([^=]*)$/
const NULLS = new Set(['__HIVE_DEFAULT_PARTITION__', 'NULL'])

/** Returns the steps of a name that hold a column, as they are written. */
export const partitionSteps = (name: string): string[] =>
  name
    .split('/')
    .slice(0, -1)
    .filter((step) => STEP.test(step))

export function partitionNames(name: string): PartitionNames {
  const found = partitionSteps(name).map((step): [string, string | null] => {
    const [, column, value] = STEP.exec(step)!
    return [column!, NULLS.has(value!) ? null : decoded(value!)]
  })
  return Object.fromEntries(found)
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const DAY = /^\d{4}-\d\d-\d\d$/
const WHOLE = /^-?\d{1,18}$/

/**
 * Returns the types of these columns, as the engine chooses them: a date, a whole number, else a text. All files
 * decide, so that the type does not depend on which of them are read. Returns null if not all names hold the same
 * columns.
 */
export function partitionTypes(all: readonly PartitionNames[]): Readonly<Record<string, string>> | null {
  const columns = Object.keys(all[0] ?? {})
  const same = (one: PartitionNames): boolean => {
    const own = Object.keys(one)
    return own.length === columns.length && columns.every((column) => column in one)
  }
  if (columns.length === 0 || !all.every(same)) return null
  const typeOf = (column: string): string => {
    const values = all.flatMap((one) => one[column] ?? [])
    if (values.length > 0 && values.every((value) => DAY.test(value))) return 'DATE'
    return values.length > 0 && values.every((value) => WHOLE.test(value)) ? 'BIGINT' : 'VARCHAR'
  }
  return Object.fromEntries(columns.map((column) => [column, typeOf(column)]))
}

/** Returns the options of the reader of Parquet. */
export const partitionOptions = (types: Readonly<Record<string, string>> | null): string =>
  types === null
    ? ''
    : `, hive_partitioning = true, hive_types = {${Object.entries(types)
        .map(([column, type]) => `${literal(column)}: ${type}`)
        .join(', ')}}`
