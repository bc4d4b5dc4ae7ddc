/**
 * What the nouns ask of a database. A store method is written once, as a routine: each `yield*` is one statement. SQLite
 * runs a routine to its end at once, inside one transaction of its thread; PostgreSQL awaits each statement
 * (docs/decisions/0010-store-routines.md).
 */
import type { EventType } from '@assay/model/event'
import type { JobStatus } from '@assay/model/job'
import type { Audience } from '@assay/model/webhook'
import type { JobCaps } from './caps.ts'
import type { Statement } from './statement.ts'
import type { ClaimedDelivery, ClaimedJob, Hint, Input } from './store.ts'

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
  /**
   * Writes the rows by `Table.insert` or `Table.updateAll`. PostgreSQL is given all in one statement, whose answer is not
   * waited for: what fails shows at the next statement or at the commit.
   */
  writeAll(statement: Statement, rows: readonly object[]): Routine<void>
  /** Given to the listeners after the commit. */
  hint(hint: Hint): void
}

export interface NewEvent {
  workspace_id: string
  type: EventType
  at: string
  data: Record<string, unknown>
  /** Null for events of no job. One without an assignment is a schedule's, which notifies as its jobs would. */
  job: (Audience & { assignment_id: string | null }) | null
  /** The ids of webhooks that the transaction has locked: no other is told. Without them all that subscribe are. */
  among?: readonly string[]
}

/** `from` is null for a job that is made, `to` for one that is deleted. */
export interface CountedMove {
  workspace_id: string
  from: JobStatus | null
  to: JobStatus | null
}

export interface ClaimedJobs {
  jobs: ClaimedJob[]
  /** A cap of a workspace may have left some out. */
  isCapped: boolean
}

/** What each database does with SQL of its own: postgres/native.ts, sqlite/native.ts. */
export interface Native {
  /** After `requireNode`. */
  claimJobs(input: Input<'claimJobs'>): Routine<ClaimedJobs>
  /** After `requireNode`. */
  claimDeliveries(input: Input<'claimDeliveries'>): Routine<ClaimedDelivery[]>
  /** Keeps the counts of unfinished jobs (`job_counts`), after the rows of the jobs were written. */
  countMoves(moves: readonly CountedMove[]): Routine<void>
  /** The events, and a delivery of each to every webhook that subscribes to it. */
  writeEvents(events: readonly NewEvent[]): Routine<void>
  /** Plans out of the indexes until the transaction ends, however old PostgreSQL's statistics are. */
  useIndexes(): Routine<void>
}

export interface Transaction extends Writer {
  readonly native: Native
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

/** Another routine may throw before anybody waits for what this one has asked: its answer may fail unheard. */
function next<Result>(routine: Routine<Result>, answer?: unknown): IteratorResult<Promise<unknown>, Result> {
  const step = routine.next(answer)
  if (!step.done) step.value.catch(() => undefined)
  return step
}

/** The second once the first has ended. */
export function* inTurn<Result>(first: Routine<unknown>, second: Routine<Result>): Routine<Result> {
  yield* first
  return yield* second
}

/**
 * Routines step by step, each in its turn: PostgreSQL is sent the next statement of each before it answers, in this order.
 * So what the first has written is written before the second's next statement.
 */
export function* together<Results extends unknown[]>(
  ...routines: { [Nth in keyof Results]: Routine<Results[Nth]> }
): Routine<Results> {
  const steps = routines.map((routine) => next(routine))
  while (steps.some(({ done }) => !done)) {
    const answers = (yield Promise.all(
      steps.map(({ done, value }) => Promise.resolve(done ? undefined : value)),
    )) as unknown[]
    for (const [nth, routine] of routines.entries())
      if (!steps[nth]!.done) steps[nth] = next(routine, answers[nth])
  }
  return steps.map(({ value }) => value) as Results
}
