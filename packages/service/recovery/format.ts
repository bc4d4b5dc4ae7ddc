/**
 * The form of a backup: one tar archive, packed by gzip and, if wished, encrypted in the format of age. It holds in
 * this order `backup.json` (Head), `tables/NAME/NUMBER.json` (rows in batches), `uploads/WORKSPACE/PATH`,
 * `secret.key` if asked for, and `manifest.json`. An archive without its manifest is not whole.
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
  /** The version of Assay that made the backup. */
  assay: string
  store: StoreKind
  /** The newest migration of the store. */
  schema: string
  created_at: string
  /** The columns of each table. */
  tables: Record<string, readonly string[]>
}

export interface TableSum {
  rows: number
  /** The digest of all rows in hex digits. It does not depend on their order. */
  digest: string
}

export interface Manifest {
  /** The SHA-256 of each part before this one, in hex digits. */
  parts: Record<string, string>
  tables: Record<string, TableSum>
  /** The highest number of an event so far. */
  sequence: number
  uploads: { files: number; bytes: number }
}

export const tableHeads = (): Record<string, readonly string[]> =>
  Object.fromEntries(COPIED.map(({ name, columns }) => [name, columns]))

const MODULUS = 1n << 256n

/** Sums the digests of rows. Two copies of a table have the same digest in any order and on both databases. */
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

/** Throws `conflict` with a sentence if this version cannot restore the backup. */
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
