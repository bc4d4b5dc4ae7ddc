/**
 * Claims and settles of jobs, gathered: what comes in one turn of the event loop, or while others are under way, is one
 * transaction, one round trip and one fsync, the settles before the claims, so that a claim finds the places that they
 * free. One at a time a job so costs one commit: the settle of the last with the claim of the next.
 *
 * A settle is one fenced statement where the job was claimed by this process (what its events say is known then) and
 * nobody in its workspace subscribes to events. All others, and all of a batch that the database refuses, go the long
 * way, each in a transaction of its own.
 */
import { type EventType, eventTypeOf, jobEventData } from '../../event.ts'
import type { Job } from '../../job.ts'
import { uuidv7 } from '../../runtime/ids.ts'
import type { ClaimedJob, Hint, Input, Store } from '../store.ts'
import { type Claimed, claimedBy, claimStatement, completeJob, failJob } from './claims.ts'
import type { Connection, Context, Statement } from './connection.ts'
import { isAway } from './failures.ts'
import { toMove } from './job-moves.ts'

type Settling = { kind: 'complete'; input: Input<'completeJob'> } | { kind: 'fail'; input: Input<'failJob'> }

interface Waiting<In, Out> {
  input: In
  resolve(value: Out): void
  reject(error: unknown): void
}
type Settle = Waiting<Settling, boolean>
type Claim = Waiting<Input<'claimJobs'>, Claimed>

/** More than these in one transaction would hold their locks for too long. */
const BATCH_MOST = 500
/** Claimed by this process and not yet settled; a settle of one that was forgotten goes the long way. */
const KNOWN_MOST = 5000
/** For so long a workspace in which somebody subscribes is not asked again whether that is still so. */
const SUBSCRIBED_MS = 10_000
/** How often a claim is asked again that others came before. */
const ROUNDS = 4

/** `$1`... in the order of `COLUMNS`. The row is written as job-moves.ts writes it, the time is the database's. */
const COLUMNS = {
  assignment_id: 'text',
  attempt: 'int',
  owner: 'text',
  ran_ms: 'float8',
  status: 'text',
  insight_id: 'text',
  body: 'text',
  skipped: 'text',
  error: 'text',
  start_event: 'text',
  start_data: 'text',
  end_event: 'text',
  end_type: 'text',
  end_data: 'text',
} as const
type Column = keyof typeof COLUMNS

const SETTLE = `
  WITH input AS MATERIALIZED (
    SELECT * FROM unnest(${Object.values(COLUMNS)
      .map((type, index) => `$${index + 1}::${type}[]`)
      .join(', ')}) AS input (${Object.keys(COLUMNS).join(', ')})
  ),
  leased AS MATERIALIZED (
    SELECT input.*, jobs.workspace_id, jobs.job_status, jobs.owner AS present_owner,
      (jobs.moves->-1->>'at')::timestamptz(3) AS last, clock_timestamp()::timestamptz(3) AS now
    FROM input JOIN jobs ON jobs.assignment_id = input.assignment_id
    WHERE jobs.attempt = input.attempt ORDER BY input.assignment_id FOR UPDATE OF jobs
  ),
  -- Judged here and not above, where these conditions would tempt the planner to read all that is owned.
  timed AS MATERIALIZED (
    SELECT leased.*, job_status = 'active' AS starts, greatest(now, last) AS ended,
      greatest((now - greatest(ran_ms, 0) * interval '1 ms')::timestamptz(3), last) AS started
    FROM leased
    WHERE present_owner = owner AND (job_status = 'executing' OR (job_status = 'active' AND ran_ms IS NOT NULL))
      AND NOT EXISTS (SELECT 1 FROM subscriptions WHERE subscriptions.workspace_id = leased.workspace_id)
  ),
  settled AS (
    UPDATE jobs SET job_status = timed.status, owner = NULL, insight_id = timed.insight_id, skipped = timed.skipped,
      error = timed.error::json, started_at = CASE WHEN starts THEN started ELSE jobs.started_at END,
      finished_at = ended,
      progress = CASE WHEN timed.status = 'completed' THEN json_build_object('percent', 100,
        'step', jobs.progress->'steps', 'steps', jobs.progress->'steps', 'label', jobs.progress->'label')
        ELSE jobs.progress END,
      moves = (left(jobs.moves::text, -1)
        || CASE WHEN starts THEN ${toMove("'executing'", 'started', 'jobs.attempt')} ELSE '' END
        || ${toMove('timed.status', 'ended', 'jobs.attempt')} || ']')::json
    FROM timed WHERE jobs.assignment_id = timed.assignment_id
    RETURNING jobs.assignment_id
  ),
  found AS (
    INSERT INTO insights (insight_id, assignment_id, workspace_id, created_at, body)
    SELECT insight_id, assignment_id, workspace_id, ended, body::json FROM timed WHERE status = 'completed'
  ),
  told AS (
    INSERT INTO events (event_id, workspace_id, type, timestamp, data)
    SELECT event.event_id, workspace_id, event.type, event.at, event.data::json
    FROM timed CROSS JOIN LATERAL (VALUES
      (1, start_event, 'job.started', started, start_data), (2, end_event, end_type, ended, end_data))
      AS event (place, event_id, type, at, data)
    WHERE starts OR place = 2 ORDER BY assignment_id, place
  )
  SELECT assignment_id FROM settled`

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

function settleStatement(rows: Row[]): Statement {
  const columns = Object.keys(COLUMNS) as Column[]
  return { sql: SETTLE, values: columns.map((column) => rows.map((row) => row[column])) }
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

  async claim({ node_id, limit }: Input<'claimJobs'>): Promise<ClaimedJob[]> {
    const jobs: ClaimedJob[] = []
    for (let round = 0; round < ROUNDS && jobs.length < limit; round += 1) {
      const claimed = await new Promise<Claimed>((resolve, reject) => {
        this.#claims.push({ input: { node_id, limit: limit - jobs.length }, resolve, reject })
        this.#soon()
      })
      jobs.push(...claimed.jobs)
      if (claimed.all) break
    }
    return jobs
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
    const { settling, claiming } = this.#take()
    if (settling.length + claiming.length === 0) return
    try {
      this.#connection.tell(await this.#commit(settling, claiming))
    } catch (error) {
      if (isAway(error) || settling.length === 0 || settling.length + claiming.length === 1) {
        for (const { reject } of [...settling, ...claiming]) reject(error)
        return
      }
      // What the database refuses may be one job's fault: the others are not refused for it, and nobody claims later.
      for (const settle of settling) void this.#settleAlone(settle)
      this.#claims.unshift(...claiming)
    }
  }

  /** Several of one job would meet each other in one statement: the second waits for the next. */
  #take(): { settling: Settle[]; claiming: Claim[] } {
    const settling = new Map<string, Settle>()
    const rest: Settle[] = []
    for (const settle of this.#settles) {
      const { assignment_id } = settle.input.input
      if (!this.#isShort(settle)) void this.#settleAlone(settle)
      else if (settling.size < BATCH_MOST && !settling.has(assignment_id)) settling.set(assignment_id, settle)
      else rest.push(settle)
    }
    this.#settles = rest
    return { settling: [...settling.values()], claiming: this.#claims.splice(0, BATCH_MOST) }
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
  async #commit(settling: Settle[], claiming: Claim[]): Promise<Hint[]> {
    const { publicUrl, caps } = this.#context
    const rows = settling.map(({ input }) => rowOf(input, this.#known.of(input)!, publicUrl))
    const statements = claiming.map(({ input }) => claimStatement(input, caps))
    if (rows.length > 0) statements.unshift(settleStatement(rows))
    const answers = await this.#connection.writeAtOnce(statements)
    const settled = rows.length > 0 ? (answers.shift() as { assignment_id: string }[]) : []
    const told = this.#answerSettles(settling, settled)
    return [...told, ...claiming.flatMap((claim, index) => this.#answerClaim(claim, answers[index] as never))]
  }

  #answerSettles(settling: Settle[], rows: { assignment_id: string }[]): Hint[] {
    const done = new Set(rows.map(({ assignment_id }) => assignment_id))
    for (const settle of settling) {
      if (done.has(settle.input.input.assignment_id)) {
        this.#known.forget(settle.input)
        settle.resolve(true)
      } else void this.#settleAlone(settle)
    }
    return [...done].map((assignment_id) => ({ topic: 'job', assignment_id }))
  }

  #answerClaim({ input, resolve, reject }: Claim, rows: Parameters<typeof claimedBy>[1]): Hint[] {
    try {
      const claimed = claimedBy(input, rows)
      for (const { job } of claimed.jobs) this.#known.keep(job)
      resolve(claimed)
      return claimed.jobs.map(({ job }) => ({ topic: 'job', assignment_id: job.assignment_id }))
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
