/** What a store holds of its database: for who watches it. */
export interface Connections {
  open: number
  idle: number
  /** Asked for and not yet given. */
  waiting: number
}

export interface UsageStore {
  /** Null where there is one connection and no pool (SQLite). */
  connections(): Connections | null
}
