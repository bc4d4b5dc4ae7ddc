/** Token buckets that outlive the process and are shared by all nodes. */

import type { Allowance, Bucket } from '../../contract/workspaces/allowances.ts'
import type { Routine, Writer } from '../../rows.ts'
import { ALLOWANCES, type AllowanceRow } from '../../tables/workspaces/allowances.ts'
import { allowanceOf, fullAt, levelAt } from './allowance.ts'

// Inserts a full bucket if there is none, so that the row can be locked.
const HELD = ALLOWANCES.insert<Pick<AllowanceRow, 'tokens' | 'at'>>(
  ALLOWANCES.columns,
  'ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING tokens, at',
)
// On PostgreSQL a transaction with an earlier time may write later. The time between them does not count twice.
const KEEP = ALLOWANCES.sql({
  sqlite: 'UPDATE allowances SET tokens = :tokens, at = :at, full_at = :full_at WHERE key = :key',
  postgres:
    'UPDATE allowances SET tokens = :tokens, at = greatest(at, :at), full_at = :full_at WHERE key = :key',
})

function* held(tx: Writer, { key, burst, ...bucket }: Bucket): Routine<number> {
  const level = yield* tx.find(HELD, { key, tokens: burst, at: tx.now, full_at: tx.now })
  return levelAt({ key, burst, ...bucket }, level, tx.now)
}

function* keep(tx: Writer, bucket: Bucket, tokens: number): Routine<void> {
  const full_at = fullAt(bucket, tokens, tx.now)
  yield* tx.run(KEEP, { key: bucket.key, tokens, at: tx.now, full_at })
}

export function* takeAllowances(tx: Writer, buckets: Bucket[]): Routine<Allowance> {
  let answer!: Allowance
  for (const bucket of buckets) {
    const before = yield* held(tx, bucket)
    answer = allowanceOf(bucket, before)
    if (!answer.allowed) break
    yield* keep(tx, bucket, before - 1)
  }
  return answer
}

export function* returnAllowances(tx: Writer, buckets: Bucket[]): Routine<void> {
  for (const bucket of buckets) yield* keep(tx, bucket, Math.min(bucket.burst, (yield* held(tx, bucket)) + 1))
}
