/**
 * Requests of an analysis process for connections. The process asks its parent for the connection that a source names,
 * and returns it when the source has been read. Secrets are therefore only in a process that needs them, and the parent
 * counts the queries that run over a connection.
 */
import { type Borrow, SourceError } from '../sources/source.ts'
import type { FromChild, Lent } from './protocol.ts'

/** The parent's side, for one task. */
export interface Lender {
  /** Waits until a query may run over the connection. Never rejects. */
  lend(name: string, signal: AbortSignal): Promise<Lent>
  takeBack(name: string): void
  /** Called when the task has ended; takes back what is still lent. */
  end(): void
}

export interface Borrower {
  borrow: Borrow
  receive(name: string, lent: Lent): void
}

/** The side of the analysis process, for one task. */
export function createBorrower(id: number, send: (message: FromChild) => void): Borrower {
  const waiting = new Map<string, (lent: Lent) => void>()
  return {
    receive(name, lent) {
      waiting.get(name)?.(lent)
      waiting.delete(name)
    },
    async borrow(name, signal) {
      const lent = await answerOrAbort<Lent>(signal, (resolve) => {
        waiting.set(name, resolve)
        send({ type: 'borrow', id, name })
      })
      if ('refused' in lent) throw new SourceError(lent.refused)
      return { connection: lent.connection, giveBack: () => send({ type: 'give_back', id, name }) }
    },
  }
}

/** Waits for what `ask` resolves. Rejects with the signal's reason if it is aborted first. */
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
