/**
 * What becomes of an attempt: one pure function from how it went to what is written. The store's fence has the last
 * word on all of it: a settle of an attempt that is no longer ours writes nothing.
 */

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
  /** The child died: back to queued with a loss, the third ends the job. */
  | { kind: 'lose' }
  /** Back to queued without a loss: the attempt itself did no wrong. */
  | { kind: 'release' }
  /** There is nothing of ours to write. */
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
