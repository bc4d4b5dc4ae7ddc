/** Checks the messages of one job: its events follow its states, and each reached every matching webhook. */
import { ENDING_EVENTS } from '@assay/model/event'
import { isFinal } from '@assay/model/job'
import type { JobStory, Of, Subscription } from './history.ts'
import { endOf } from './history-jobs.ts'
import { groupBy } from './history-order.ts'

const isEnding = (type: string): boolean => (ENDING_EVENTS as readonly string[]).includes(type)

export function eventFaults(story: JobStory): string[] {
  const { id, events, moves } = story
  const end = endOf(story)
  if (!end) return []
  const ends = events.filter((event) => isEnding(event.type))
  if (ends.length !== 1) return [`${id} has ${ends.length} events of its end.`]
  const [event] = ends as [Of<'event'>]
  const byPerson = end.error === 'canceled_by_user'
  const wanted = end.job_status === 'completed' ? 'job.completed' : byPerson ? 'job.canceled' : 'job.failed'
  const faults: string[] = []
  if (event.type !== wanted || event.insight_id !== end.insight_id)
    faults.push(
      `${id} ended as ${wanted} (${end.insight_id}) and its event says ${event.type} (${event.insight_id}).`,
    )
  for (const [type, status] of [
    ['job.queued', 'queued'],
    ['job.started', 'executing'],
  ] as const) {
    const told = events.filter((one) => one.type === type).length
    const moved = moves?.filter((move) => !isFinal(move.job_status) && move.job_status === status).length
    if (moved !== undefined && moved !== told)
      faults.push(`${id} was ${status} ${moved} times and has ${told} events ${type}.`)
  }
  return faults
}

function isFor(subscription: Subscription, presence_name: string | null, type: string): boolean {
  if (presence_name !== null && presence_name !== subscription.presence_name) return false
  return subscription.events === null || subscription.events.includes(type)
}

export function deliveryFaults(story: JobStory, subscriptions: Subscription[]): string[] {
  const { id, events, received, deleted, presence_name } = story
  const known = new Map(events.map((event) => [event.event_id, event]))
  const faults = received.flatMap((message) => messageFaults(id, message, known.get(message.event_id)))
  for (const subscription of subscriptions) {
    const { receiver } = subscription
    const own = groupBy(
      received.filter((message) => message.receiver === receiver),
      (message) => message.event_id,
    )
    for (const event of events) {
      const messages = own.get(event.event_id) ?? []
      const wanted = isFor(subscription, presence_name, event.type)
      if (messages.length === 0 && wanted && !deleted)
        faults.push(`${id}: ${receiver} never got ${event.type} ${event.event_id}.`)
      if (messages.length > 0 && !wanted)
        faults.push(`${id}: ${receiver} got ${event.type} ${event.event_id}, which is not for it.`)
      if (new Set(messages.map((message) => message.digest)).size > 1)
        faults.push(`${id}: ${receiver} got ${event.event_id} with different bytes.`)
    }
  }
  return faults
}

function messageFaults(id: string, message: Of<'received'>, event: Of<'event'> | undefined): string[] {
  const { receiver, event_id } = message
  if (!event) return [`${id}: ${receiver} got the event ${event_id}, which there is not.`]
  const same = event.type === message.type && event.insight_id === message.insight_id
  return [
    ...(same ? [] : [`${id}: ${receiver} got ${event_id} with another content.`]),
    ...(message.verified ? [] : [`${id}: ${receiver} got ${event_id} with a wrong signature.`]),
  ]
}
