/**
 * The form of a backup: one tar archive, packed by gzip and, if wished, encrypted in the format of age. It holds in this order
 * `backup.json` (Head), `tables/NAME/NUMBER.json` (rows in batches), `uploads/WORKSPACE/PATH`, `secret.key` if asked for, and
 * `manifest.json`: an archive without that last part is not whole.
 */
import { createHash } from 'node:crypto'
import { AppError } from '@assay/model/errors'
import type { CopiedRow, CopiedTable, StoreKind } from '@assay/store/copy'
import { COPIED, sharedIndexes } from '@assay/store/copy'

/** The number of this format. Any other number is refused. */
export const FORMAT = 1
export const HEAD = 'backup.json'
export const MANIFEST = 'manifest.json'
export const KEY = 'secret.key'

export interface Head {
  format: number
  /** The version that made it. */
  assay: string
  store: StoreKind
  /** The newest migration of the store. */
  schema: string
  created_at: string
  /** Each table with its columns. */
  tables: Record<string, readonly string[]>
}

export interface TableSum {
  rows: number
  /** The digest of all rows, independent of their order, in hex digits. */
  digest: string
}

export interface Manifest {
  /** SHA-256 of each part before this one, in hex digits. */
  parts: Record<string, string>
  tables: Record<string, TableSum>
  /** The highest number that an event has had. */
  sequence: number
  uploads: { files: number; bytes: number }
}

export const tableHeads = (): Record<string, readonly string[]> =>
  Object.fromEntries(COPIED.map(({ name, columns }) => [name, columns]))

const MODULUS = 1n << 256n

/**
 * Sums digests of rows, so that two copies of a table can be compared in any order, by the values that both databases
 * hold.
 */
export class TableDigest {
  readonly #indexes: number[]
  #sum = 0n
  #rows = 0

  constructor(table: CopiedTable) {
    this.#indexes = sharedIndexes(table)
  }

  add(rows: readonly CopiedRow[]): void {
    for (const row of rows) {
      const text = JSON.stringify(this.#indexes.map((index) => row[index] ?? null))
      this.#sum = (this.#sum + BigInt(`0x${createHash('sha256').update(text).digest('hex')}`)) % MODULUS
    }
    this.#rows += rows.length
  }

  sum(): TableSum {
    return { rows: this.#rows, digest: this.#sum.toString(16).padStart(64, '0') }
  }
}

/** Throws `conflict` with a sentence where this version cannot restore the backup. */
export function vetHead(head: Head, newest: string, version: string): void {
  if (head.format !== FORMAT)
    throw new AppError(
      'conflict',
      `The backup has the form ${head.format}, and assay ${version} reads form ${FORMAT}: restore it with assay ${head.assay}.`,
    )
  if (head.schema !== newest) {
    const age = head.schema < newest ? 'older' : 'newer'
    throw new AppError(
      'conflict',
      `The backup has the ${age} schema ${head.schema}, and assay ${version} has ${newest}: ` +
        `restore it with assay ${head.assay}, then upgrade as usual.`,
    )
  }
  const own = tableHeads()
  const differing = Object.keys({ ...own, ...head.tables }).find(
    (name) => own[name]?.join() !== head.tables[name]?.join(),
  )
  if (differing !== undefined)
    throw new AppError(
      'conflict',
      `The table ${differing} has other columns in the backup: it was made by a development version (assay ${head.assay}). Restore it with that one.`,
    )
}
