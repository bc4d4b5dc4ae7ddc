/** What is kept, and for how long, by the store's clock. */

/** Milliseconds since the end of a job, or since the others were made. */
export interface Retention {
  /** Finished jobs, with their insights and deliveries. */
  jobs_ms: number
  /** Jobs that were never run. */
  drafts_ms: number
  /** Events with their deliveries. An event with a pending delivery stays. */
  events_ms: number
  /** Ended deliveries with their attempts: what was sent and what came back. */
  deliveries_ms: number
}

export interface Pruned {
  jobs: number
  drafts: number
  events: number
  deliveries: number
  other: number
}

export interface RetentionStore {
  /** Deletes at most `limit` objects of each kind whose time is over. */
  prune(input: { keep: Retention; limit: number }): Promise<Pruned>
}
