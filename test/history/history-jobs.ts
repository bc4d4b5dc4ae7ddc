/** Checks one job: it ends exactly once, has one insight, and its attempts follow one another. */
import { isFinal, mayMove } from '@assay/model/job'
import type { JobStory, Of, SeenJob } from './history.ts'
import { groupBy } from './history-order.ts'

export function endOf({ seen }: Pick<JobStory, 'seen'>): SeenJob | undefined {
  return seen.find(({ job }) => isFinal(job.job_status))?.job
}

/** Returns the progress of a job as a rank, which may only rise. Queued after an attempt ranks above that attempt. */
function rank({ job_status, attempt }: SeenJob): number {
  if (isFinal(job_status)) return Number.POSITIVE_INFINITY
  if (job_status === 'draft') return -1
  return attempt * 3 + { active: 0, executing: 1, queued: 2 }[job_status as 'active' | 'executing' | 'queued']
}

export function endFaults({ id, seen, canceled, deleted }: JobStory): string[] {
  const ends = seen.filter(({ job }) => isFinal(job.job_status))
  if (ends.length === 0) return deleted ? [] : [`${id} was accepted and has not ended.`]
  const faults: string[] = []
  const forms = new Set(ends.map(({ job }) => JSON.stringify(job)))
  if (forms.size > 1) faults.push(`${id} has ended in different ways: ${[...forms].join(' and ')}.`)
  const [{ job }] = ends as [Of<'seen'>]
  if (canceled && job.error !== 'canceled_by_user')
    faults.push(`${id} was canceled by a person and ended as ${job.job_status} (${job.error}).`)
  return [...faults, ...backwardFaults(id, seen)]
}

function backwardFaults(id: string, seen: Of<'seen'>[]): string[] {
  const faults: string[] = []
  const inOrder = seen.toSorted((a, b) => a.begun - b.begun)
  // The furthest state that was answered before this request was sent.
  const answers = seen.toSorted((a, b) => a.ended - b.ended)
  let next = 0
  let furthest = Number.NEGATIVE_INFINITY
  for (const entry of inOrder) {
    while (next < answers.length && answers[next]!.ended < entry.begun) {
      furthest = Math.max(furthest, rank(answers[next]!.job))
      next += 1
    }
    if (rank(entry.job) < furthest)
      faults.push(`${id} went back: it was seen as ${JSON.stringify(entry.job)} after a later state.`)
  }
  return faults
}

export function insightFaults(story: JobStory): string[] {
  const { id, insights, deleted } = story
  const end = endOf(story)
  if (!end) return []
  if (end.job_status === 'canceled') {
    return [
      ...(end.insight_id === null && insights.length === 0 ? [] : [`${id} is canceled and has an insight.`]),
      ...(end.error === null ? [`${id} is canceled without a reason.`] : []),
    ]
  }
  const own = insights.filter((insight) => insight.insight_id === end.insight_id)
  return [
    ...(own.length === 0 && !deleted ? [`${id} is completed and its insight cannot be read.`] : []),
    ...(own.length < insights.length ? [`${id} has more than one insight.`] : []),
    ...(new Set(own.map((insight) => insight.digest)).size > 1 ? [`The insight of ${id} has changed.`] : []),
  ]
}

export function sharedInsightFaults(insights: Of<'insight'>[]): string[] {
  return [...groupBy(insights, (entry) => entry.insight_id)]
    .filter(([, group]) => new Set(group.map((entry) => entry.assignment_id)).size > 1)
    .map(([insight_id]) => `The insight ${insight_id} belongs to more than one job.`)
}

/**
 * Checks the moves of a job as the service kept them: each attempt is given back before the next begins, and there is
 * one end.
 */
export function moveFaults(story: JobStory): string[] {
  const { id, moves, seen } = story
  if (moves === null) return []
  const faults: string[] = []
  for (const [index, move] of moves.entries()) {
    const before = moves[index - 1] ?? null
    if (before === null) continue
    if (!mayMove(before.job_status, move.job_status))
      faults.push(`${id} moved from ${before.job_status} to ${move.job_status}.`)
    const rise = move.job_status === 'active' ? 1 : 0
    if (move.attempt !== before.attempt + rise)
      faults.push(`${id} became ${move.job_status} with attempt ${move.attempt} after ${before.attempt}.`)
  }
  const ends = moves.filter((move) => isFinal(move.job_status))
  const end = endOf(story)
  if (end && (ends.length !== 1 || ends[0]!.job_status !== end.job_status))
    faults.push(
      `${id} was seen to end as ${end.job_status}, its moves end as ${ends.map((move) => move.job_status).join() || 'nothing'}.`,
    )
  const known = new Set(moves.map((move) => `${move.job_status} ${move.attempt}`))
  const strange = seen.find(({ job }) => !known.has(`${job.job_status} ${job.attempt}`))
  if (strange) faults.push(`${id} was seen as ${JSON.stringify(strange.job)}, and never moved there.`)
  return faults
}

const ENDING = new Set(['completed', 'failed'])

/** Checks what the nodes logged: at most one attempt ended the job, and each attempt was given back at most once. */
export function attemptFaults(story: JobStory): string[] {
  const { id, settled } = story
  const end = endOf(story)
  const wrote = settled.filter(({ outcome }) => ENDING.has(outcome))
  const faults: string[] = []
  if (wrote.length > 1)
    faults.push(
      `${id} was ended by ${wrote.length} attempts: ${wrote.map((one) => `${one.attempt} on ${one.node}`).join(', ')}.`,
    )
  if (end && wrote[0] && wrote[0].attempt !== end.attempt)
    faults.push(`${id} was ended by attempt ${wrote[0].attempt} and shows ${end.attempt}.`)
  if (end && wrote[0] && end.error === 'canceled_by_user')
    faults.push(`${id} was canceled by a person and then ended by an attempt.`)
  for (const [attempt, group] of groupBy(settled, (one) => String(one.attempt))) {
    const owners = new Set(group.map(({ node }) => node))
    if (owners.size > 1) faults.push(`${id}: attempt ${attempt} ran on ${[...owners].join(' and ')}.`)
  }
  return faults
}
