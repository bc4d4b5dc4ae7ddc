/**
 * Claims and settles of jobs, gathered: what comes in one turn of the event loop, or while others are under way, is one
 * statement (`turn_jobs` of 0024_job_turns), one transaction, one round trip and one fsync, the settles before the claim,
 * so that it finds the places that they free. One at a time a job so costs one commit: the settle of the last with the
 * claim of the next. Where many are settled and the claim need not see it (one workspace has a queue, and no cap), each
 * is a statement of its own beside the other: the next jobs are here before the last are written.
 *
 * A settle is part of it where the job was claimed by this process (what its events say is known then) and
 * nobody in its workspace subscribes to events. All others, and all of a batch that the database refuses, go the long
 * way, each in a transaction of its own.
 */
import { type EventType, eventTypeOf, jobEventData } from '@assay/model/event'
import { uuidv7 } from '@assay/model/ids'
import type { Job } from '@assay/model/job'
import type { ClaimedJob, Hint, Input, Lease, Store } from '../store.ts'
import { numberArray, textArray } from './arrays.ts'
import { claimedBy, completeJob, failJob, startJob, type Taken } from './claims.ts'
import type { Connection, Context, Statement } from './connection.ts'
import { isAway } from './failures.ts'

type Settling = { kind: 'complete'; input: Input<'completeJob'> } | { kind: 'fail'; input: Input<'failJob'> }

interface Waiting<In, Out> {
  input: In
  resolve(value: Out): void
  reject(error: unknown): void
}
type Settle = Waiting<Settling, boolean>
type Claim = Waiting<Input<'claimJobs'>, ClaimedJob[]>

/** More than these in one transaction would hold their locks for too long. */
const BATCH_MOST = 500
/** So many settles are worth a commit of their own, beside that of the claim. */
const APART_FROM = 8
/** Claimed by this process and not yet settled; a settle of one that was forgotten goes the long way. */
const KNOWN_MOST = 5000
/** For so long a workspace in which somebody subscribes is not asked again whether that is still so. */
const SUBSCRIBED_MS = 10_000
/** What `turn_jobs` takes, an array of each. */
const NUMBERS = ['attempt', 'ran_ms'] as const
const TEXTS = [
  'assignment_id',
  'owner',
  'claimed_at',
  'insight_id',
  'body',
  'skipped',
  'error',
  'start_event',
  'start_data',
  'end_event',
  'end_type',
  'end_data',
] as const
type Row = Record<(typeof NUMBERS)[number], number | null> & Record<(typeof TEXTS)[number], string | null>

const PARAMETERS = NUMBERS.length + TEXTS.length + 3
const WORK = `SELECT * FROM turn_jobs(${Array.from({ length: PARAMETERS }, (_, index) => `$${index + 1}`).join(', ')})`
/** The first is of what was not settled, the others of jobs that were taken. */
type Answer = Taken & { refused: string[] | null }

interface Held {
  job: Job
  /** Its start is written. */
  started: boolean
}

/** What is written of a job that this process claimed. */
function rowOf({ kind, input }: Settling, { job, started }: Held, publicUrl: string | null): Row {
  const { assignment_id, attempt, node_id: owner, ran_ms = null } = input
  const row = {
    assignment_id,
    attempt,
    owner,
    claimed_at: started ? null : job.moves.at(-1)!.at,
    ran_ms,
    start_event: started ? null : uuidv7(),
    start_data: started ? null : JSON.stringify(jobEventData({ ...job, job_status: 'executing' }, publicUrl)),
    end_event: uuidv7(),
  }
  const ended = (end: Pick<Job, 'job_status' | 'insight_id' | 'skipped' | 'error'>) => {
    const type: EventType | null = eventTypeOf(end)
    return { end_type: type, end_data: JSON.stringify(jobEventData({ ...job, ...end }, publicUrl)) }
  }
  if (kind === 'fail') {
    const { error } = input
    const end = { job_status: 'canceled' as const, insight_id: null, skipped: null, error }
    return {
      ...row,
      insight_id: null,
      body: null,
      skipped: null,
      error: JSON.stringify(error),
      ...ended(end),
    }
  }
  const { insight_id, findings } = input
  const { skipped, ...insight } = findings
  const end = { job_status: 'completed' as const, insight_id, skipped, error: null }
  return { ...row, insight_id, body: JSON.stringify(insight), skipped, error: null, ...ended(end) }
}

/** The jobs are locked in the order of their ids. */
function workStatement(rows: Row[], claim: Claim | undefined, { caps }: Context): Statement {
  const ordered = rows.toSorted((a, b) => (a.assignment_id! < b.assignment_id! ? -1 : 1))
  const settles = [
    ...NUMBERS.map((column) => numberArray(ordered.map((row) => row[column]))),
    ...TEXTS.map((column) => textArray(ordered.map((row) => row[column]))),
  ]
  const { node_id = '', limit = 0 } = claim?.input ?? {}
  return { sql: WORK, values: [...settles, node_id, limit, caps.max_running] }
}

/** The jobs that this process holds, by what their events say of them. */
class Known {
  readonly #held = new Map<string, Held>()

  keep(job: Job): void {
    this.#held.set(`${job.assignment_id} ${job.attempt}`, { job, started: false })
    if (this.#held.size > KNOWN_MOST) this.#held.delete(this.#held.keys().next().value!)
  }

  of({ assignment_id, attempt }: Lease): Held | undefined {
    return this.#held.get(`${assignment_id} ${attempt}`)
  }

  forget({ assignment_id, attempt }: Lease): void {
    this.#held.delete(`${assignment_id} ${attempt}`)
  }
}

class JobBatch {
  readonly #connection: Connection
  readonly #context: Context
  readonly #known = new Known()
  /** Workspaces in which somebody subscribes, and until when that is taken for granted. */
  readonly #subscribed = new Map<string, number>()
  #settles: Settle[] = []
  #claims: Claim[] = []
  /** A turn of the event loop is waited for. */
  #gathering = false
  /** Under way. */
  #settling = false
  #claiming = false
  /** By the last claim: one workspace had a queue, and no cap. */
  #alone = false

  constructor(connection: Connection, context: Context) {
    this.#connection = connection
    this.#context = context
  }

  settle(input: Settling): Promise<boolean> {
    return new Promise((resolve, reject) => {
      this.#settles.push({ input, resolve, reject })
      this.#soon()
    })
  }

  claim(input: Input<'claimJobs'>): Promise<ClaimedJob[]> {
    return new Promise((resolve, reject) => {
      this.#claims.push({ input, resolve, reject })
      this.#soon()
    })
  }

  /** Its start is a transaction of its own; the settle after it is told. */
  async start(lease: Lease): Promise<boolean> {
    const done = await this.#connection.write((tx) => startJob(tx, lease))
    const held = this.#known.of(lease)
    if (done && held) held.started = true
    return done
  }

  /** What is asked in this turn of the event loop goes together, and what comes while it is under way. */
  #soon(): void {
    if (this.#gathering) return
    this.#gathering = true
    setImmediate(() => {
      this.#gathering = false
      this.#go()
    })
  }

  #go(): void {
    const many = this.#settles.length >= APART_FROM
    const apart = this.#alone && (this.#settling || this.#claiming || (many && this.#claims.length > 0))
    if (!apart) {
      if (!this.#settling && !this.#claiming) void this.#flush(this.#take(), this.#claims.shift())
      return
    }
    if (!this.#claiming && this.#claims.length > 0) void this.#flush([], this.#claims.shift())
    if (!this.#settling && many) void this.#flush(this.#take(), undefined)
  }

  async #flush(settling: Settle[], claim: Claim | undefined): Promise<void> {
    if (settling.length === 0 && !claim) return
    this.#settling ||= settling.length > 0
    this.#claiming ||= claim !== undefined
    try {
      this.#connection.tell(await this.#commit(settling, claim))
    } catch (error) {
      this.#refused(error, settling, claim)
    }
    if (settling.length > 0) this.#settling = false
    if (claim) this.#claiming = false
    this.#go()
  }

  #refused(error: unknown, settling: Settle[], claim: Claim | undefined): void {
    if (isAway(error) || settling.length === 0 || (settling.length === 1 && !claim)) {
      for (const { reject } of [...settling, ...(claim ? [claim] : [])]) reject(error)
      return
    }
    // What the database refuses may be one job's fault: the others are not refused for it, and nobody claims later.
    for (const settle of settling) void this.#settleAlone(settle)
    if (claim) this.#claims.unshift(claim)
  }

  /** Several of one job would meet each other in one statement: the second waits for the next. */
  #take(): Settle[] {
    const settling = new Map<string, Settle>()
    const rest: Settle[] = []
    for (const settle of this.#settles) {
      const { assignment_id } = settle.input.input
      if (!this.#isShort(settle)) void this.#settleAlone(settle)
      else if (settling.size < BATCH_MOST && !settling.has(assignment_id)) settling.set(assignment_id, settle)
      else rest.push(settle)
    }
    this.#settles = rest
    return [...settling.values()]
  }

  #isShort({ input }: Settle): boolean {
    const held = this.#known.of(input.input)
    if (held === undefined || (!held.started && input.input.ran_ms === undefined)) return false
    return (this.#subscribed.get(held.job.workspace_id) ?? 0) < performance.now()
  }

  /** The long way: reads the job, writes its event and its deliveries. */
  async #settleAlone({ input, resolve, reject }: Settle): Promise<void> {
    const held = this.#known.of(input.input)
    try {
      const done = await this.#connection.write((tx) =>
        input.kind === 'complete' ? completeJob(tx, input.input) : failJob(tx, input.input),
      )
      this.#known.forget(input.input)
      if (done && held) this.#subscribed.set(held.job.workspace_id, performance.now() + SUBSCRIBED_MS)
      resolve(done)
    } catch (error) {
      reject(error)
    }
  }

  /** One transaction. Answers what to tell of after the commit. */
  async #commit(settling: Settle[], claim: Claim | undefined): Promise<Hint[]> {
    const rows = settling.map(({ input }) =>
      rowOf(input, this.#known.of(input.input)!, this.#context.publicUrl),
    )
    const [first, ...taken] = (await this.#connection.writeAtOnce(
      workStatement(rows, claim, this.#context),
    )) as Answer[]
    const told = this.#answerSettles(settling, first!.refused!)
    return claim ? [...told, ...this.#answerClaim(claim, taken)] : told
  }

  #answerSettles(settling: Settle[], refused: string[]): Hint[] {
    const told: Hint[] = []
    for (const settle of settling) {
      const { assignment_id } = settle.input.input
      if (refused.includes(assignment_id)) void this.#settleAlone(settle)
      else {
        this.#known.forget(settle.input.input)
        settle.resolve(true)
        told.push({ topic: 'job', assignment_id })
      }
    }
    return told
  }

  #answerClaim({ input, resolve, reject }: Claim, rows: Taken[]): Hint[] {
    try {
      const claimed = claimedBy(input.node_id, rows)
      if (claimed.length > 0) this.#alone = rows[0]!.turn === 0
      for (const { job } of claimed) this.#known.keep(job)
      resolve(claimed)
      return claimed.map(({ job }) => ({ topic: 'job', assignment_id: job.assignment_id }))
    } catch (error) {
      reject(error)
      return []
    }
  }
}

export function createJobBatch(
  connection: Connection,
  context: Context,
): Pick<Store, 'claimJobs' | 'startJob' | 'completeJob' | 'failJob'> {
  const batch = new JobBatch(connection, context)
  return {
    claimJobs: (input) => batch.claim(input),
    startJob: (lease) => batch.start(lease),
    completeJob: (input) => batch.settle({ kind: 'complete', input }),
    failJob: (input) => batch.settle({ kind: 'fail', input }),
  }
}
