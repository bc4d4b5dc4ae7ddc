/** What is written of an attempt, by how it ended. Pure. The store's fence decides last: it ignores an attempt that was taken over. */

import type { RunResult } from '@assay/engine/run/protocol'
import type { Findings } from '@assay/model/insight'
import type { JobError } from '@assay/model/job'

/**
 * Why an attempt was stopped from outside. `taken`: it was canceled or is another node's; `lapsed`: this node could
 * not renew its lease; `draining`: this node is stopping.
 */
export type StopReason = 'taken' | 'lapsed' | 'draining'

export type Settlement =
  | { kind: 'complete'; findings: Findings }
  | { kind: 'fail'; error: JobError }
  /** The child died: the job goes back to queued with a loss; the third loss ends it. */
  | { kind: 'lose' }
  /** The job goes back to queued without a loss. */
  | { kind: 'release' }
  /** Nothing is written: the attempt is not this node's any more. */
  | { kind: 'abandon' }

export function settlementOf(result: RunResult, stopped: StopReason | null): Settlement {
  if (stopped === 'taken') return { kind: 'abandon' }
  switch (result.status) {
    case 'done':
      return { kind: 'complete', findings: result.findings }
    case 'failed':
      return { kind: 'fail', error: result.error }
    case 'crashed':
      return { kind: 'lose' }
    case 'stopped':
      return { kind: 'release' }
  }
}
