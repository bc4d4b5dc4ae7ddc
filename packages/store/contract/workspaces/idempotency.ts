/** Idempotency keys in the store. */

export interface IdempotencyKey {
  workspace_id: string
  method: string
  path: string
  key: string
}

export type IdempotencyStart =
  /** The key is new. Create under `id`, so that a repeat after a crash makes no second object. */
  | { state: 'new'; id: string }
  | { state: 'replay'; answer: string }
  | { state: 'mismatch' }
  | { state: 'in_progress'; retry_after: number }

export interface IdempotencyStore {
  /** Looks the key up and keeps a new one with `id`, for 24 hours. Takes over a key that a dead process left open. */
  startIdempotent(
    input: IdempotencyKey & { body_hash: string; id: string; node_id: string },
  ): Promise<IdempotencyStart>
  /**
   * Keeps the sealed answer. Null (after a 5xx or 429) lets a repeat start again, under the same id if the body is
   * the same.
   */
  endIdempotent(input: IdempotencyKey & { answer: string | null }): Promise<void>
}
