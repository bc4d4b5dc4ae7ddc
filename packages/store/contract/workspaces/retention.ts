/** What is kept, and for how long: by the store's clock, whatever the clock of the node says. */

/** Milliseconds from its end (jobs) or its making (the others) until now. */
export interface Retention {
  /** Finished jobs, with their insights and deliveries. */
  jobs_ms: number
  /** Jobs that were never run. */
  drafts_ms: number
  /** Events; their deliveries go with them. What a webhook still waits for stays. */
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
  /** Deletes at most `limit` of each kind that has been kept long enough. */
  prune(input: { keep: Retention; limit: number }): Promise<Pruned>
}
