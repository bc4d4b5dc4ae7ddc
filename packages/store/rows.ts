/**
 * What the nouns ask of a database. A store method is written once, as a routine: each `yield*` is one statement. SQLite
 * runs a routine to its end at once, inside one transaction of its thread; PostgreSQL awaits each statement
 * (docs/decisions/0010-store-routines.md).
 */
import type { JobCaps } from './caps.ts'
import type { Statement } from './statement.ts'
import type { Hint } from './store.ts'

/** Yields what is to be awaited; SQLite's never yield. */
export type Routine<Result> = Generator<Promise<unknown>, Result, unknown>

/** `values` by the names of the statement's parameters. A missing one is a fault of the program: it throws. */
export interface Reader {
  readonly dialect: 'sqlite' | 'postgres'
  find<Row>(statement: Statement<Row>, values?: object): Routine<Row | undefined>
  all<Row>(statement: Statement<Row>, values?: object): Routine<Row[]>
}

/** One transaction. */
export interface Writer extends Reader {
  /** The time of the transaction, as it is stored. */
  readonly now: string
  /** For `result_url` in events. */
  readonly publicUrl: string | null
  /** For workspaces that have none of their own. */
  readonly caps: JobCaps
  /** Answers how many rows changed. */
  run(statement: Statement, values?: object): Routine<number>
  /** The statement of `Table.insert` for many rows. PostgreSQL writes them in one statement. */
  insertAll(statement: Statement, rows: readonly object[]): Routine<void>
  /** Given to the listeners after the commit. */
  hint(hint: Hint): void
}

/** The result of a routine that awaits nothing. */
export function finish<Result>(routine: Routine<Result>): Result {
  const step = routine.next()
  if (!step.done) throw new Error('A routine awaits something in a database that answers at once.')
  return step.value
}

export async function follow<Result>(routine: Routine<Result>): Promise<Result> {
  let step = routine.next()
  while (!step.done) {
    let answer: unknown
    try {
      answer = await step.value
    } catch (error) {
      step = routine.throw(error)
      continue
    }
    step = routine.next(answer)
  }
  return step.value
}

/** The result of a function of one database, which answers at once (SQLite) or later (PostgreSQL). */
export function* answerOf<Result>(result: Result | Promise<Result>): Routine<Result> {
  return result instanceof Promise ? ((yield result) as Result) : result
}
