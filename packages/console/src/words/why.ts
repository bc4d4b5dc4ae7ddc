/** Explains in one sentence why a delivery has not arrived or was never created, from the API's data alone. Pure. */
import type { Attempt, DeliveryView } from '@assay/model/delivery'
import type { EventType } from '@assay/model/event'
import type { JobView } from '@assay/model/job'
import { ADVICE } from '../names.ts'
import type { Noun, ReceiverView } from '../receivers.ts'
import { ago } from './durations.ts'

function times(count: number): string {
  return count === 1 ? 'once' : count === 2 ? 'twice' : `${count} times`
}

function lastFault({ error, status_code }: Attempt): string {
  if (error === null) return ''
  const what = status_code === null ? error.class : `${error.class} ${status_code}`
  return ` The last time: ${what}, ${error.detail} ${ADVICE[error.class]}`
}

/** The sentence of an existing delivery. `attempts` oldest first. */
export function whyDelivery(
  delivery: DeliveryView & { attempts: readonly Attempt[] },
  receiver: Pick<ReceiverView, 'status' | 'disabled_reason'> | undefined,
  noun: Noun,
  now = Date.now(),
): string {
  const { status, attempts, next_attempt_at } = delivery
  const last = attempts.at(-1)
  const fault = last ? lastFault(last) : ''
  const tried = attempts.length
  switch (status) {
    case 'delivered':
      return `It arrived: the receiver answered ${last?.status_code ?? '2xx'} ${last ? ago(last.started_at, now) : ''}${tried > 1 ? `, at try ${tried}` : ''}.`
    case 'canceled':
      return `It was canceled before it arrived, by somebody or because its ${noun} was removed. Send it again if it is still wanted.`
    case 'failed':
      return `It was tried ${times(tried)}, as often as the schedule of the ${noun} says, and is given up.${fault} Then send it again.`
    case 'pending':
      if (receiver?.status === 'disabled')
        return `It waits because its ${noun} is disabled${receiver.disabled_reason === null ? '' : ` (${receiver.disabled_reason})`}. Enable it and it is sent at once.${fault}`
      if (tried === 0) return 'It is about to be sent for the first time.'
      return `It was tried ${times(tried)} without success and will be tried again ${next_attempt_at === null ? 'soon' : ago(next_attempt_at, now)}.${fault}`
  }
}

function endingEvent({ job_status, error }: JobView): EventType | null {
  if (job_status === 'completed') return 'job.completed'
  if (job_status !== 'canceled') return null
  return error?.code === 'canceled_by_user' ? 'job.canceled' : 'job.failed'
}

/** The sentence of a job that has no delivery at the receiver. */
export function whyNone(job: JobView, receiver: ReceiverView, noun: Noun): string {
  const { presence_name, events, status, created_at, include_skipped = false } = receiver
  const ending = endingEvent(job)
  if (job.presence_name !== null && job.presence_name !== presence_name)
    return `The job was created with the presence name “${job.presence_name}”, and this ${noun} bears “${presence_name}”: only ${noun}s of the job’s name are told.`
  if (job.skipped !== null && !include_skipped)
    return `The job completed, but its template’s deliver_if was not met, so ${noun === 'webhook' ? 'nobody was told' : 'it was not told here: the subscription leaves out what was skipped'}.`
  if (job.job_status === 'draft')
    return 'The job was created but never run: nothing has happened that could be told.'
  if (ending === null)
    return `The job is still ${job.job_status}: its end will be told. ${events.includes('job.started') ? '' : `This ${noun} is not told of beginnings.`}`.trim()
  if (!events.includes(ending))
    return `The job ended with ${ending}, and this ${noun} is told only of ${events.join(', ') || 'nothing'}. Add the event to it.`
  if (job.finished_at !== null && job.finished_at < created_at)
    return `The job ended before this ${noun} was made. Recover with “events that were never sent” to send it now.`
  if (status === 'disabled')
    return `The ${noun} is disabled, and what happens meanwhile is not kept for it. Enable it, then recover with “events that were never sent”.`
  return 'No delivery of this job is kept here. It may have happened while it was disabled, or been cleaned up since: recover with “events that were never sent”.'
}
