/** Copies of a store: a source reads it whole while others use it, and a target writes one whole, all of it or nothing. */
import { AppError } from '@assay/model/errors'
import { type Migration, readMigrations } from '../migrate.ts'
import type { CopiedRow, CopiedTable, StoreKind } from './tables.ts'

export type { CopiedRow, CopiedTable, StoreKind } from './tables.ts'

/** Reads one moment of a store. */
export interface CopySource {
  readonly kind: StoreKind
  /** The name of the newest migration, such as "0001_initial". */
  readonly schema: string
  /** Returns the highest number of an event so far. */
  sequence(): Promise<number>
  /** Yields the rows in batches of at most some megabytes. */
  batches(table: CopiedTable): AsyncIterable<CopiedRow[]>
  close(): Promise<void>
}

export interface CopyTarget {
  readonly kind: StoreKind
  /** Writes rows. `from`: the database from which the rows were copied. */
  write(table: CopiedTable, rows: readonly CopiedRow[], from: StoreKind): Promise<void>
  /** Commits the copy. `sequence`: the highest number of an event so far. */
  finish(sequence: number): Promise<void>
  /** Closes the target. If `finish` was not called, nothing was written. */
  close(): Promise<void>
}

const BATCH_ROWS = 500
const BATCH_CHARACTERS = 2_000_000

/** Gathers rows until they fill a batch. */
export class Batch {
  rows: CopiedRow[] = []
  #characters = 0

  /** Adds a row. Returns true if the batch is full. */
  add(row: CopiedRow): boolean {
    this.rows.push(row)
    for (const value of row) this.#characters += value?.length ?? 0
    return this.rows.length >= BATCH_ROWS || this.#characters >= BATCH_CHARACTERS
  }

  take(): CopiedRow[] {
    const taken = this.rows
    this.rows = []
    this.#characters = 0
    return taken
  }
}

/** Returns how many rows to read next, by the characters of the rows before. */
export function nextSize(rows: readonly CopiedRow[]): number {
  let characters = 0
  for (const row of rows) for (const value of row) characters += value?.length ?? 0
  const fits = Math.floor((BATCH_CHARACTERS * rows.length) / Math.max(1, characters))
  return Math.min(BATCH_ROWS, Math.max(1, fits))
}

/**
 * Returns the newest migration. Throws `store_unavailable` unless the database has exactly the migrations of this
 * program.
 */
export function vetSchema(applied: readonly Pick<Migration, 'name'>[], folder: string): string {
  const known = readMigrations(folder).map(({ name }) => name)
  const found = applied.map(({ name }) => name).toSorted()
  if (found.join() === known.join()) return known.at(-1)!
  const [newest = 'none'] = found.slice(-1)
  throw new AppError(
    'store_unavailable',
    `The database has the schema ${newest}, and this version of assay has ${known.at(-1)}: ` +
      'run "assay migrate" first, or copy it with the version that serves it.',
  )
}
