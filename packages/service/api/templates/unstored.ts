/** Runs templates without storing anything. All such runs are recorded, bounded and refused in the same way. */
import { type FoundTemplate, readsOf } from '@assay/engine/reading/lookup'
import { TaskError } from '@assay/engine/run/pool'
import type { RunResult } from '@assay/engine/run/protocol'
import { iso } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import type { Findings } from '@assay/model/insight'
import type { Reader } from '@assay/model/reader'
import type { Call } from '../http/operation.ts'
import { connectionsFor, rootsOf } from './template-lookup.ts'

/**
 * Records who reads the sources of a template without a job, before they are read and whatever the result. `more`
 * adds fields to the record.
 */
export function noteReading(
  call: Call,
  action:
    | 'template.preview'
    | 'template.explain'
    | 'template.draft'
    | 'template.check'
    | 'template.choices'
    | 'metric.check',
  { template, source }: FoundTemplate,
  more: readonly string[] = [],
): void {
  const { audit } = call.services
  const object_id = action === 'template.choices' ? template.template_id : source.version
  audit.note({ ...audit.record(action, call), object_id, fields: [...readsOf(template), ...more] })
}

/**
 * Rethrows a failed task of the pool as `preview_failed`, because neither the request nor the service is at fault.
 */
export function notTried(error: unknown): never {
  if (error instanceof TaskError) throw new AppError('preview_failed', error.message, { cause: error })
  throw error
}

function findingsOf(result: RunResult): Findings {
  switch (result.status) {
    case 'done':
      return result.findings
    case 'failed':
      throw new AppError('preview_failed', `${result.error.code}: ${result.error.detail}`)
    case 'crashed':
      throw new AppError('preview_failed', `worker_lost: ${result.detail}`)
    case 'stopped':
      throw new AppError('stopping', 'The run was stopped: try again.')
  }
}

/**
 * Runs a source of the caller within the caps of the workspace, behind its jobs. Throws `preview_failed`,
 * `workspace_busy` or `stopping`.
 */
export async function runUnstored(
  { services, principal, signal }: Call,
  draft: FoundTemplate,
  variables: Record<string, unknown>,
  reader: Reader | null = null,
): Promise<{ findings: Findings; started_at: string }> {
  const { workspace_id } = principal
  const started_at = iso(services.clock.now())
  const own = await services.store.getWorkspace(workspace_id)
  const { maxRunning, maxQueued } = services.config
  const roots = await rootsOf(services, principal)
  const result = await services.pool.preview(
    {
      kind: 'run',
      template: draft.source,
      variables,
      started_at,
      roots,
      reader,
    },
    {
      workspace_id,
      signal: signal(),
      connections: connectionsFor(services, principal, draft, true),
      max_running: own?.max_running ?? maxRunning,
      max_queued: own?.max_queued ?? maxQueued,
    },
  )
  return { findings: findingsOf(result), started_at }
}
