/** Shows the times of a run on one axis: its wait, its start, and each step. The last step of a failed run is marked. */
import type { JobView } from '@assay/model/job'
import { useInsight } from '../../insights.ts'
import { duration } from '../../words/durations.ts'

interface Part {
  name: string
  ms: number
}

const span = (from: string | null, to: string | null): number =>
  from === null || to === null ? 0 : Math.max(Date.parse(to) - Date.parse(from), 0)

const partsOf = (steps: readonly { name: string; elapsed_ms: number }[]): Part[] =>
  steps.map(({ name, elapsed_ms }) => ({ name, ms: elapsed_ms }))

const sumOf = (parts: readonly Part[]): number => parts.reduce((sum, { ms }) => sum + ms, 0)

/** Returns the steps, which run one after the other. The rest of the run is its start and the writing of the text. */
function stepsOf(
  job: JobView,
  done: { elapsed_ms: number; blocks: readonly { name: string; elapsed_ms: number }[] } | undefined,
): Part[] {
  const waited = { name: 'Waited', ms: span(job.queued_at, job.started_at) }
  const ran = span(job.started_at, job.finished_at)
  if (done) {
    const blocks = partsOf(done.blocks)
    return [
      waited,
      { name: 'Data and text', ms: Math.max(ran - sumOf(blocks), done.elapsed_ms - sumOf(blocks), 0) },
      ...blocks,
    ]
  }
  const failed = partsOf(job.error?.steps ?? [])
  if (failed.length === 0) return []
  const begun = { name: 'Started', ms: Math.max(ran - sumOf(failed), 0) }
  return [waited, ...(begun.ms > 0 ? [begun] : []), ...failed]
}

export function Timeline({ job }: { job: JobView }) {
  const { data } = useInsight(job.insight_id ?? undefined)
  const steps = stepsOf(job, data?.lineage)
  if (steps.length === 0) return null
  const failed = data === undefined
  const whole = Math.max(sumOf(steps), 1)
  let from = 0
  return (
    <details className="facts" open={failed}>
      <summary>Timeline: {duration(whole)}</summary>
      <ol className="spans" aria-label="Steps of the run">
        {steps.map(({ name, ms }, nth) => {
          const at = from
          from += ms
          const ends = failed && nth === steps.length - 1
          return (
            <li key={name} className={ends ? 'failed' : undefined}>
              <span>
                {name}
                {ends && ' (failed)'}
              </span>
              <span className="span-track" aria-hidden="true">
                <span style={{ marginLeft: `${(100 * at) / whole}%`, width: `${(100 * ms) / whole}%` }} />
              </span>
              <span className="span-ms">{duration(ms)}</span>
            </li>
          )
        })}
      </ol>
    </details>
  )
}
