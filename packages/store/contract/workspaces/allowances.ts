/** Token buckets that all processes share, such as the one of failed logins. */
export interface Bucket {
  key: string
  /** The size of a full bucket. */
  burst: number
  per_second: number
}

export interface Allowance {
  allowed: boolean
  limit: number
  remaining: number
  /** Seconds until one more is allowed if refused, else until the bucket is full. */
  reset: number
}

export interface AllowanceStore {
  /**
   * Takes one from each bucket in this order and stops at an empty one. Returns the allowance of the bucket at which
   * it stopped, else of the last.
   */
  takeAllowances(buckets: Bucket[]): Promise<Allowance>
  /** Puts one back into each bucket. */
  returnAllowances(buckets: Bucket[]): Promise<void>
}
