/** How long finished objects are kept, by the store's clock. */

/** The ages in milliseconds, from the end of a job or from the creation of the others. */
export interface Retention {
  /** The age of finished jobs, with their insights and deliveries. */
  jobs_ms: number
  /** The age of jobs that were never run. */
  drafts_ms: number
  /** The age of events with their deliveries. An event with a pending delivery stays. */
  events_ms: number
  /** The age of ended deliveries with their attempts: the sent and the received bytes. */
  deliveries_ms: number
}

export interface Pruned {
  jobs: number
  drafts: number
  events: number
  deliveries: number
  /** The rows of workspaces whose deletion was interrupted. */
  workspaces: number
  other: number
}

export interface RetentionStore {
  /**
   * Deletes at most `limit` objects of each of the kinds that are old enough; by default of every kind. Of workspaces it
   * deletes rows of one table at a time.
   */
  prune(input: { keep: Retention; limit: number; kinds?: readonly (keyof Pruned)[] }): Promise<Pruned>
  /**
   * Makes the room of deleted and replaced rows usable again where the database does not do so by itself: PostgreSQL
   * without autovacuum. Elsewhere it does nothing. Resolves with the names of the tables.
   */
  reclaim(): Promise<string[]>
}
