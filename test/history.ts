/**
 * What clients and receivers saw of a service, and whether it can be true of one that keeps its promises. Each entry
 * is one answer or one message, with the span in which it came about (milliseconds of one monotonic clock): where one
 * span ends before another begins, the first happened before the second.
 */
import type { JobStatus } from '../src/job.ts'

interface Span {
  begun: number
  ended: number
}

export type Entry = Span &
  (
    | { kind: 'created'; key: string; assignment_id: string }
    | { kind: 'ran'; assignment_id: string }
    /** A cancel that was answered with `canceled`. */
    | { kind: 'canceled'; assignment_id: string }
    | { kind: 'seen'; assignment_id: string; job: SeenJob }
    | { kind: 'insight'; assignment_id: string; insight_id: string; digest: string }
    /** From the list of events, read whole at the end. */
    | { kind: 'event'; event_id: string; type: string; assignment_id: string; insight_id: string | null }
    | {
        kind: 'received'
        /** Which receiver. */
        receiver: string
        /** The header webhook-id. */
        event_id: string
        type: string
        assignment_id: string
        insight_id: string | null
        verified: boolean
        digest: string
      }
  )

export interface SeenJob {
  job_status: JobStatus
  attempt: number
  insight_id: string | null
  error: string | null
  finished_at: string | null
}

type Of<Kind extends Entry['kind']> = Extract<Entry, { kind: Kind }>

const ENDS: Record<string, JobStatus> = {
  'job.completed': 'completed',
  'job.failed': 'canceled',
  'job.canceled': 'canceled',
}

const isEnd = (status: JobStatus): boolean => status === 'completed' || status === 'canceled'

/** How far a job has come: it may only rise. Queued after an attempt is further than that attempt. */
function rank({ job_status, attempt }: SeenJob): number {
  if (isEnd(job_status)) return Number.POSITIVE_INFINITY
  if (job_status === 'draft') return -1
  return attempt * 3 + { active: 0, executing: 1, queued: 2 }[job_status as 'active' | 'executing' | 'queued']
}

function groupBy<T>(items: T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}

/** `receivers` that must have got every event. Answers each broken promise as a sentence; none: the history holds. */
export function checkHistory(entries: Entry[], { receivers }: { receivers: string[] }): string[] {
  const of = <Kind extends Entry['kind']>(kind: Kind): Of<Kind>[] =>
    entries.filter((entry): entry is Of<Kind> => entry.kind === kind)
  const created = new Map(of('created').map((entry) => [entry.assignment_id, entry]))
  const events = groupBy(of('event'), (entry) => entry.assignment_id)
  const received = groupBy(of('received'), (entry) => entry.assignment_id)
  const seen = groupBy(of('seen'), (entry) => entry.assignment_id)
  const insights = groupBy(of('insight'), (entry) => entry.assignment_id)
  const canceled = new Set(of('canceled').map((entry) => entry.assignment_id))
  return [
    ...keyFaults(of('created')),
    ...unknownFaults(entries, created),
    ...[...new Set(of('ran').map((entry) => entry.assignment_id))].flatMap((id) => [
      ...endFaults(id, seen.get(id) ?? [], canceled.has(id)),
      ...insightFaults(id, seen.get(id) ?? [], insights.get(id) ?? []),
      ...eventFaults(id, seen.get(id) ?? [], events.get(id) ?? []),
      ...deliveryFaults(id, events.get(id) ?? [], received.get(id) ?? [], receivers),
    ]),
    ...sharedInsightFaults(of('insight')),
  ]
}

function keyFaults(created: Of<'created'>[]): string[] {
  const byKey = groupBy(created, (entry) => entry.key)
  const byId = groupBy(created, (entry) => entry.assignment_id)
  const several = (values: string[]): boolean => new Set(values).size > 1
  return [
    ...[...byKey]
      .filter(([, group]) => several(group.map((entry) => entry.assignment_id)))
      .map(([key]) => `The idempotency key ${key} made more than one job.`),
    ...[...byId]
      .filter(([, group]) => several(group.map((entry) => entry.key)))
      .map(([id]) => `${id} was made by more than one key.`),
  ]
}

/** Nothing is seen of a job before somebody asked for it. */
function unknownFaults(entries: Entry[], created: Map<string, Of<'created'>>): string[] {
  return entries.flatMap((entry) => {
    const origin = created.get(entry.assignment_id)
    if (!origin) return [`${entry.assignment_id} was ${entry.kind}, yet no creation of it was accepted.`]
    return entry.ended < origin.begun
      ? [`${entry.assignment_id} was ${entry.kind} before it was asked for.`]
      : []
  })
}

function endFaults(id: string, seen: Of<'seen'>[], wasCanceled: boolean): string[] {
  const ends = seen.filter(({ job }) => isEnd(job.job_status))
  if (ends.length === 0) return [`${id} was accepted and has not ended.`]
  const faults: string[] = []
  const forms = new Set(ends.map(({ job }) => JSON.stringify(job)))
  if (forms.size > 1) faults.push(`${id} has ended in different ways: ${[...forms].join(' and ')}.`)
  const [{ job }] = ends as [Of<'seen'>]
  if (wasCanceled && job.error !== 'canceled_by_user')
    faults.push(`${id} was canceled by a person and ended as ${job.job_status} (${job.error}).`)
  const inOrder = seen.toSorted((a, b) => a.begun - b.begun)
  // The furthest state whose answer had come before the present question was asked.
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

function insightFaults(id: string, seen: Of<'seen'>[], insights: Of<'insight'>[]): string[] {
  const end = seen.find(({ job }) => isEnd(job.job_status))?.job
  if (!end) return []
  if (end.job_status === 'canceled') {
    return [
      ...(end.insight_id === null && insights.length === 0 ? [] : [`${id} is canceled and has an insight.`]),
      ...(end.error === null ? [`${id} is canceled without a reason.`] : []),
    ]
  }
  const own = insights.filter((insight) => insight.insight_id === end.insight_id)
  return [
    ...(own.length === 0 ? [`${id} is completed and its insight cannot be read.`] : []),
    ...(own.length < insights.length ? [`${id} has more than one insight.`] : []),
    ...(new Set(own.map((insight) => insight.digest)).size > 1 ? [`The insight of ${id} has changed.`] : []),
  ]
}

function sharedInsightFaults(insights: Of<'insight'>[]): string[] {
  return [...groupBy(insights, (entry) => entry.insight_id)]
    .filter(([, group]) => new Set(group.map((entry) => entry.assignment_id)).size > 1)
    .map(([insight_id]) => `The insight ${insight_id} belongs to more than one job.`)
}

function eventFaults(id: string, seen: Of<'seen'>[], events: Of<'event'>[]): string[] {
  const end = seen.find(({ job }) => isEnd(job.job_status))?.job
  const ends = events.filter((event) => event.type in ENDS)
  if (!end) return []
  if (ends.length !== 1) return [`${id} has ${ends.length} events of its end.`]
  const [event] = ends as [Of<'event'>]
  const byPerson = end.error === 'canceled_by_user'
  const wanted = end.job_status === 'completed' ? 'job.completed' : byPerson ? 'job.canceled' : 'job.failed'
  if (event.type !== wanted || event.insight_id !== end.insight_id)
    return [
      `${id} ended as ${wanted} (${end.insight_id}) and its event says ${event.type} (${event.insight_id}).`,
    ]
  return []
}

function deliveryFaults(
  id: string,
  events: Of<'event'>[],
  received: Of<'received'>[],
  receivers: string[],
): string[] {
  const known = new Map(events.map((event) => [event.event_id, event]))
  const faults = received.flatMap((message) => {
    const event = known.get(message.event_id)
    if (!event) return [`${id}: ${message.receiver} got the event ${message.event_id}, which there is not.`]
    const same = event.type === message.type && event.insight_id === message.insight_id
    return [
      ...(same ? [] : [`${id}: ${message.receiver} got ${message.event_id} with another content.`]),
      ...(message.verified
        ? []
        : [`${id}: ${message.receiver} got ${message.event_id} with a wrong signature.`]),
    ]
  })
  for (const receiver of receivers) {
    const own = groupBy(
      received.filter((message) => message.receiver === receiver),
      (message) => message.event_id,
    )
    for (const event of events) {
      const messages = own.get(event.event_id) ?? []
      if (messages.length === 0) faults.push(`${id}: ${receiver} never got ${event.type} ${event.event_id}.`)
      if (new Set(messages.map((message) => message.digest)).size > 1)
        faults.push(`${id}: ${receiver} got ${event.event_id} with different bytes.`)
    }
  }
  return faults
}
