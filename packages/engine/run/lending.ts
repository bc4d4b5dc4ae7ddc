/**
 * How a child comes by a connection: it asks its parent for the one that a source names, and gives it back when the
 * source has been read. So a secret is in the child that needs it only, for no longer than the parent allows, and the
 * parent counts the queries that run over a connection.
 */
import type { OpenConnection } from '@assay/model/connection'
import { SourceError } from '../sources/source.ts'
import type { FromChild, Lent } from './protocol.ts'

export interface Loan {
  connection: OpenConnection
  giveBack(): void
}

/** Rejects with SourceError where there is none of this name, or it is not lent. */
export type Borrow = (name: string, signal: AbortSignal) => Promise<Loan>

/** The parent's side, for one task. */
export interface Lender {
  /** Waits until a query may run over it. Never rejects. */
  lend(name: string, signal: AbortSignal): Promise<Lent>
  takeBack(name: string): void
  /** The task has ended, however: what it still has is free again. */
  end(): void
}

export interface Borrower {
  borrow: Borrow
  receive(name: string, lent: Lent): void
}

/** The child's side, for one task. */
export function createBorrower(id: number, send: (message: FromChild) => void): Borrower {
  const waiting = new Map<string, (lent: Lent) => void>()
  return {
    receive(name, lent) {
      waiting.get(name)?.(lent)
      waiting.delete(name)
    },
    async borrow(name, signal) {
      const lent = await new Promise<Lent>((resolve, reject) => {
        const abort = (): void => reject(signal.reason as Error)
        signal.throwIfAborted()
        signal.addEventListener('abort', abort, { once: true })
        waiting.set(name, (given) => {
          signal.removeEventListener('abort', abort)
          resolve(given)
        })
        send({ type: 'borrow', id, name })
      })
      if ('refused' in lent) throw new SourceError(lent.refused)
      return { connection: lent.connection, giveBack: () => send({ type: 'give_back', id, name }) }
    },
  }
}
