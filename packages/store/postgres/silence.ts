/**
 * Connections that have fallen silent: the other side is gone, and nothing said so (a machine that vanished, a network
 * that swallows everything). One that does not answer the first word puts all that were last heard before it in doubt:
 * they are closed when their turn comes, not asked one after another how long they will be silent.
 */
import type { ClientBase, Pool, PoolClient } from 'pg'

/** The first word of a transaction is answered at once, or not at all. */
export const FIRST_WORD_MS = 5000

export interface Silence {
  /** A connection that was heard since the last silence, or a new one. */
  connect(pool: Pool): Promise<PoolClient>
  heard(client: ClientBase): void
  /** Takes note of an error that was a silence. */
  note(error: unknown): void
}

export function isSilence(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

export function createSilence(): Silence {
  const heardAt = new WeakMap<ClientBase, number>()
  let silentAt = Number.NEGATIVE_INFINITY
  return {
    async connect(pool) {
      for (;;) {
        const client = await pool.connect()
        const heard = heardAt.get(client)
        if (heard === undefined || heard > silentAt) return client
        client.release(true)
      }
    },
    heard: (client) => void heardAt.set(client, performance.now()),
    note(error) {
      if (isSilence(error)) silentAt = performance.now()
    },
  }
}
