/** Token buckets that all processes share: what is limited wherever it is asked for, such as failed logins. */
export interface Bucket {
  key: string
  /** What a full one holds. */
  burst: number
  per_second: number
}

export interface Allowance {
  allowed: boolean
  limit: number
  remaining: number
  /** Seconds until one more is allowed (when refused), else until the bucket is full. */
  reset: number
}

export interface AllowanceStore {
  /** One of each, in this order, as far as the first that is empty. Answers for that one, else for the last. */
  takeAllowances(buckets: Bucket[]): Promise<Allowance>
  /** Puts back one of each: it did not count after all. */
  returnAllowances(buckets: Bucket[]): Promise<void>
}
