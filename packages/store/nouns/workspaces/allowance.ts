/** The level of a token bucket over time. Pure; both stores use it. */
import { iso } from '@assay/model/clock'
import type { Allowance, Bucket } from '../../contract/workspaces/allowances.ts'

/** The stored form of a level. */
export interface Level {
  tokens: number
  at: string
}

/**
 * Returns the tokens that the bucket holds now. A missing row means a full bucket. A clock that was set back takes
 * none away.
 */
export function levelAt(bucket: Bucket, level: Level | undefined, now: string): number {
  if (!level) return bucket.burst
  const seconds = Math.max(0, Date.parse(now) - Date.parse(level.at)) / 1000
  return Math.min(bucket.burst, level.tokens + seconds * bucket.per_second)
}

export function allowanceOf({ burst, per_second }: Bucket, held: number): Allowance {
  const allowed = held >= 1
  const left = allowed ? held - 1 : held
  const wait = ((allowed ? burst : 1) - left) / per_second
  return { allowed, limit: burst, remaining: Math.floor(left), reset: Math.max(1, Math.ceil(wait)) }
}

/** Returns the time at which the bucket is full again. Its row can be deleted then. */
export function fullAt({ burst, per_second }: Bucket, tokens: number, now: string): string {
  return iso(Date.parse(now) + Math.ceil(((burst - tokens) / per_second) * 1000))
}
