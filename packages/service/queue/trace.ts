/**
 * An attempt as a span in the trace of its job, from its claim until its outcome is written. Steps of the analysis are events at
 * the time of their progress messages. A job of a schedule has no request, so its first attempt adds the span of its creation.
 */

import type { Clock } from '@assay/model/clock'
import type { Progress } from '@assay/model/job'
import type { ClaimedJob } from '@assay/store/store'
import type { Attributes, Traces } from '../runtime/traces.ts'

export interface AttemptTrace {
  /** Reports the progress. A new step becomes an event. */
  step(progress: Progress): void
  end(attributes: Attributes, error: string | null): void
}

function tellCreation(traces: Traces, { job }: ClaimedJob): void {
  const { assignment_id, workspace_id, template_id, schedule_id, created_at } = job
  const at = Date.parse(created_at)
  const attributes = { assignment_id, workspace_id, template_id, schedule_id }
  traces
    .start({ name: 'job created', kind: 'producer', of: { creates: assignment_id }, attributes, at })
    .end(null, at)
}

export function traceAttempt(
  { traces, clock }: { traces?: Traces | null; clock: Clock },
  claimed: ClaimedJob,
): AttemptTrace | null {
  if (!traces) return null
  const { assignment_id, workspace_id, template_id, template_version, attempt, queued_at } = claimed.job
  if (claimed.job.scheduled_for !== null && attempt === 1) tellCreation(traces, claimed)
  const queue_wait_ms = queued_at === null ? null : Math.max(0, clock.now() - Date.parse(queued_at))
  const span = traces.start({
    name: 'job',
    kind: 'consumer',
    of: { job: assignment_id },
    attributes: { assignment_id, workspace_id, template_id, template_version, attempt, queue_wait_ms },
  })
  let told = 0
  return {
    step({ step, steps, label }) {
      if (step !== told) span.event(label, Date.now(), { step, steps })
      told = step
    },
    end(attributes, error) {
      span.set(attributes)
      span.end(error)
    },
  }
}
