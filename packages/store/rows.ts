/**
 * What the nouns ask of a database. A store method is written once, as a routine: each `yield*` is one statement. SQLite
 * runs a routine to its end at once, inside one transaction of its thread; PostgreSQL awaits each statement
 * (docs/decisions/0010-store-routines.md).
 */
import type { EventType } from '@assay/model/event'
import type { Job } from '@assay/model/job'
import type { CLOSED } from '@assay/model/webhook'
import type { JobCaps } from './caps.ts'
import type { NewJob } from './contract/jobs.ts'
import type { Statement } from './statement.ts'
import type { Hint } from './store.ts'
import type { EventRow } from './tables/events.ts'

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

export interface NewEvent {
  workspace_id: string
  type: EventType
  at: string
  data: Record<string, unknown>
  /** Null for events of no job. One without an assignment is a schedule's, which notifies as its jobs would. */
  job: { assignment_id: string | null; presence_name: string | null; skipped: string | null } | null
}

/** What each database does with SQL of its own: postgres/native.ts, sqlite/native.ts. */
export interface Native {
  createJob(input: NewJob): Routine<Job>
  queueJob(key: { workspace_id: string; assignment_id: string }): Routine<Job>
  cancelJob(key: { workspace_id: string; assignment_id: string }): Routine<Job>
  /** Jobs that have ended, with all that hangs on them but their events. */
  removeJobs(assignment_ids: string[]): Routine<void>
  /** Jobs that were never run. */
  removeDrafts(drafts: { workspace_id: string; assignment_id: string }[]): Routine<void>
  /** What waits is canceled, claimed or not, and the attempts go with the bodies that they hold. */
  removeDeliveriesOfJobs(assignment_ids: string[]): Routine<void>
  /** The event, and a delivery to each webhook that subscribes to it. */
  writeEvent(event: NewEvent): Routine<void>
  /** Plans out of the indexes until the transaction ends, however old PostgreSQL's statistics are. */
  useIndexes(): Routine<void>
  /** When a webhook may be claimed, after its deliveries or its settings changed. */
  refreshWebhook(webhook_id: string, change?: Partial<typeof CLOSED>): Routine<void>
  /** At most `most` of the webhook's deliveries that wait for a later time are due now. Answers how many. */
  makeDue(webhook_id: string, most: number): Routine<number>
  /** A delivery of each of the events to a webhook that is locked, due now. */
  addDeliveries(webhook_id: string, events: readonly EventRow[]): Routine<void>
  /** At most `most` of the webhook's deliveries with their attempts, claimed or not. Answers how many. */
  deleteDeliveries(webhook_id: string, most: number): Routine<number>
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

/** The result of a function of one database, which answers at once (SQLite) or later (PostgreSQL). */
export function* answerOf<Result>(result: Result | Promise<Result>): Routine<Result> {
  return result instanceof Promise ? ((yield result) as Result) : result
}
