/**
 * An attempt as a span in the trace of its job: from its claim until it is written, with each step of the analysis below it.
 * A job that a schedule has made has no request that could tell of its creation: its first attempt does.
 */
import type { Progress } from '../job.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Attributes, Span, Traces } from '../runtime/traces.ts'
import type { ClaimedJob } from '../store/store.ts'

export interface AttemptTrace {
  /** A step has begun, and the one before has ended. */
  step(progress: Progress): void
  /** The analysis has ended; what is left is to write it. */
  ran(): void
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
  let step: { span: Span; number: number } | null = null
  const ran = (): void => {
    step?.span.end()
    step = null
  }
  return {
    step({ step: number, steps, label: name }) {
      if (step?.number === number) return
      ran()
      step = {
        span: traces.start({ name, kind: 'internal', of: { span }, attributes: { step: number, steps } }),
        number,
      }
    },
    ran,
    end(attributes, error) {
      ran()
      span.set(attributes)
      span.end(error)
    },
  }
}
