/**
 * Checks whether a history could come from a service that keeps its promises. Each entry is one answer or one message with
 * its time span, in milliseconds of one monotonic clock. Where one span ends before another begins, the first happened
 * before the second. Entries that are read at the end (`kept`, `moves`, `event`, `insight`) are the service's own records,
 * which must agree with the answers.
 */

import type { JobStatus, JobView } from '@assay/model/job'
import { attemptFaults, endFaults, insightFaults, moveFaults, sharedInsightFaults } from './history-jobs.ts'
import { deliveryFaults, eventFaults } from './history-messages.ts'
import { groupBy } from './history-order.ts'

interface Span {
  begun: number
  ended: number
}

export type Entry = Span &
  (
    | {
        /** One request to create, answered or not. Each creation has its own key, which may or may not be sent. */
        kind: 'asked'
        key: string
        presence_name: string | null
      }
    | { kind: 'created'; key: string; assignment_id: string }
    | { kind: 'ran'; assignment_id: string }
    /** A cancel that was answered with `canceled` by a person. */
    | { kind: 'canceled'; assignment_id: string }
    /** A request to delete, answered or not; and a deletion that succeeded. */
    | { kind: 'deleting'; assignment_id: string }
    | { kind: 'deleted'; assignment_id: string }
    /** An answer 404. */
    | { kind: 'missing'; assignment_id: string }
    | { kind: 'seen'; assignment_id: string; job: SeenJob }
    | { kind: 'insight'; assignment_id: string; insight_id: string; digest: string }
    /** A node's log line about what it wrote of an attempt. */
    | { kind: 'settled'; assignment_id: string; attempt: number; node: string; outcome: string }
    /** An entry of the list of jobs, read whole at the end. The key is that of the creation. */
    | { kind: 'kept'; assignment_id: string; key: string }
    | { kind: 'moves'; assignment_id: string; moves: SeenMove[] }
    /** An entry of the list of events, read whole at the end. */
    | { kind: 'event'; event_id: string; type: string; assignment_id: string; insight_id: string | null }
    | {
        kind: 'received'
        /** The name of the receiver. */
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

/** Returns the entry of an answer that shows a job. */
export function seenJob({
  assignment_id,
  job_status,
  attempt,
  insight_id,
  error,
  finished_at,
}: JobView): object {
  const job = { job_status, attempt, insight_id, error: error?.code ?? null, finished_at }
  return { kind: 'seen', assignment_id, job }
}

/** Returns the entry of the answer to a cancel. A job that had failed before stays as it ended. */
export function answeredCancel(job: JobView): object {
  const { assignment_id, error } = job
  return error?.code === 'canceled_by_user' ? { kind: 'canceled', assignment_id } : seenJob(job)
}

export interface SeenMove {
  job_status: JobStatus
  attempt: number
}

/** A webhook that must get every event it matches. */
export interface Subscription {
  receiver: string
  /** The event types; null for every type. */
  events: readonly string[] | null
  /** A job with a presence_name notifies those with the same name; a job without one notifies all. */
  presence_name: string
}

export type Of<Kind extends Entry['kind']> = Extract<Entry, { kind: Kind }>

export interface HistoryOptions {
  subscriptions: Subscription[]
}

/** Everything about one job. */
export interface JobStory {
  id: string
  seen: Of<'seen'>[]
  insights: Of<'insight'>[]
  moves: SeenMove[] | null
  settled: Of<'settled'>[]
  events: Of<'event'>[]
  received: Of<'received'>[]
  canceled: boolean
  /** True if a request to delete it was sent. What was not read or delivered before may be gone. */
  deleted: boolean
  presence_name: string | null
}

function pick<Kind extends Entry['kind']>(entries: Entry[], kind: Kind): Of<Kind>[] {
  return entries.filter((entry): entry is Of<Kind> => entry.kind === kind)
}

type Known = Exclude<Entry, { kind: 'asked' }>

/** Returns each broken promise as a sentence; empty if the history holds. */
export function checkHistory(entries: Entry[], { subscriptions }: HistoryOptions): string[] {
  const asked = pick(entries, 'asked')
  const known = entries.filter((entry): entry is Known => entry.kind !== 'asked')
  const ran = [...new Set(pick(entries, 'ran').map((entry) => entry.assignment_id))]
  const storyOf = storyTeller(entries)
  return [
    ...keyFaults(pick(entries, 'created'), pick(entries, 'kept'), asked),
    ...originFaults(known, asked),
    ...lossFaults(entries),
    ...ran
      .map(storyOf)
      .flatMap((story) => [
        ...endFaults(story),
        ...insightFaults(story),
        ...moveFaults(story),
        ...attemptFaults(story),
        ...eventFaults(story),
        ...deliveryFaults(story, subscriptions),
      ]),
    ...sharedInsightFaults(pick(entries, 'insight')),
  ]
}

function storyTeller(entries: Entry[]): (id: string) => JobStory {
  const by = <Kind extends Exclude<Entry['kind'], 'asked'>>(kind: Kind): Map<string, Of<Kind>[]> =>
    groupBy(pick(entries, kind), (entry) => (entry as Known).assignment_id)
  const [seen, insights, moves] = [by('seen'), by('insight'), by('moves')]
  const [settled, events, received] = [by('settled'), by('event'), by('received')]
  const [canceled, deleting, created] = [by('canceled'), by('deleting'), by('created')]
  const presences = new Map(pick(entries, 'asked').map((entry) => [entry.key, entry.presence_name]))
  return (id) => ({
    id,
    seen: seen.get(id) ?? [],
    insights: insights.get(id) ?? [],
    moves: moves.get(id)?.[0]?.moves ?? null,
    settled: settled.get(id) ?? [],
    events: events.get(id) ?? [],
    received: received.get(id) ?? [],
    canceled: canceled.has(id),
    deleted: deleting.has(id),
    presence_name: presences.get(created.get(id)?.[0]?.key ?? '') ?? null,
  })
}

/**
 * Returns the faults if a creation did not make exactly one job, however often it was requested and whether its answers
 * arrived.
 */
function keyFaults(created: Of<'created'>[], kept: Of<'kept'>[], asked: Of<'asked'>[]): string[] {
  const made = [...created, ...kept]
  const byKey = groupBy(made, (entry) => entry.key)
  const byId = groupBy(made, (entry) => entry.assignment_id)
  const several = (values: string[]): boolean => new Set(values).size > 1
  const keys = new Set(asked.map(({ key }) => key))
  return [
    ...[...byKey]
      .filter(([, group]) => several(group.map((entry) => entry.assignment_id)))
      .map(([key]) => `The key ${key} made more than one job.`),
    ...[...byId]
      .filter(([, group]) => several(group.map((entry) => entry.key)))
      .map(([id]) => `${id} was made by more than one key.`),
    ...kept
      .filter(({ key }) => !keys.has(key))
      .map(({ assignment_id, key }) => `${assignment_id} bears the key ${key}, which nobody sent.`),
  ]
}

/** Returns the faults if an answer shows a job before a request to create it was sent. */
function originFaults(entries: Known[], asked: Of<'asked'>[]): string[] {
  const firstAsked = new Map<string, number>()
  for (const { key, begun } of asked) firstAsked.set(key, Math.min(begun, firstAsked.get(key) ?? begun))
  const origins = new Map<string, number>()
  for (const entry of entries)
    if (entry.kind === 'created' || entry.kind === 'kept')
      origins.set(entry.assignment_id, firstAsked.get(entry.key) ?? entry.begun)
  return entries.flatMap((entry) => {
    const origin = origins.get(entry.assignment_id)
    if (origin === undefined)
      return [`${entry.assignment_id} was ${entry.kind}, yet no creation of it was accepted.`]
    return entry.ended < origin ? [`${entry.assignment_id} was ${entry.kind} before it was asked for.`] : []
  })
}

/**
 * Returns the faults if an accepted job is missing before a request to delete it was sent, or exists after its
 * deletion.
 */
function lossFaults(entries: Entry[]): string[] {
  const asks = groupBy(pick(entries, 'deleting'), (entry) => entry.assignment_id)
  const deletedAt = new Map(pick(entries, 'deleted').map((entry) => [entry.assignment_id, entry.ended]))
  const kept = pick(entries, 'kept')
  const there = new Set(kept.map((entry) => entry.assignment_id))
  const mayBeGone = (id: string, ended: number): boolean =>
    (asks.get(id) ?? []).some((ask) => ask.begun <= ended)
  return [
    ...pick(entries, 'missing')
      .filter(({ assignment_id, ended }) => !mayBeGone(assignment_id, ended))
      .map(({ assignment_id }) => `${assignment_id} was accepted and could not be found.`),
    // Without entries of this kind the list was not read.
    ...(kept.length === 0 ? [] : pick(entries, 'created'))
      .filter(({ assignment_id }) => !there.has(assignment_id) && !asks.has(assignment_id))
      .map(({ assignment_id }) => `${assignment_id} was accepted and is not in the list of jobs.`),
    ...[...pick(entries, 'seen'), ...kept]
      .filter(
        ({ assignment_id, begun }) => begun > (deletedAt.get(assignment_id) ?? Number.POSITIVE_INFINITY),
      )
      .map(({ assignment_id, kind }) => `${assignment_id} was ${kind} after it was deleted.`),
  ]
}
