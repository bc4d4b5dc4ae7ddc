/**
 * Runs one attempt of one job in the sandbox and writes its outcome. Every write is fenced: an attempt that another node or a
 * cancel has ended changes nothing, however late it writes.
 */
import type { PartitionKeeper } from '@assay/engine/partitions/keeper'
import type { Pool } from '@assay/engine/run/pool'
import type { Roots, RunResult } from '@assay/engine/run/protocol'
import type { Clock } from '@assay/model/clock'
import { iso } from '@assay/model/clock'
import { type FileAccess, UPLOADS } from '@assay/model/file'
import { uuidv7 } from '@assay/model/ids'
import type { Outcome } from '@assay/model/insight'
import { createStepTimes, type Job } from '@assay/model/job'
import type { Reader } from '@assay/model/reader'
import { asReader } from '@assay/model/readers'
import type { TemplateSource } from '@assay/model/template'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import type { ClaimedJob, Store } from '@assay/store/store'
import type { ConnectionRegistry } from '../connections/connection-registry.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { isStoreAway, whileStoreIsAway } from '../runtime/store-retry.ts'
import type { Traces } from '../runtime/traces.ts'
import type { TemplateReader } from '../templates/template-reader.ts'
import type { Hold, NodeLease } from './lease.ts'
import { type Settlement, settlementOf } from './outcome.ts'
import { type AttemptTrace, traceAttempt } from './trace.ts'

const PROGRESS_MS = 1000
/**
 * Milliseconds after which the start is written. The start is a commit of its own, and pollers miss a shorter state
 * anyway.
 */
const START_MS = 100

export interface AttemptOptions {
  store: Store
  pool: Pool
  lease: Pick<NodeLease, 'drop'>
  /** The shipped tables, as absolute paths by name. */
  sample: Record<string, string>
  /** The data folder of the default workspace. Other workspaces have their own. */
  data: string | null
  connections: Pick<ConnectionRegistry, 'accessFor'>
  templates: TemplateReader
  /** Returns the keeper of days for a workspace. Without it each run reads all rows. */
  keeperOf?: (workspace_id: string) => PartitionKeeper
  /** The uploads of workspaces. */
  files?: FileAccess
  clock: Clock
  log: Logger
  metrics: Metrics
  /** Null or absent: tracing is off. */
  traces?: Traces | null
  source(template: { template_id: string; version: string }): Promise<TemplateSource | null>
  /** Aborted when the service must end. It then no longer waits for a store that cannot be reached. */
  giveUp: AbortSignal
}

/** The ways in which an attempt ends, for the log and the metrics. */
type Ending = 'completed' | 'failed' | 'lost' | 'released' | 'abandoned'

/** Writes the newest progress after each second. Nobody waits for a write, because it is fenced. */
async function reportProgress(
  hold: Hold,
  done: AbortSignal,
  { store, clock }: AttemptOptions,
): Promise<void> {
  while (!done.aborted) {
    await clock.sleep(PROGRESS_MS, done)
    const progress = hold.progress
    if (done.aborted || !progress) continue
    hold.progress = null
    await store.reportProgress({ ...hold.lease, progress }).catch(() => undefined)
  }
}

async function rootsOf(
  { job, data_folder }: ClaimedJob,
  template: TemplateSource,
  { sample, data, files }: AttemptOptions,
): Promise<Roots> {
  const own = job.workspace_id === DEFAULT_WORKSPACE ? (data_folder ?? data) : data_folder
  const texts = [template.source, ...Object.values(template.partials), JSON.stringify(job.variables)]
  const needed = texts.some((text) => text.includes(UPLOADS))
  return { sample, data: own, ...(await files?.roots(job.workspace_id, needed)) }
}

/** Returns the analyses of the last delivered insight, if the template asks what is new. */
async function deliveredBefore(
  job: Job,
  template: TemplateSource,
  { store, clock, giveUp }: AttemptOptions,
): Promise<Record<string, Outcome> | null> {
  if (![template.source, ...Object.values(template.partials)].some((text) => text.includes('.new')))
    return null
  const { workspace_id, template_id, variables, presence_name, schedule_id, reader_id } = job
  const asked = { workspace_id, template_id, variables, presence_name, schedule_id, reader_id }
  const text = await whileStoreIsAway(() => store.lastDelivered(asked), { clock, giveUp })
  return text === null ? null : (JSON.parse(text) as Record<string, Outcome>)
}

/**
 * Returns the reader with the attributes that the store has now; null if the job has no reader, undefined if the reader
 * was deleted.
 */
async function readerNow(
  { workspace_id, reader_id }: Job,
  { store, clock, giveUp }: AttemptOptions,
): Promise<Reader | null | undefined> {
  if (reader_id === null) return null
  const found = await whileStoreIsAway(() => store.getReader({ workspace_id, reader_id }), { clock, giveUp })
  return found ? asReader(found) : undefined
}

/** Returns the access of a job to the connections that its template names, and to the kept days. */
function accessOf(
  { workspace_id }: Job,
  template: TemplateSource,
  { connections, templates, keeperOf }: AttemptOptions,
) {
  const names = async () => (await templates.read(template, workspace_id)).found?.view.connections ?? []
  return {
    ...connections.accessFor({ workspace_id, names }),
    ...(keeperOf ? { keeper: keeperOf(workspace_id) } : {}),
  }
}

async function analyse(
  claimed: ClaimedJob,
  hold: Hold,
  options: AttemptOptions,
  trace: AttemptTrace | null,
): Promise<RunResult> {
  const { pool, clock, giveUp } = options
  const { job } = claimed
  const template = await whileStoreIsAway(
    () => options.source({ template_id: job.template_id, version: job.template_version }),
    { clock, giveUp },
  )
  if (!template) {
    const detail = `Version ${job.template_version} of the template ${job.template_id} is not in the store.`
    return { status: 'failed', error: { code: 'template_invalid', detail } }
  }
  const reader = await readerNow(job, options)
  if (reader === undefined)
    return {
      status: 'failed',
      error: { code: 'reader_missing', detail: `The reader ${job.reader_id} was deleted.` },
    }
  if (hold.signal.aborted) return { status: 'stopped' }
  const roots = await rootsOf(claimed, template, options)
  const delivered = await deliveredBefore(job, template, options)
  const done = new AbortController()
  const steps = createStepTimes(() => clock.monotonic())
  void reportProgress(hold, done.signal, options)
  let starting: Promise<void> | undefined
  try {
    const result = await pool.run(
      {
        kind: 'run',
        template,
        variables: job.variables,
        started_at: job.moves.at(-1)?.at ?? iso(clock.now()),
        delivered,
        reader,
        roots,
      },
      {
        workspace_id: job.workspace_id,
        signal: hold.signal,
        onBegin: () => {
          hold.began = clock.monotonic()
          starting = markStarted(hold, done.signal, options)
          // A failure of the start is handled where it is awaited below, once the analysis has ended.
          starting.catch(() => undefined)
        },
        connections: accessOf(job, template, options),
        onProgress: (progress) => {
          hold.progress = progress
          steps.note(progress)
          trace?.step(progress)
        },
      },
    )
    done.abort()
    // A stopped attempt does not wait for an answer, because the store may be the reason for the stop.
    if (result.status !== 'stopped') await starting
    // A process that was ended tells no steps. Those are known by the progress that it reported.
    return result.status === 'failed' ? { steps: steps.untilNow(), ...result } : result
  } finally {
    done.abort()
  }
}

/**
 * Writes active -> executing after START_MS. A shorter analysis gets its start and its end in one commit. Stops the
 * attempt if this node has lost it.
 */
async function markStarted(
  hold: Hold,
  done: AbortSignal,
  { store, clock, giveUp }: AttemptOptions,
): Promise<void> {
  await clock.sleep(START_MS, done)
  if (done.aborted) return
  try {
    if (!(await whileStoreIsAway(() => store.startJob(hold.lease), { clock, giveUp }))) hold.stop('taken')
  } catch (error) {
    hold.stop('draining')
    throw error
  }
}

async function write(settlement: Settlement, hold: Hold, { store, clock }: AttemptOptions): Promise<Ending> {
  const { lease, began } = hold
  const ran_ms = began === null ? undefined : clock.monotonic() - began
  switch (settlement.kind) {
    case 'complete': {
      const { findings } = settlement
      return (await store.completeJob({ ...lease, insight_id: uuidv7(), findings, ran_ms }))
        ? 'completed'
        : 'abandoned'
    }
    case 'fail':
      return (await store.failJob({ ...lease, error: settlement.error, ran_ms })) ? 'failed' : 'abandoned'
    case 'lose':
      return (await store.loseJob(lease)) ? 'lost' : 'abandoned'
    case 'release':
      await store.releaseJobs([lease])
      return 'released'
    case 'abandon':
      return 'abandoned'
  }
}

/**
 * Writes the outcome. If the store refuses it, the attempt counts as lost, so that the job ends after the third loss.
 */
async function settle(settlement: Settlement, hold: Hold, options: AttemptOptions): Promise<Ending> {
  const { clock, giveUp, log } = options
  try {
    return await whileStoreIsAway(() => write(settlement, hold, options), { clock, giveUp })
  } catch (error) {
    if (isStoreAway(error)) return 'abandoned'
    log.error({ ...hold.lease, settlement: settlement.kind, err: error }, 'an attempt could not be settled')
    return whileStoreIsAway(() => write({ kind: 'lose' }, hold, options), { clock, giveUp })
  }
}

/**
 * Runs the attempt and returns the function that settles it. The slot is free when the analysis has ended, so that the next
 * claim shares the commit of the outcome. Settling rejects if not even a loss can be written.
 */
export async function runAttempt(
  claimed: ClaimedJob,
  hold: Hold,
  options: AttemptOptions,
): Promise<() => Promise<void>> {
  const { clock, log } = options
  const trace = traceAttempt(options, claimed)
  const begun = clock.monotonic()
  let result: RunResult
  try {
    result = await analyse(claimed, hold, options, trace)
  } catch (error) {
    if (!isStoreAway(error)) log.error({ ...hold.lease, err: error }, 'an attempt failed unexpectedly')
    result = isStoreAway(error) ? { status: 'stopped' } : { status: 'crashed', detail: String(error) }
  }
  const run_ms = clock.monotonic() - begun
  const stopped = hold.reason
  // The analysis has ended. The store's fence decides whether its outcome counts.
  options.lease.drop(hold)
  return async () => {
    const ran = clock.monotonic()
    const ending = await settle(settlementOf(result, stopped), hold, options)
    const settle_ms = clock.monotonic() - ran
    report({ claimed, hold, result, stopped, ending, run_ms, settle_ms, trace }, options)
  }
}

interface Ended {
  claimed: ClaimedJob
  hold: Hold
  result: RunResult
  stopped: Hold['reason']
  ending: Ending
  run_ms: number
  settle_ms: number
  trace: AttemptTrace | null
}

/** Logs an attempt in one line and observes its duration. */
function report(ended: Ended, { log, metrics }: AttemptOptions): void {
  const { claimed, hold, result, stopped, ending, run_ms, settle_ms, trace } = ended
  const { job } = claimed
  const error = result.status === 'failed' ? result.error.code : undefined
  const times = { run_ms: Math.round(run_ms), settle_ms: Math.round(settle_ms) }
  metrics.jobRuns.observe({ outcome: ending }, run_ms / 1000)
  log.info(
    {
      assignment_id: job.assignment_id,
      workspace_id: job.workspace_id,
      template_id: job.template_id,
      template_version: job.template_version,
      attempt: hold.lease.attempt,
      outcome: ending,
      stopped: stopped ?? undefined,
      error,
      detail: result.status === 'crashed' ? result.detail : undefined,
      ...times,
      peak_memory_bytes: result.status === 'done' ? result.findings.lineage.peak_memory_bytes : undefined,
    },
    'an attempt ended',
  )
  const well = ending === 'completed' || ending === 'released'
  trace?.end({ outcome: ending, stopped, ...times }, well ? null : (error ?? ending))
}
