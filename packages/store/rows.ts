/**
 * The interface of a database for the nouns. A store method is written once, as a routine: each `yield*` is one
 * statement. SQLite runs a routine to its end at once, inside one transaction of its thread; PostgreSQL awaits each
 * statement (docs/decisions/0010-store-routines.md).
 */
import type { EventType } from '@assay/model/event'
import type { JobStatus } from '@assay/model/job'
import type { Audience } from '@assay/model/webhook'
import type { JobCaps } from './caps.ts'
import type { Statement } from './statement.ts'
import type { ClaimedDelivery, ClaimedJob, Hint, Input } from './store.ts'

/** A routine, such as a generator. It yields promises to await; on SQLite it yields none. */
export interface Routine<Result> {
  next(answer?: unknown): IteratorResult<Promise<unknown>, Result>
  throw(error: unknown): IteratorResult<Promise<unknown>, Result>
  [Symbol.iterator](): Routine<Result>
}

/**
 * A routine of one step, whose result is there at its end. It is its own last result, so it takes a third of the memory
 * of a generator.
 */
export class Step<Result> implements Routine<Result> {
  readonly done = true
  value!: Result
  readonly #work: () => Result

  constructor(work: () => Result) {
    this.#work = work
  }

  next(): this {
    this.value = this.#work()
    return this
  }

  throw(error: unknown): never {
    throw error
  }

  [Symbol.iterator](): this {
    return this
  }
}

/**
 * Reads rows. `values` are by the names of the statement's parameters. A missing one is a fault of the program and
 * throws.
 */
export interface Reader {
  readonly dialect: 'sqlite' | 'postgres'
  find<Row>(statement: Statement<Row>, values?: object): Routine<Row | undefined>
  all<Row>(statement: Statement<Row>, values?: object): Routine<Row[]>
}

/** Writes within one transaction. */
export interface Writer extends Reader {
  /** The time of the transaction in its stored form. */
  readonly now: string
  /** The public address for `result_url` in events; null if there is none. */
  readonly publicUrl: string | null
  /** The caps of workspaces without caps of their own. */
  readonly caps: JobCaps
  /** Runs the statement. Returns the number of changed rows. */
  run(statement: Statement, values?: object): Routine<number>
  /**
   * Writes the rows by `Table.insert` or `Table.updateAll`. PostgreSQL gets all of them in one statement, whose
   * answer is not awaited: a failure shows at the next statement or at the commit.
   */
  writeAll(statement: Statement, rows: readonly object[]): Routine<void>
  /** Gives the hint to the listeners after the commit. */
  hint(hint: Hint): void
}

export interface NewEvent {
  workspace_id: string
  type: EventType
  at: string
  data: Record<string, unknown>
  /**
   * The job of the event; null for an event of no job. A job without an assignment stands for a schedule, which
   * notifies as its jobs would.
   */
  job: (Audience & { assignment_id: string | null }) | null
  /**
   * The ids of the webhooks that the transaction has locked. No other webhook is told. Without it all subscribed
   * webhooks are told.
   */
  among?: readonly string[]
}

/** A move that changes counts. `from` is null for a job that is made, `to` for one that is deleted. */
export interface CountedMove {
  workspace_id: string
  from: JobStatus | null
  to: JobStatus | null
}

export interface ClaimedJobs {
  jobs: ClaimedJob[]
  /** True if a cap of a workspace may have left some out. */
  isCapped: boolean
}

/** The work that each database does by SQL of its own: postgres/native.ts, sqlite/native.ts. */
export interface Native {
  /** Claims jobs. Call it after `requireNode`. */
  claimJobs(input: Input<'claimJobs'>): Routine<ClaimedJobs>
  /** Claims deliveries. Call it after `requireNode`. */
  claimDeliveries(input: Input<'claimDeliveries'>): Routine<ClaimedDelivery[]>
  /** Updates the counts of unfinished jobs (`job_counts`). Call it after the rows of the jobs were written. */
  countMoves(moves: readonly CountedMove[]): Routine<void>
  /** Writes the events, and a delivery of each to every webhook that subscribes to it. */
  writeEvents(events: readonly NewEvent[]): Routine<void>
  /** Makes PostgreSQL plan from indexes until the transaction ends, however old its statistics are. */
  useIndexes(): Routine<void>
}

export interface Transaction extends Writer {
  readonly native: Native
}

/** Returns the result of a routine that awaits nothing. */
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

/** Advances a routine. Its answer may fail unheard, because another routine may throw before anybody awaits it. */
function next<Result>(routine: Routine<Result>, answer?: unknown): IteratorResult<Promise<unknown>, Result> {
  const step = routine.next(answer)
  if (!step.done) step.value.catch(() => undefined)
  return step
}

/** Runs the second routine after the first has ended. Returns its result. */
export function* inTurn<Result>(first: Routine<unknown>, second: Routine<Result>): Routine<Result> {
  yield* first
  return yield* second
}

/**
 * Runs routines step by step in turn. PostgreSQL gets the next statement of each before it answers, in this order. So
 * the statement of the first is written before the next statement of the second.
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
