/** Token buckets that outlive the process. */
import { allowanceOf, fullAt, type Level, levelAt } from '../allowance.ts'
import type { Allowance, Bucket } from '../contract/allowances.ts'
import type { Connection } from './connection.ts'

function held(connection: Connection, bucket: Bucket): number {
  const level = connection.one<Level>('SELECT tokens, at FROM allowances WHERE key = ?', bucket.key)
  return levelAt(bucket, level, connection.now())
}

function keep(connection: Connection, bucket: Bucket, tokens: number): void {
  const now = connection.now()
  connection.run(
    `INSERT INTO allowances (key, tokens, at, full_at) VALUES (?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET tokens = excluded.tokens, at = excluded.at, full_at = excluded.full_at`,
    bucket.key,
    tokens,
    now,
    fullAt(bucket, tokens, now),
  )
}

export function takeAllowances(connection: Connection, buckets: Bucket[]): Allowance {
  let answer!: Allowance
  for (const bucket of buckets) {
    const before = held(connection, bucket)
    answer = allowanceOf(bucket, before)
    if (!answer.allowed) break
    keep(connection, bucket, before - 1)
  }
  return answer
}

export function returnAllowances(connection: Connection, buckets: Bucket[]): void {
  for (const bucket of buckets) keep(connection, bucket, Math.min(bucket.burst, held(connection, bucket) + 1))
}
