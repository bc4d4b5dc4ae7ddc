/**
 * Claims and settles of jobs, gathered: what comes in one turn of the event loop, or while others are under way, is one
 * statement (the functions of 0015_job_claims), one transaction, one round trip and one fsync, the settles before the claim,
 * so that it finds the places that they free. One at a time a job so costs one commit: the settle of the last with the
 * claim of the next.
 *
 * A settle is part of it where the job was claimed by this process (what its events say is known then) and
 * nobody in its workspace subscribes to events. All others, and all of a batch that the database refuses, go the long
 * way, each in a transaction of its own.
 */
import { type EventType, eventTypeOf, jobEventData } from '../../event.ts'
import type { Job } from '../../job.ts'
import { uuidv7 } from '../../runtime/ids.ts'
import type { ClaimedJob, Hint, Input, Store } from '../store.ts'
import { claimedBy, completeJob, failJob, type Taken } from './claims.ts'
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
/** Claimed by this process and not yet settled; a settle of one that was forgotten goes the long way. */
const KNOWN_MOST = 5000
/** For so long a workspace in which somebody subscribes is not asked again whether that is still so. */
const SUBSCRIBED_MS = 10_000
/** What `settle_jobs` takes, an array of each. */
const COLUMNS = [
  'assignment_id',
  'attempt',
  'owner',
  'ran_ms',
  'status',
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
type Column = (typeof COLUMNS)[number]

/** The claim waits for the settles, whose answer it is given. Its rows bear them once. */
const WORK = `
  SELECT CASE WHEN coalesce(number, 1) = 1 THEN settled END AS settled, turn, folder, job
  FROM settle_jobs(${COLUMNS.map((_, index) => `$${index + 1}`).join(', ')}) AS settled
  LEFT JOIN LATERAL claim_jobs($15, CASE WHEN settled IS NULL THEN 0 ELSE $16::integer END, $17)
    WITH ORDINALITY AS claimed (turn, folder, job, number) ON true`
type Answer = Taken & { settled: string[] | null }

type Row = Record<Column, string | number | null>

/** What is written of a job that this process claimed. */
function rowOf({ kind, input }: Settling, job: Job, publicUrl: string | null): Row {
  const { assignment_id, attempt, node_id: owner, ran_ms = null } = input
  const start = jobEventData({ ...job, job_status: 'executing' }, publicUrl)
  const row = {
    assignment_id,
    attempt,
    owner,
    ran_ms,
    start_event: uuidv7(),
    start_data: JSON.stringify(start),
    end_event: uuidv7(),
  }
  const ended = (end: Pick<Job, 'job_status' | 'insight_id' | 'skipped' | 'error'>) => {
    const type: EventType | null = eventTypeOf(end)
    return { end_type: type, end_data: JSON.stringify(jobEventData({ ...job, ...end }, publicUrl)) }
  }
  if (kind === 'fail') {
    const { error } = input
    const end = { job_status: 'canceled' as const, insight_id: null, skipped: null, error }
    const none = { insight_id: null, body: null, skipped: null }
    return { ...row, ...none, status: 'canceled', error: JSON.stringify(error), ...ended(end) }
  }
  const { insight_id, findings } = input
  const { skipped, ...insight } = findings
  const end = { job_status: 'completed' as const, insight_id, skipped, error: null }
  const body = JSON.stringify(insight)
  return { ...row, status: 'completed', insight_id, body, skipped, error: null, ...ended(end) }
}

/** The jobs are locked in the order of their ids. */
function workStatement(rows: Row[], claim: Claim | undefined, { caps }: Context): Statement {
  const ordered = rows.toSorted((a, b) => (a.assignment_id! < b.assignment_id! ? -1 : 1))
  const settles = COLUMNS.map((column) => ordered.map((row) => row[column]))
  const { node_id = '', limit = 0 } = claim?.input ?? {}
  return { sql: WORK, values: [...settles, node_id, limit, caps.max_running] }
}

/** The jobs that this process holds, by what their events say of them. */
class Known {
  readonly #jobs = new Map<string, Job>()

  keep(job: Job): void {
    this.#jobs.set(`${job.assignment_id} ${job.attempt}`, job)
    if (this.#jobs.size > KNOWN_MOST) this.#jobs.delete(this.#jobs.keys().next().value!)
  }

  of({ input }: Settling): Job | undefined {
    return this.#jobs.get(`${input.assignment_id} ${input.attempt}`)
  }

  forget({ input }: Settling): void {
    this.#jobs.delete(`${input.assignment_id} ${input.attempt}`)
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
  #busy = false

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

  /** What is asked in this turn of the event loop goes together, and what comes while it is under way. */
  #soon(): void {
    if (this.#busy) return
    this.#busy = true
    setImmediate(() => void this.#flushAll())
  }

  async #flushAll(): Promise<void> {
    while (this.#settles.length + this.#claims.length > 0) await this.#flush()
    this.#busy = false
  }

  async #flush(): Promise<void> {
    const settling = this.#take()
    const claim = this.#claims.shift()
    if (settling.length === 0 && !claim) return
    try {
      this.#connection.tell(await this.#commit(settling, claim))
    } catch (error) {
      if (isAway(error) || settling.length === 0 || (settling.length === 1 && !claim)) {
        for (const { reject } of [...settling, ...(claim ? [claim] : [])]) reject(error)
        return
      }
      // What the database refuses may be one job's fault: the others are not refused for it, and nobody claims later.
      for (const settle of settling) void this.#settleAlone(settle)
      if (claim) this.#claims.unshift(claim)
    }
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
    const job = this.#known.of(input)
    return job !== undefined && (this.#subscribed.get(job.workspace_id) ?? 0) < performance.now()
  }

  /** The long way: reads the job, writes its event and its deliveries. */
  async #settleAlone({ input, resolve, reject }: Settle): Promise<void> {
    const job = this.#known.of(input)
    try {
      const done = await this.#connection.write((tx) =>
        input.kind === 'complete' ? completeJob(tx, input.input) : failJob(tx, input.input),
      )
      this.#known.forget(input)
      if (done && job) this.#subscribed.set(job.workspace_id, performance.now() + SUBSCRIBED_MS)
      resolve(done)
    } catch (error) {
      reject(error)
    }
  }

  /** One transaction. Answers what to tell of after the commit. */
  async #commit(settling: Settle[], claim: Claim | undefined): Promise<Hint[]> {
    const rows = settling.map(({ input }) => rowOf(input, this.#known.of(input)!, this.#context.publicUrl))
    const answers = (await this.#connection.writeAtOnce(
      workStatement(rows, claim, this.#context),
    )) as Answer[]
    const told = this.#answerSettles(settling, answers[0]!.settled!)
    return claim ? [...told, ...this.#answerClaim(claim, answers)] : told
  }

  #answerSettles(settling: Settle[], settled: string[]): Hint[] {
    const done = new Set(settled)
    for (const settle of settling) {
      if (done.has(settle.input.input.assignment_id)) {
        this.#known.forget(settle.input)
        settle.resolve(true)
      } else void this.#settleAlone(settle)
    }
    return [...done].map((assignment_id) => ({ topic: 'job', assignment_id }))
  }

  #answerClaim({ input, resolve, reject }: Claim, rows: Taken[]): Hint[] {
    try {
      const claimed = claimedBy(input.node_id, rows)
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
): Pick<Store, 'claimJobs' | 'completeJob' | 'failJob'> {
  const batch = new JobBatch(connection, context)
  return {
    claimJobs: (input) => batch.claim(input),
    completeJob: (input) => batch.settle({ kind: 'complete', input }),
    failJob: (input) => batch.settle({ kind: 'fail', input }),
  }
}
