/**
 * Decides what is written for an attempt, by how it ended. Pure. The store's fence ignores an attempt that this node
 * has lost.
 */

import type { RunResult } from '@assay/engine/run/protocol'
import type { Findings } from '@assay/model/insight'
import type { JobError } from '@assay/model/job'

/**
 * The reasons for stopping an attempt. `taken`: the job was canceled or another node owns it. `lapsed`: this node
 * could not renew its lease. `draining`: this node stops.
 */
export type StopReason = 'taken' | 'lapsed' | 'draining'

export type Settlement =
  | { kind: 'complete'; findings: Findings }
  | { kind: 'fail'; error: JobError }
  /** The analysis process died. The job is queued again with a loss; the third loss ends it. */
  | { kind: 'lose' }
  /** The job is queued again without a loss. */
  | { kind: 'release' }
  /** Nothing is written, because the attempt is no longer this node's. */
  | { kind: 'abandon' }

export function settlementOf(result: RunResult, stopped: StopReason | null): Settlement {
  if (stopped === 'taken') return { kind: 'abandon' }
  switch (result.status) {
    case 'done':
      return { kind: 'complete', findings: result.findings }
    case 'failed':
      return {
        kind: 'fail',
        error: result.steps?.length ? { ...result.error, steps: result.steps } : result.error,
      }
    case 'crashed':
      return { kind: 'lose' }
    case 'stopped':
      return { kind: 'release' }
  }
}
