/** What the store promises of the texts that are sealed by the service, and of values that are kept once. */

/** Where sealed texts are. */
export type SealedTable = 'webhooks' | 'connections' | 'idempotency_keys'

export interface Resealing {
  table: SealedTable
  /** The key columns of the row with their values. */
  key: Record<string, string>
  /** Each sealed text with the one that takes its place. */
  texts: { from: string; to: string }[]
}

export interface SealedStore {
  /** Writes the value where the key has none yet; answers with the value that is kept. */
  keepOnce(key: string, value: string): Promise<string>
  /** Null: none is kept. */
  getKept(key: string): Promise<string | null>
  replaceKept(input: { key: string; value: string }): Promise<void>
  /** Puts each text in the place of the other where that is still there, in one transaction. Answers how many rows changed. */
  reseal(rows: Resealing[]): Promise<number>
}
