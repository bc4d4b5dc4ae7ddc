/** Jobs as people use them: create, run, read, list, cancel, delete. settles.ts writes what workers report. */
import { AppError, notFound } from '@assay/model/errors'
import { type Ending, HELD, isFinal, type Job, type JobStatus } from '@assay/model/job'
import { draftsFull, processorSpent, queueFull, storeFull } from '../../caps.ts'
import type { DraftOrigin, NewJob } from '../../contract/jobs/jobs.ts'
import type { Page } from '../../contract/page.ts'
import { listOf, type Part, type Parts, partsOfReaders, WHOLE } from '../../list.ts'
import type { Reader, Routine, Transaction } from '../../rows.ts'
import { both, type Statement, statement } from '../../statement.ts'
import type { Input } from '../../store.ts'
import { INSIGHTS, JOBS } from '../../tables/jobs/jobs.ts'
import { by } from '../../tables/table.ts'
import { removeDeliveriesOfJobs } from '../webhooks/waiting.ts'
import { admitWork, spendingNow, spentBy } from '../workspaces/processor-use.ts'
import { keepTemplateVersion, keepTemplateVersions } from '../workspaces/templates.ts'
import { storedIn } from './counts.ts'
import { moved, NO_PROGRESS, type OwnedJob, shown } from './job-move.ts'
import { lockJobs, moveJob, writeMoves } from './moves.ts'

const OF_ID = by('assignment_id', 'workspace_id')
const JOB = JOBS.except('owner')
const FIND = JOBS.select(OF_ID, JOB)
const FIND_OWN = JOBS.select(
  'WHERE workspace_id = :workspace_id AND assignment_id = ANY (:assignment_ids)',
  JOB,
)
const FIND_ALL = JOBS.select('WHERE assignment_id = ANY (:assignment_ids)', JOB)
const LOCK = JOBS.select(`${OF_ID} FOR UPDATE`)
/**
 * Returns the SQL that compares the template of a draft with the one that the workspace has put. A template without the
 * word names no metric, so its version depends on its own text only. SQLite's LIKE would compare without case.
 */
const asPut = (isWithout: string): string => `coalesce((
  SELECT put.source = made.source AND CAST(made.partials AS text) = '{}' AND ${isWithout}
  FROM template_versions AS made
  JOIN templates AS put ON put.workspace_id = jobs.workspace_id AND put.template_id = jobs.template_id
  WHERE made.template_id = jobs.template_id AND made.version = jobs.template_version AND jobs.job_status = 'draft'), false)
  AS is_as_put`
const AS_PUT = {
  sqlite: asPut("instr(made.source, 'metric') = 0"),
  postgres: asPut("strpos(made.source, 'metric') = 0"),
}
const OF_DRAFT = { ...JOBS.kinds, is_as_put: 'boolean' } as const
const FIND_DRAFT = statement<DraftOrigin>(
  both(
    (database) =>
      `SELECT template_id, template_version, ${AS_PUT[database]} FROM jobs ${OF_ID} AND job_status = 'draft'`,
  ),
  OF_DRAFT,
)
const LOCK_DRAFT = statement<OwnedJob & Pick<DraftOrigin, 'is_as_put'>>(
  both((database) => `SELECT ${JOBS.list()}, ${AS_PUT[database]} FROM jobs ${OF_ID} FOR UPDATE`),
  OF_DRAFT,
)
// Of two requests that create the same id at once, the second waits for the first and answers with its job.
const INSERT = JOBS.insert<Job>(
  JOBS.except('attempt', 'losses'),
  `ON CONFLICT DO NOTHING RETURNING ${JOB.join(', ')}`,
)
/** Several at once, without an answer: afterwards the rows are read under their locks. */
const INSERT_ALL = JOBS.insert(JOBS.except('attempt', 'losses'), 'ON CONFLICT DO NOTHING')
const DELETE = JOBS.delete('WHERE assignment_id = ANY (:assignment_ids)')
const MADE =
  'SELECT insight_id FROM jobs WHERE assignment_id = ANY (:assignment_ids) AND insight_id IS NOT NULL'
const DELETE_INSIGHTS = INSIGHTS.sql({
  sqlite: `DELETE FROM insights WHERE insight_id IN (${MADE})`,
  postgres: `DELETE FROM insights WHERE insight_id = ANY (ARRAY (${MADE}))`,
})
/** Filters with an index over all jobs, of every reader and state. */
const OF_ALL = ['held', 'batch_id', 'reader_id', 'schedule_id']
const HELD_ONES: Part = { where: '', from: 'held_jobs(:workspace_id) AS jobs', indexed: 'all' }

/**
 * Returns the parts of the list: jobs of readers and other jobs, and on PostgreSQL also held jobs. A filter for a
 * state that is not held needs no part of held jobs.
 */
function partsOf(given: readonly string[]): Parts {
  if (given.some((field) => OF_ALL.includes(field))) return WHOLE
  const byState = given.includes('job_status')
  if (byState && !given.includes('template_id')) return { ...WHOLE, postgres: [{ where: 'owner IS NULL' }] }
  const own = partsOfReaders(given)
  const free = own.map((part) => ({ ...part, where: `owner IS NULL AND ${part.where}` }))
  return { sqlite: own, postgres: byState ? free : [...free, HELD_ONES] }
}

const LIST = listOf(JOBS, {
  columns: JOB,
  wide: ['variables', 'metadata', 'notify'],
  id: 'assignment_id',
  // Held jobs are few and have an index of their own, which its condition names. The other jobs are in the index of
  // states.
  filters: {
    held: 'job_status = :held AND owner IS NOT NULL',
    failed: `error ->> 'code' <> 'canceled_by_user'`,
    stopped: `error ->> 'code' = 'canceled_by_user'`,
    unsent: 'skipped IS NOT NULL',
    template_ids: 'template_id = ANY (:template_ids)',
    user_id: null,
    presence_name: null,
    metadata_value: 'metadata ->> CAST(:metadata_key AS text) = :metadata_value',
    seen_by: '(reader_id IS NULL OR reader_id = :seen_by)',
  },
  indexed: [
    ['workspace_id', 'batch_id'],
    ['workspace_id', 'reader_id'],
    ['workspace_id', 'schedule_id'],
    ['workspace_id', 'held'],
    ['workspace_id', 'template_id'],
    ['workspace_id', 'job_status'],
    ['workspace_id'],
  ],
  parts: partsOf,
})
/** The conditions for the ways in which a job ends. Their state has an index. */
const ENDED: Readonly<Record<Ending, { job_status: JobStatus; [filter: string]: unknown }>> = {
  failed: { job_status: 'canceled', failed: true },
  canceled: { job_status: 'canceled', stopped: true },
  skipped: { job_status: 'completed', unsent: true },
}

// PostgreSQL has many writers, so its function takes a lock when the cap is near.
const REACHED_CAP = {
  sqlite: `SELECT coalesce(max_queued, :max_queued) AS reached FROM workspaces JOIN job_counts USING (workspace_id)
    WHERE workspace_id = :workspace_id AND queued + :more > coalesce(max_queued, :max_queued)`,
  postgres: 'SELECT reached_queue_cap(:workspace_id, :max_queued, :more) AS reached',
}
const FIND_REACHED_CAP = statement<{ reached: number | null }>(REACHED_CAP)

interface Key {
  workspace_id: string
  assignment_id: string
}

function* lockJob<Row>(tx: Transaction, key: Key, lock: Statement<Row>): Routine<Row> {
  const job = yield* tx.find(lock, key)
  if (!job) throw notFound('job', key.assignment_id)
  return job
}

export function* createJob(tx: Transaction, input: NewJob): Routine<Job> {
  yield* keepTemplateVersion(tx, input.template)
  return yield* insertJob(tx, input)
}

/** Returns the row of a draft. */
const draftOf = ({ template, ...input }: NewJob, now: string) => ({
  ...input,
  template_id: template.template_id,
  template_version: template.version,
  job_status: 'draft' as const,
  created_at: now,
  progress: NO_PROGRESS,
  moves: [{ job_status: 'draft' as const, at: now, attempt: 0 }],
})

const MADE_DRAFT = { from: null, to: 'draft' } as const

const taken = (assignment_id: string): AppError =>
  new AppError('name_taken', `There is already a job ${assignment_id}.`)

function* insertJob(tx: Transaction, input: NewJob): Routine<Job> {
  const { workspace_id, assignment_id } = input
  const made = yield* tx.find(INSERT, draftOf(input, tx.now))
  if (made) yield* tx.native.countMoves([{ workspace_id, ...MADE_DRAFT }])
  const job = made ?? (yield* tx.find(FIND, input))
  if (!job) throw taken(assignment_id)
  return job
}

/** Inserts the jobs that do not exist yet, in few statements. Returns all of them in their order, locked. */
function* insertJobs(tx: Transaction, workspace_id: string, jobs: readonly NewJob[]): Routine<OwnedJob[]> {
  const assignment_ids = jobs.map(({ assignment_id }) => assignment_id)
  const known = new Set((yield* getJobs(tx, assignment_ids)).map(({ assignment_id }) => assignment_id))
  const made = jobs.filter(({ assignment_id }) => !known.has(assignment_id))
  // In the order of their keys, so that no two transactions wait for each other.
  const rows = made.map((input) => draftOf(input, tx.now))
  yield* tx.writeAll(
    INSERT_ALL,
    rows.toSorted((one, other) => (one.assignment_id < other.assignment_id ? -1 : 1)),
  )
  yield* tx.native.countMoves(made.map(() => ({ workspace_id, ...MADE_DRAFT })))
  const rowOf = new Map((yield* lockJobs(tx, assignment_ids)).map((job) => [job.assignment_id, job]))
  return assignment_ids.map((assignment_id) => {
    const job = rowOf.get(assignment_id)
    if (job?.workspace_id !== workspace_id) throw taken(assignment_id)
    return job
  })
}

/** The cap of stored bytes if the workspace has reached it, else null. */
const STORED = `CASE WHEN coalesce(max_stored_bytes, CAST(:max_stored_bytes AS bigint)) <= ${storedIn('workspaces')}
  THEN coalesce(max_stored_bytes, :max_stored_bytes) END AS stored`

const ADMITS_DRAFTS = statement<{ drafts: number; stored: number | null }>(
  `SELECT CAST(coalesce((
     SELECT sum(draft) FROM job_counts WHERE job_counts.workspace_id = workspaces.workspace_id), 0) AS bigint) AS drafts,
     ${STORED}
   FROM workspaces WHERE workspace_id = :workspace_id`,
)

/**
 * Throws if the workspace would exceed its cap of drafts, or has reached that of stored bytes. Drafts made at the same
 * moment may pass together.
 */
function* admitDrafts(tx: Transaction, workspace_id: string, more: number): Routine<void> {
  const { max_drafts, max_stored_bytes } = tx.caps
  const found = yield* tx.find(ADMITS_DRAFTS, { workspace_id, max_stored_bytes })
  if (!found) return
  if (max_drafts !== null && found.drafts + more > max_drafts) throw draftsFull(max_drafts)
  if (found.stored !== null) throw storeFull(found.stored)
}

/** Makes a draft if the workspace may have one more. */
export function* createDraft(tx: Transaction, input: NewJob): Routine<Job> {
  yield* admitDrafts(tx, input.workspace_id, 1)
  return yield* createJob(tx, input)
}

/** The caps that keep a job out of the queue and that the workspace has reached. */
interface Reached {
  queued: number | null
  stored: number | null
  processor_seconds: number | null
}

const ADMITS_QUEUED = statement<Reached>(
  both(
    (database) => `SELECT (${REACHED_CAP[database]}) AS queued, ${STORED},
     CASE WHEN ${spentBy('workspaces')} THEN coalesce(max_processor_seconds, CAST(:max_processor_seconds AS integer)) END
       AS processor_seconds
   FROM workspaces WHERE workspace_id = :workspace_id`,
  ),
)

/** Throws if the workspace may not queue so many more jobs now. `waits`: they wait in the queue for processor time. */
function* admitQueued(tx: Transaction, workspace_id: string, waits: boolean, more = 1): Routine<void> {
  const { max_queued, max_stored_bytes } = tx.caps
  const reached = yield* tx.find(ADMITS_QUEUED, {
    workspace_id,
    more,
    max_queued,
    max_stored_bytes,
    ...spendingNow(tx),
  })
  if (!reached) return
  const { processor_seconds, stored, queued } = reached
  if (processor_seconds !== null && !waits) throw processorSpent(processor_seconds, tx.now)
  if (stored !== null) throw storeFull(stored)
  if (queued !== null) throw queueFull(queued)
}

/** Queues an accepted job, such as one of a schedule. It waits in the queue for processor time. */
export function* enqueueJob(tx: Transaction, key: Key): Routine<Job> {
  return yield* queue(tx, yield* lockJob(tx, key, LOCK), true)
}

export function* queueJob(tx: Transaction, key: Key): Routine<Job> {
  return yield* queue(tx, yield* lockJob(tx, key, LOCK))
}

/** Queues the job. Returns null if the job is a draft and `isCurrent` returned false. */
export function* queueCurrent(
  tx: Transaction,
  { isCurrent, ...key }: Input<'queueCurrent'>,
): Routine<Job | null> {
  const { is_as_put, ...job } = yield* lockJob(tx, key, LOCK_DRAFT)
  const { job_status, template_id, template_version } = job
  if (job_status === 'draft' && !isCurrent({ template_id, template_version, is_as_put })) return null
  return yield* queue(tx, job)
}

/** Queues the job if it is a draft and may be queued now. */
function* queue(tx: Transaction, job: OwnedJob, waits = false): Routine<Job> {
  if (isFinal(job.job_status))
    throw new AppError(
      'job_final',
      `The job is ${job.job_status} and cannot be run again: create a new one with the same variables.`,
    )
  if (job.job_status !== 'draft') return shown(job)
  yield* admitQueued(tx, job.workspace_id, waits)
  return shown(yield* moveJob(tx, job, 'queued'))
}

/** Makes the jobs as drafts or queued, all or none. */
export function* createJobs(tx: Transaction, { jobs, run }: Input<'createJobs'>): Routine<Job[]> {
  const workspace_id = jobs[0]?.workspace_id
  if (workspace_id === undefined) return []
  yield* run ? admitWork(tx, workspace_id) : admitDrafts(tx, workspace_id, jobs.length)
  yield* keepTemplateVersions(
    tx,
    jobs.map(({ template }) => template),
  )
  const made = yield* insertJobs(tx, workspace_id, jobs)
  const drafts = made.filter(({ job_status }) => job_status === 'draft')
  if (!run || drafts.length === 0) return made.map(shown)
  yield* admitQueued(tx, workspace_id, true, drafts.length)
  const changes = drafts.map((before) => ({ before, states: [moved(before, 'queued', tx.now)] }))
  yield* writeMoves(tx, changes)
  const queued = new Map(changes.map(({ states: [job] }) => [job!.assignment_id, job!]))
  return made.map((job) => shown(queued.get(job.assignment_id) ?? job))
}

export function* getJob(from: Reader, key: Key): Routine<Job | null> {
  return (yield* from.find(FIND, key)) ?? null
}

export function* getDraft(from: Reader, key: Key): Routine<DraftOrigin | null> {
  return (yield* from.find(FIND_DRAFT, key)) ?? null
}

export function getOwnJobs(from: Reader, input: Input<'getJobs'>): Routine<Job[]> {
  return from.all(FIND_OWN, input)
}

/** Returns the jobs of these ids that exist, in any workspace. */
export function getJobs(from: Reader, assignment_ids: readonly string[]): Routine<Job[]> {
  return from.all(FIND_ALL, { assignment_ids })
}

export function listJobs(from: Reader, query: Input<'listJobs'>): Routine<Page<Job>> {
  const { ending, metadata, ...plain } = query
  const [metadata_key, metadata_value] = metadata ?? []
  const asked = metadata ? { ...plain, metadata_key, metadata_value } : plain
  const { job_status, ...others } = asked
  const held: readonly (JobStatus | undefined)[] = HELD
  const ended = ending === undefined ? asked : { ...asked, ...ENDED[ending] }
  const filters = held.includes(job_status) ? { ...others, held: job_status } : ended
  return LIST.page(from, filters)
}

export function* cancelJob(tx: Transaction, key: Key): Routine<Job> {
  const job = yield* lockJob(tx, key, LOCK)
  if (job.job_status === 'canceled') return shown(job)
  if (job.job_status === 'completed')
    throw new AppError('job_final', 'The job is completed and cannot be canceled: delete it instead.')
  const error = { code: 'canceled_by_user', detail: 'The job was canceled on request.' } as const
  return shown(yield* moveJob(tx, job, 'canceled', { owner: null, error }))
}

/** Deletes ended jobs with everything that belongs to them except their events. */
export function* removeJobs(tx: Transaction, assignment_ids: readonly string[]): Routine<void> {
  if (assignment_ids.length === 0) return
  yield* removeDeliveriesOfJobs(tx, assignment_ids)
  yield* tx.run(DELETE_INSIGHTS, { assignment_ids })
  yield* tx.run(DELETE, { assignment_ids })
}

/** Deletes jobs that were never run. */
export function* removeDrafts(tx: Transaction, drafts: readonly Key[]): Routine<void> {
  yield* removeJobs(
    tx,
    drafts.map(({ assignment_id }) => assignment_id),
  )
  yield* tx.native.countMoves(drafts.map(({ workspace_id }) => ({ workspace_id, from: 'draft', to: null })))
}

export function* deleteJob(tx: Transaction, key: Key): Routine<void> {
  const job = yield* lockJob(tx, key, LOCK)
  if (!isFinal(job.job_status))
    throw new AppError(
      'job_unfinished',
      `The job is ${job.job_status}: cancel it, or wait until it ends, and delete it then.`,
    )
  yield* removeJobs(tx, [key.assignment_id])
}

/** Returns the cap of queued jobs if so many more would exceed it, else null. */
export function* reachedCap(tx: Transaction, workspace_id: string, more = 1): Routine<number | null> {
  const { max_queued } = tx.caps
  return (yield* tx.find(FIND_REACHED_CAP, { workspace_id, max_queued, more }))?.reached ?? null
}
