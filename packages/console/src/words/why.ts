/** Explains in one sentence why a delivery has not arrived or was never created, from the API's data alone. Pure. */
import type { Attempt, DeliveryView } from '@assay/model/delivery'
import type { EventType } from '@assay/model/event'
import type { JobView } from '@assay/model/job'
import { ADVICE, EVENT_WORDS, eventWords } from '../names.ts'
import type { Noun, ReceiverView } from '../receivers.ts'
import { ago } from './durations.ts'

function times(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`
}

function lastFault({ error, status_code }: Attempt): string {
  if (error === null) return ''
  const what = status_code === null ? '' : ` with the answer ${status_code}`
  return ` The last attempt failed${what}: ${error.detail} ${ADVICE[error.class]}`
}

/** Returns the stored error of a receiver, "class: detail", without its class, which is a name for programs. */
export const reasonWords = (reason: string): string => reason.replace(/^[a-z_]+: /, '')

/** Returns the sentence of an existing delivery. `attempts`: oldest first. */
export function whyDelivery(
  delivery: DeliveryView & { attempts: readonly Attempt[] },
  receiver: Pick<ReceiverView, 'status' | 'disabled_reason' | 'breaker'> | undefined,
  noun: Noun,
  now = Date.now(),
): string {
  const { status, attempts, next_attempt_at } = delivery
  const last = attempts.at(-1)
  const fault = last ? lastFault(last) : ''
  const tried = attempts.length
  switch (status) {
    case 'delivered':
      return `The delivery arrived: the receiver answered ${last?.status_code ?? '2xx'} ${last ? ago(last.started_at, now) : ''}${tried > 1 ? `, at attempt ${tried}` : ''}.`
    case 'canceled':
      return `The delivery was canceled before it arrived, by a person or because its ${noun} was deleted. Send it again if it is still needed.`
    case 'failed':
      return `The delivery was tried ${times(tried)}, as often as the ${noun} allows, and has failed.${fault} Then send it again.`
    case 'pending':
      if (receiver?.status === 'disabled')
        return `The delivery waits because its ${noun} is disabled${receiver.disabled_reason === null ? '' : ` (${receiver.disabled_reason})`}. Enable the ${noun} to send it at once.${fault}`
      if (receiver && receiver.breaker.state === 'open')
        return `The delivery waits because its ${noun} has failed ${times(receiver.breaker.failures)} in a row, so sending to it pauses: the next try is ${ago(receiver.breaker.until ?? next_attempt_at ?? new Date(now).toISOString(), now)}.${fault}`
      if (tried === 0) return 'The delivery is about to be sent for the first time.'
      return `The delivery was tried ${times(tried)} without success and will be tried again ${next_attempt_at === null ? 'soon' : ago(next_attempt_at, now)}.${fault}`
  }
}

function endingEvent({ job_status, error }: JobView): EventType | null {
  if (job_status === 'completed') return 'job.completed'
  if (job_status !== 'canceled') return null
  return error?.code === 'canceled_by_user' ? 'job.canceled' : 'job.failed'
}

/** Returns the sentence of a job that has no delivery at the receiver. */
export function whyNone(job: JobView, receiver: ReceiverView, noun: Noun): string {
  const { subscription_id, presence_name, events, status, created_at, include_skipped = false } = receiver
  const ending = endingEvent(job)
  if (subscription_id !== undefined) {
    if (job.presence_name !== presence_name && !job.notify.includes(subscription_id))
      return 'The job was not sent to this subscription: it was not chosen under “Tell”, and it does not have the receiver name of the job. Choose it under “Tell” when you run the template.'
  } else if (job.presence_name !== null && job.presence_name !== presence_name)
    return `The job names the receiver “${job.presence_name}”, and this ${noun} is called “${presence_name}”. A job notifies only the webhooks with the receiver name that it gives.`
  if (job.skipped !== null && !include_skipped)
    return `The job completed, but its template had nothing to tell by its condition (deliver_if). ${noun === 'webhook' ? 'No webhook is told of such a job' : 'This subscription leaves out skipped runs'}.`
  if (job.job_status === 'draft') return 'The job was created and never run, so it has no event to send.'
  if (ending === null)
    return `The job has not ended (${job.job_status}): its event is sent when it ends. ${events.includes('job.started') ? '' : `This ${noun} is not told when a run begins.`}`.trim()
  if (!events.includes(ending))
    return `The job ended so: ${EVENT_WORDS[ending]}. This ${noun} is told only when ${eventWords(events)}. Choose “${EVENT_WORDS[ending]}” (${ending}) in its settings.`
  if (job.finished_at !== null && job.finished_at < created_at)
    return `The job ended before this ${noun} was created. Recover with “events that were never sent” to send it now.`
  if (status === 'disabled')
    return `The ${noun} is disabled, and no event is kept for it meanwhile. Enable it, then recover with “events that were never sent”.`
  return `No delivery of this job is kept for this ${noun}. It was disabled when the job ended, or the delivery was deleted since: recover with “events that were never sent”.`
}
