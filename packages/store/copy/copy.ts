/** A store read whole while others use it, and one written whole: all of it or nothing. */
import { AppError } from '@assay/model/errors'
import { type Migration, readMigrations } from '../migrate.ts'
import type { CopiedRow, CopiedTable, StoreKind } from './tables.ts'

export type { CopiedRow, CopiedTable, StoreKind } from './tables.ts'

/** One moment of a store. */
export interface CopySource {
  readonly kind: StoreKind
  /** The newest migration, "0001_initial". */
  readonly schema: string
  /** The highest number that an event has had. */
  sequence(): Promise<number>
  /** The rows in batches of at most some megabytes. */
  batches(table: CopiedTable): AsyncIterable<CopiedRow[]>
  close(): Promise<void>
}

export interface CopyTarget {
  readonly kind: StoreKind
  /** `from`: the database that the rows were copied out of. */
  write(table: CopiedTable, rows: readonly CopiedRow[], from: StoreKind): Promise<void>
  /** Makes all of it true. `sequence`: the highest number that an event has had. */
  finish(sequence: number): Promise<void>
  /** After `finish`, or before: then nothing was written. */
  close(): Promise<void>
}

const BATCH_ROWS = 500
const BATCH_CHARACTERS = 2_000_000

/** Rows gathered until they are a batch. */
export class Batch {
  rows: CopiedRow[] = []
  #characters = 0

  /** Answers whether the batch is full. */
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

/** How many rows to ask for, after `rows` had so many characters. */
export function nextSize(rows: readonly CopiedRow[]): number {
  let characters = 0
  for (const row of rows) for (const value of row) characters += value?.length ?? 0
  const fits = Math.floor((BATCH_CHARACTERS * rows.length) / Math.max(1, characters))
  return Math.min(BATCH_ROWS, Math.max(1, fits))
}

/** Throws `store_unavailable` unless the database has exactly the migrations of this program. Answers the newest. */
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
