/** The closed lists that forms and filters offer, with their labels. */
import type { AttemptErrorClass, DeliveryStatus } from '@assay/model/delivery'
import type { JobErrorCode } from '@assay/model/errors'
import type { EventType } from '@assay/model/event'
import type { Grade } from '@assay/model/insight'
import type { JobStatus } from '@assay/model/job'

export const JOB_STATUSES: readonly JobStatus[] = [
  'draft',
  'queued',
  'active',
  'executing',
  'completed',
  'canceled',
]
/** The grades of an insight in words for a reader. */
export const GRADE_WORDS: Record<Grade, string> = {
  firm: 'Clear',
  likely: 'Probable',
  unclear: 'Cannot tell',
  withheld: 'Withheld',
}
export const DELIVERY_STATUSES: readonly DeliveryStatus[] = ['pending', 'delivered', 'failed', 'canceled']
/** The events, in a few words. */
export const EVENT_WORDS: Record<EventType, string> = {
  'job.queued': 'a run waits',
  'job.started': 'a run begins',
  'job.completed': 'a run has its insight',
  'job.failed': 'a run failed',
  'job.canceled': 'a run was canceled',
  'schedule.failed': 'a schedule made no run',
  'webhook.test': 'a test',
  'subscription.confirm': 'a question whether mail is wanted',
  'webhook.failing': 'a webhook fails',
  'webhook.disabled': 'a webhook was disabled',
}
export const EVENT_TYPES = Object.keys(EVENT_WORDS) as EventType[]

/** The events that a person can choose. The others are sent without a choice. */
const TOLD_EVENTS = EVENT_TYPES.filter((type) => type !== 'webhook.test' && type !== 'subscription.confirm')

/** Returns the events in words, after "told when": "a run has its insight, a run failed". */
export const eventWords = (types: readonly EventType[]): string =>
  types.map((type) => EVENT_WORDS[type]).join(', ') || 'never'

/** The choices of events, in words for people and by name for programs. */
export const EVENT_OPTIONS = TOLD_EVENTS.map((value) => ({ value, label: EVENT_WORDS[value] }))
export const namedEvents = (types: readonly EventType[]) =>
  types.map((value) => ({ value, label: `${EVENT_WORDS[value]} (${value})` }))

/** The reasons why a schedule made no job at a due time, in a few words. */
const UNMADE: Record<string, string> = {
  missed: 'No node was running',
  invalid: 'Its variables do not fit the template',
  not_found: 'Its template is gone',
  reader_missing: 'It has no reader',
  queue_full: 'Too many jobs were waiting',
  workspace_busy: 'The workspace had used up its share',
}
export const unmadeWords = (code: string): string => UNMADE[code] ?? 'No job could be made'

export const JOB_WORDS: Record<JobStatus, string> = {
  draft: 'Not run yet',
  queued: 'Waits for a worker',
  active: 'Claimed by a worker',
  executing: 'Running',
  completed: 'It has ended with an insight.',
  canceled: 'It has ended without an insight.',
}

/** The reasons why a job failed, in a few words for a reader. */
export const FAILURES: Record<JobErrorCode, string> = {
  analysis_failed: 'A step of the report failed',
  template_invalid: 'The template has a fault',
  source_unavailable: 'Its data could not be read',
  reader_missing: 'It has no reader',
  memory_exceeded: 'It took too much memory',
  limit_exceeded: 'It wrote too much to disk',
  output_too_large: 'Its result is too large',
  timed_out: 'It took too long',
  worker_lost: 'Its machine was lost',
  canceled_by_user: 'A person canceled it',
}

/** The remedy of each job error, in words for a reader of the job. The list is that of docs/errors.md. */
export const REMEDIES: Record<string, string> = {
  analysis_failed: 'Open the template, correct the block that the error names, and run the job again.',
  template_invalid: 'Open the template in the editor, which marks each fault with its line.',
  source_unavailable:
    'Check that the source that the error names exists and can be read, then run the job again.',
  reader_missing:
    'Add the reader, or the attribute that the error names, under System, Readers, then run the job again.',
  memory_exceeded: 'Raise limits.memory in the template, or aggregate earlier in its SQL blocks.',
  limit_exceeded:
    'Aggregate or filter earlier in the SQL blocks of the template, so that less is written to disk.',
  output_too_large: 'Limit the rows that the tables and charts of the template show.',
  timed_out: 'Raise limits.timeout in the template, or read less data.',
  worker_lost: 'Look at the logs of the workers and at the memory of their machines, then run the job again.',
  canceled_by_user: 'A person canceled the job. Run it again if its insight is still needed.',
}

/** The meaning of each error class for the owner of the receiver. */
export const ADVICE: Record<AttemptErrorClass, string> = {
  dns: 'The host name could not be found: check its spelling and its DNS record.',
  refused: 'Nothing listens at that address and port: start the receiver, or open its firewall.',
  reset: 'The connection was cut before an answer: look at the receiver’s log.',
  tls: 'The certificate of the receiver was not accepted: renew it, with its whole chain.',
  timeout: 'The receiver did not answer within 15 seconds: answer first and work afterwards.',
  ssrf_blocked: 'The host leads to an address that webhooks may not reach here (ASSAY_WEBHOOK_TARGETS).',
  http_status: 'The answer and the log of the receiver say more.',
  smtp_status: 'The mail server refused the mail: its answer says why.',
  response_invalid: 'The answer was not HTTP: check that the address leads to the receiver.',
  request_invalid:
    'The request could not be made from a stored header or secret: set the headers and the secret again.',
}

/** The lifetimes of a link, in seconds. */
export const LINK_LIFETIMES = [
  { value: '3600', label: 'an hour' },
  { value: '86400', label: 'a day' },
  { value: '604800', label: 'seven days' },
  { value: '2592000', label: '30 days' },
  { value: '7776000', label: '90 days' },
  { value: '31622400', label: 'a year' },
] as const
