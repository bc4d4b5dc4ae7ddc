/**
 * Requests of an analysis process for connections. The process asks its parent for the connection that a source names,
 * and returns it when the source has been read. Secrets are therefore only in a process that needs them, and the parent
 * counts the queries that run over a connection.
 */
import type { PartitionKeeper } from '../partitions/keeper.ts'
import { type Acquire, SourceError } from '../sources/source.ts'
import type { Acquired, FromChild } from './protocol.ts'

/** The parent's side, for one task. */
export interface ConnectionAccess {
  /** Waits until a query may run over the connection. Never rejects. */
  acquire(name: string, signal: AbortSignal): Promise<Acquired>
  release(name: string): void
  /** Keeps the days of metrics over the connections. Without it each run reads all rows. */
  keeper?: PartitionKeeper
  /** Called when the task has ended. Releases what is still acquired. */
  end(): void
}

/** The analysis process's side, for one task. */
export interface ConnectionRequests {
  acquire: Acquire
  receive(name: string, acquired: Acquired): void
}

export function createConnectionRequests(id: number, send: (message: FromChild) => void): ConnectionRequests {
  const waiting = new Map<string, (acquired: Acquired) => void>()
  return {
    receive(name, acquired) {
      waiting.get(name)?.(acquired)
      waiting.delete(name)
    },
    async acquire(name, signal) {
      const acquired = await answerOrAbort<Acquired>(signal, (resolve) => {
        waiting.set(name, resolve)
        send({ type: 'acquire', id, name })
      })
      if ('refused' in acquired) throw new SourceError(acquired.refused)
      return { connection: acquired.connection, release: () => send({ type: 'release', id, name }) }
    },
  }
}

/** Waits for what `ask` resolves with. Rejects with the signal's reason if it is aborted first. */
export function answerOrAbort<T>(
  signal: AbortSignal,
  ask: (resolve: (value: T) => void) => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error)
    signal.throwIfAborted()
    signal.addEventListener('abort', abort, { once: true })
    ask((value) => {
      signal.removeEventListener('abort', abort)
      resolve(value)
    })
  })
}
