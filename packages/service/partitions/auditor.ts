/**
 * Audits kept days. Once a day it reads a random day of each series again and compares it bit by bit. A day that
 * differs is dropped. The series then has a doubt that stands in every insight until the metric is read in full.
 */
import { differing, type Recipe } from '@assay/engine/partitions/keeper'
import { type Pool, TaskError } from '@assay/engine/run/pool'
import { type Clock, iso } from '@assay/model/clock'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import type { DayToAudit } from '@assay/store/contract/kept-days'
import type { Store } from '@assay/store/store'
import type { ConnectionRegistry } from '../connections/connection-registry.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { Service } from '../runtime/service.ts'

const DAY_MS = 86_400_000
/** Milliseconds between two looks for series that are due. */
const LOOK_MS = 600_000

export interface AuditorOptions {
  store: Pick<Store, 'claimDayToAudit' | 'doubtKeptDay' | 'getWorkspace' | 'writeAudit'>
  pool: Pick<Pool, 'auditDay'>
  connections: Pick<ConnectionRegistry, 'accessFor'>
  /** The data folder of the default workspace. */
  data: string | null
  clock: Clock
  log: Logger
  metrics: Pick<Metrics, 'auditedDays'>
}

export function createAuditor(options: AuditorOptions): Service {
  const { clock, log } = options
  return {
    name: 'audit of kept days',
    async run(signal) {
      while (!signal.aborted) {
        await clock.sleep(LOOK_MS * (0.8 + 0.4 * Math.random()), signal)
        if (signal.aborted) return
        await auditDue(options, signal).catch((error: unknown) =>
          log.warn({ err: error }, 'kept days could not be audited'),
        )
      }
    },
  }
}

/** Audits a day of each series that is due. Resolves with the number of audited series. */
export async function auditDue(options: AuditorOptions, signal: AbortSignal): Promise<number> {
  const { store, clock } = options
  for (let audited = 0; ; audited += 1) {
    const due = signal.aborted ? null : await store.claimDayToAudit({ before: iso(clock.now() - DAY_MS) })
    if (!due) return audited
    await audit(due, options, signal)
  }
}

async function audit(due: DayToAudit, options: AuditorOptions, signal: AbortSignal): Promise<void> {
  const { pool, connections, store, data, log, metrics } = options
  const { workspace_id, metric, day, statistics: kept, looked_at } = due
  const recipe = JSON.parse(due.recipe) as Recipe
  const own = (await store.getWorkspace(workspace_id))?.data_folder ?? null
  const folder = workspace_id === DEFAULT_WORKSPACE ? (own ?? data) : own
  const names = (): Promise<string[]> => Promise.resolve([recipe.connection])
  try {
    const same = await pool.auditDay(
      { kind: 'audit-day', recipe, day, kept, looked_at, roots: { sample: {}, data: folder } },
      { workspace_id, signal, patient: true, connections: connections.accessFor({ workspace_id, names }) },
    )
    metrics.auditedDays.inc({ result: same ? 'same' : 'different' })
    if (!same) await tell(due, options)
  } catch (error) {
    if (!(error instanceof TaskError)) throw error
    metrics.auditedDays.inc({ result: 'unread' })
    log.warn({ workspace_id, metric, day, reason: error.message }, 'a kept day could not be read again')
  }
}

async function tell(
  { workspace_id, series_key, metric, day, read_at }: DayToAudit,
  { store, clock, log }: AuditorOptions,
): Promise<void> {
  const now = iso(clock.now())
  const doubt = differing(day, now)
  if (!(await store.doubtKeptDay({ workspace_id, series_key, day, read_at, doubt }))) return
  log.warn({ workspace_id, metric, day }, 'a kept day differs from its source')
  await store.writeAudit([
    {
      at: now,
      action: 'metric.doubt',
      object_id: metric,
      fields: [day],
      workspace_id,
      user_id: null,
      token_id: null,
      address: null,
      request_id: null,
    },
  ])
}
