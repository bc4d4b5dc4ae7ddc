/** What the store promises of idempotency keys. */

export interface IdempotencyKey {
  workspace_id: string
  method: string
  path: string
  key: string
}

export type IdempotencyStart =
  /** First sight: go on, and use `id` for what is created, so that a repeat after a crash makes no second one. */
  | { state: 'new'; id: string }
  | { state: 'replay'; answer: string }
  | { state: 'mismatch' }
  | { state: 'in_progress'; retry_after: number }

export interface IdempotencyStore {
  /** `id` is kept with the key at first sight. A key is kept 24 hours; one left open by a dead process is taken over. */
  startIdempotent(
    input: IdempotencyKey & { body_hash: string; id: string; node_id: string },
  ): Promise<IdempotencyStart>
  /** Keeps the (sealed) answer; null (5xx, 429): a repeat begins again, under the same id where the body is the same. */
  endIdempotent(input: IdempotencyKey & { answer: string | null }): Promise<void>
}
