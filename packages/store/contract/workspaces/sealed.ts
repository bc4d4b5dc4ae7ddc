/** Sealed texts in the store, and values that are written once. */

/** The columns that hold sealed texts. */
export type SealedTable = 'webhooks' | 'connections' | 'idempotency_keys'

export interface Resealing {
  table: SealedTable
  /** The key columns of the row with their values. */
  key: Record<string, string>
  /** Each sealed text with its replacement. */
  texts: { from: string; to: string }[]
}

export interface SealedStore {
  /** Writes the value if the key has none. Returns the kept value. */
  keepOnce(key: string, value: string): Promise<string>
  /** Returns the kept value of the key; null if there is none. */
  getKept(key: string): Promise<string | null>
  replaceKept(input: { key: string; value: string }): Promise<void>
  /** Replaces each text that is still the same, in one transaction. Returns the number of changed rows. */
  reseal(rows: Resealing[]): Promise<number>
}
