/** Shows the times of a run on one axis: its wait, its start, and each step. */
import type { JobView } from '@assay/model/job'
import { useInsight } from '../../insights.ts'
import { duration } from '../../words/durations.ts'

interface Step {
  name: string
  ms: number
  /** The milliseconds since the job was queued. */
  from: number
}

/** Returns the steps, which run one after the other. The rest of the run is its start and the writing of the text. */
function stepsOf(
  waited: number,
  ran: number,
  blocks: readonly { name: string; elapsed_ms: number }[],
): Step[] {
  const own = blocks.reduce((sum, { elapsed_ms }) => sum + elapsed_ms, 0)
  const parts = [
    { name: 'Waited', ms: waited },
    { name: 'Data and text', ms: Math.max(ran - own, 0) },
    ...blocks.map(({ name, elapsed_ms }) => ({ name, ms: elapsed_ms })),
  ]
  let from = 0
  return parts.map((part) => {
    const step = { ...part, from }
    from += part.ms
    return step
  })
}

const span = (from: string | null, to: string | null): number =>
  from === null || to === null ? 0 : Math.max(Date.parse(to) - Date.parse(from), 0)

export function Timeline({ job }: { job: JobView }) {
  const { data } = useInsight(job.insight_id ?? undefined)
  if (!data) return null
  const ran = Math.max(span(job.started_at, job.finished_at), data.lineage.elapsed_ms)
  const steps = stepsOf(span(job.queued_at, job.started_at), ran, data.lineage.blocks)
  const whole = Math.max(
    steps.reduce((sum, { ms }) => sum + ms, 0),
    1,
  )
  return (
    <details className="facts">
      <summary>Timeline: {duration(whole)}</summary>
      <ol className="spans" aria-label="Steps of the run">
        {steps.map(({ name, ms, from }) => (
          <li key={name}>
            <span>{name}</span>
            <span className="span-track" aria-hidden="true">
              <span style={{ marginLeft: `${(100 * from) / whole}%`, width: `${(100 * ms) / whole}%` }} />
            </span>
            <span className="span-ms">{duration(ms)}</span>
          </li>
        ))}
      </ol>
    </details>
  )
}
