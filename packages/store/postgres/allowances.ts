/** Token buckets that all nodes share. */
import { allowanceOf, fullAt, type Level, levelAt } from '../allowance.ts'
import type { Allowance, Bucket } from '../contract/allowances.ts'
import type { Transaction } from './connection.ts'

/** The row is made where there is none, and locked. */
async function held(tx: Transaction, bucket: Bucket): Promise<number> {
  const level = await tx.one<Level>(
    `INSERT INTO allowances (key, tokens, at, full_at) VALUES ($1, $2, $3, $3)
     ON CONFLICT (key) DO UPDATE SET key = excluded.key RETURNING tokens, at`,
    bucket.key,
    bucket.burst,
    tx.now,
  )
  return levelAt(bucket, level, tx.now)
}

async function keep(tx: Transaction, bucket: Bucket, tokens: number): Promise<void> {
  await tx.run(
    'UPDATE allowances SET tokens = $2, at = greatest(at, $3), full_at = $4 WHERE key = $1',
    bucket.key,
    tokens,
    tx.now,
    fullAt(bucket, tokens, tx.now),
  )
}

export async function takeAllowances(tx: Transaction, buckets: Bucket[]): Promise<Allowance> {
  let answer!: Allowance
  for (const bucket of buckets) {
    const before = await held(tx, bucket)
    answer = allowanceOf(bucket, before)
    if (!answer.allowed) break
    await keep(tx, bucket, before - 1)
  }
  return answer
}

export async function returnAllowances(tx: Transaction, buckets: Bucket[]): Promise<void> {
  for (const bucket of buckets) await keep(tx, bucket, Math.min(bucket.burst, (await held(tx, bucket)) + 1))
}
