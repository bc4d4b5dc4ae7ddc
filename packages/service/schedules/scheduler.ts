/**
 * The scheduler. It claims due schedules, checks their variables by the present template, and gives the outcome to the store,
 * which creates the jobs and sets the next due time in one transaction. It runs on every node with templates (the role `api`).
 * Any number may run at once; others take over the claims of one that dies.
 */

import { metricsRead } from '@assay/engine/metrics/names'
import type { Catalog } from '@assay/engine/reading/catalog'
import type { FoundTemplate } from '@assay/engine/reading/lookup'
import type { Clock } from '@assay/model/clock'
import { AppError, notFound } from '@assay/model/errors'
import type { Schedule } from '@assay/model/schedule'
import { READER } from '@assay/model/subscription'
import type { ClaimedSchedule, ScheduleFault, ScheduleSettlement } from '@assay/store/contract/schedules'
import type { Store } from '@assay/store/store'
import type { Logger } from '../runtime/log.ts'
import { runLoop } from '../runtime/loop.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { Service } from '../runtime/service.ts'
import { findTemplate } from '../templates/find-template.ts'
import { isPersonal, takesReader } from '../templates/personal.ts'
import type { TemplateReader } from '../templates/template-reader.ts'
import { type FiringOptions, fire } from './firing.ts'

const POLL_MS = 1000
const CONCURRENCY = 4

export interface SchedulerOptions {
  store: Pick<
    Store,
    'claimSchedules' | 'settleSchedule' | 'getTemplate' | 'listMetrics' | 'findMetrics' | 'findReaderOf'
  > &
    FiringOptions['store']
  mailOf: FiringOptions['mailOf']
  catalog: Pick<Catalog, 'get' | 'metrics'>
  templates: TemplateReader
  clock: Clock
  log: Logger
  metrics: Metrics
}

function fault(code: string, detail: string, errors: ScheduleFault['errors'] = []): { error: ScheduleFault } {
  return { error: { code, detail, errors } }
}

/** Returns the template and the variables of a schedule's jobs, or the reason why no job can be created. */
async function materialOf(
  options: SchedulerOptions,
  schedule: Schedule,
): Promise<NonNullable<ScheduleSettlement['outcome']>> {
  const { workspace_id, template_id, variables } = schedule
  const found = await findTemplate(options, { workspace_id, template_id })
  if (!found) return fault('not_found', notFound('template', template_id).message)
  if ('faults' in found) {
    const errors = found.faults.map(({ line, message }) => ({ path: `template:${line}`, message }))
    return fault('invalid', 'The template cannot be read any more: put it again.', errors)
  }
  const converted = (await options.templates.convert(found, [variables], workspace_id))[0]!
  if (converted.errors.length === 0) {
    const whose = await readerOfRuns(options, schedule, found, converted.values)
    if ('error' in whose) return whose
    const metrics = metricsRead(found.source, converted.values)
    return { template: found.source, variables: converted.values, metrics, ...whose }
  }
  const errors = converted.errors.map(({ path, message }) => ({
    path: path.replace(/^payload\./, ''),
    message,
  }))
  return fault('invalid', 'The variables do not fit the template any more: change the schedule.', errors)
}

/** Returns the reader of a personal template without readers: the reader who is the user of the schedule. */
async function readerOfRuns(
  { store, mailOf }: SchedulerOptions,
  { workspace_id, user_id, readers, notify }: Schedule,
  template: FoundTemplate,
  values: Readonly<Record<string, unknown>>,
): Promise<{ reader_id: string | null; mail?: string | null } | { error: ScheduleFault }> {
  if (readers !== null)
    return takesReader(template)
      ? { reader_id: null }
      : fault('invalid', 'The template gives every reader the same rows: it has no rule of rows any more.')
  if (!isPersonal(template, values)) return { reader_id: null }
  const own = await store.findReaderOf({ workspace_id, user_id })
  return own
    ? { reader_id: own.reader_id, mail: notify?.includes(READER) ? await mailOf(own) : null }
    : fault(
        'reader_missing',
        'The template shows each reader rows of their own, and the user of the schedule is not a reader: give the schedule readers.',
      )
}

async function settle(options: SchedulerOptions, { schedule, plan }: ClaimedSchedule): Promise<void> {
  const { store, log, metrics } = options
  const { schedule_id, revision, workspace_id } = schedule
  const outcome = plan.times.length === 0 ? null : await materialOf(options, schedule)
  if (schedule.readers !== null && outcome !== null && !('error' in outcome)) {
    const { made, full } = await fire(options, schedule, { plan, material: outcome })
    metrics.schedulesSettled.inc({ outcome: 'run' }, made)
    if (full)
      log.info({ schedule_id, workspace_id, made }, 'the queue is full: the jobs of further readers wait')
    return
  }
  if (!(await store.settleSchedule({ schedule_id, revision, plan, outcome }))) return
  const failed = outcome !== null && 'error' in outcome
  metrics.schedulesSettled.inc({ outcome: failed ? 'failed' : 'run' }, plan.times.length)
  metrics.schedulesSettled.inc({ outcome: 'missed' }, plan.missed)
  if (failed) log.warn({ schedule_id, workspace_id, ...outcome.error }, 'a schedule could not be run')
  if (plan.missed > 0) log.warn({ schedule_id, workspace_id, missed: plan.missed }, 'due times were missed')
}

export function createScheduler(options: SchedulerOptions): Service {
  const { store, clock, log } = options

  /**
   * Settles a claimed schedule. After a failure (the queue is full, the store cannot be reached) the claim expires
   * and another claim tries again.
   */
  async function work(claimed: ClaimedSchedule): Promise<void> {
    const { schedule_id } = claimed.schedule
    try {
      await settle(options, claimed)
    } catch (error) {
      const reason = error instanceof AppError ? { code: error.code, detail: error.message } : { err: error }
      log.warn({ schedule_id, ...reason }, 'a schedule could not be settled and is tried again')
    }
  }

  return {
    name: 'scheduler',
    run: (signal) =>
      runLoop<ClaimedSchedule>(
        {
          concurrency: CONCURRENCY,
          pollMs: POLL_MS,
          clock,
          claim: (limit) => store.claimSchedules({ limit }),
          work,
          subscribe: () => () => undefined,
          onError: (error) => log.warn({ err: error }, 'schedules could not be claimed'),
        },
        signal,
      ),
  }
}
