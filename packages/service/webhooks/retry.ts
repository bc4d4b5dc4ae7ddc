/**
 * Decides what follows an attempt. Pure: clock and randomness are parameters.
 *
 *   2xx                            delivered
 *   410, "webhook-delivery: disable"  the webhook is disabled; the delivery failed, unless it was a 2xx
 *   "webhook-delivery: abort-message" failed at once
 *   otherwise                      pending until the next step of the schedule, failed after the last
 *   429 and 503 with Retry-After   the webhook's other deliveries wait, too
 *   failures for a day             one event webhook.failing; after five days the webhook is disabled
 */
import { MONTHS } from '@assay/model/dates'
import type { Attempt } from '@assay/model/delivery'
import { failsForTooLong, isWarningDue, RETRY_SCHEDULE, type Webhook } from '@assay/model/webhook'
import type { AttemptOutcome } from '@assay/store/store'
import type { Directives } from './send.ts'

/** The largest random share by which a wait is made longer or shorter. */
const JITTER = 0.2
/** The longest wait in milliseconds that a receiver can ask for. */
export const RETRY_AFTER_MOST = 86_400_000
/** Milliseconds before the next try after 429 or 503 without Retry-After. */
const OVERLOADED_LEAST = 60_000
/** Longest wait in milliseconds of a webhook's other deliveries, so that one wrong answer does not stop them for a day. */
export const HOLD_MOST = 3_600_000
const OVERLOADED = new Set([429, 503])

export interface RetryInput {
  webhook: Pick<Webhook, 'retry_schedule' | 'failing_since' | 'warned_at'>
  record: Pick<Attempt, 'number' | 'status_code' | 'error'>
  directives: Directives
  /** The present time in milliseconds since 1970. */
  now: number
  /** Returns a random number from 0 to 1. */
  random: () => number
}

/** The three forms of RFC 9110, 5.6.7, and the numeric zones of RFC 5322. */
const DATE_FORMS = [
  /^(?:[a-z]{3}, )?(?<day>\d{1,2}) (?<month>[a-z]{3}) (?<year>\d{4}) (?<time>\d{2}:\d{2}(?::\d{2})?) (?<zone>gmt|utc?|z|[+-]\d{4})$/i,
  /^[a-z]{6,9}, (?<day>\d{2})-(?<month>[a-z]{3})-(?<year>\d{2}) (?<time>\d{2}:\d{2}:\d{2}) (?<zone>gmt)$/i,
  /^[a-z]{3} (?<month>[a-z]{3}) (?<day>[ \d]\d) (?<time>\d{2}:\d{2}:\d{2}) (?<year>\d{4})$/i,
]

/**
 * Returns the full year of two digits. A year more than 50 years ahead belongs to the previous century (RFC 9110).
 */
function fullYear(text: string, now: number): number {
  if (text.length === 4) return Number(text)
  const present = new Date(now).getUTCFullYear()
  const year = present - (present % 100) + Number(text)
  return year > present + 50 ? year - 100 : year
}

/** Parses a date to milliseconds since 1970; null if the text is not a date. */
export function parseHttpDate(text: string, now: number): number | null {
  const parts = DATE_FORMS.map((form) => form.exec(text)?.groups).find((groups) => groups !== undefined)
  if (!parts) return null
  const [hours, minutes, seconds = 0] = parts.time!.split(':').map(Number)
  const short = parts.month!.toLowerCase()
  const month = MONTHS.findIndex((name) => name.slice(0, 3).toLowerCase() === short)
  if (month < 0 || hours! > 23 || minutes! > 59 || seconds > 60) return null
  const zone = /^([+-])(\d{2})(\d{2})$/.exec(parts.zone ?? '')
  const offset = zone ? (zone[1] === '-' ? -1 : 1) * (Number(zone[2]) * 60 + Number(zone[3])) : 0
  return Date.UTC(fullYear(parts.year!, now), month, Number(parts.day), hours, minutes! - offset, seconds)
}

/**
 * Returns the milliseconds of a Retry-After header, at most RETRY_AFTER_MOST. Null if it is absent or cannot be read.
 */
export function parseRetryAfter(text: string | null, now: number): number | null {
  if (text === null) return null
  const trimmed = text.trim()
  const seconds = /^\d+(\.\d+)?$/.test(trimmed) ? Number(trimmed) * 1000 : null
  const date = seconds === null ? parseHttpDate(trimmed, now) : null
  const wait = seconds ?? (date === null ? null : Math.max(0, date - now))
  return wait === null ? null : Math.min(wait, RETRY_AFTER_MOST)
}

/**
 * Returns the milliseconds until the next try; null after the last step of the schedule. Jitter never shortens a wait
 * that the receiver asks for.
 */
export function nextWait({ webhook, record, directives, now, random }: RetryInput): number | null {
  const schedule = webhook.retry_schedule ?? RETRY_SCHEDULE
  const seconds = schedule[record.number - 1]
  if (seconds === undefined) return null
  const planned = seconds * 1000
  const overloaded = OVERLOADED.has(record.status_code ?? 0)
  const asked = parseRetryAfter(directives.retryAfter, now) ?? (overloaded ? OVERLOADED_LEAST : 0)
  const wait =
    asked > planned * (1 - JITTER)
      ? Math.max(asked, planned) * (1 + JITTER * random())
      : planned * (1 + JITTER * (2 * random() - 1))
  return Math.round(wait)
}

/**
 * Returns the milliseconds for which a webhook's other deliveries wait after 429 or 503 with Retry-After; undefined
 * if they do not wait.
 */
function holdFor({ record, directives, now }: RetryInput): number | undefined {
  if (!OVERLOADED.has(record.status_code ?? 0)) return undefined
  const asked = parseRetryAfter(directives.retryAfter, now)
  return asked ? Math.min(asked, HOLD_MOST) : undefined
}

function disableReason(input: RetryInput, control: string): string | null {
  if (input.record.status_code === 410) return 'The receiver answered 410 (gone).'
  if (control === 'disable') return 'The receiver asked for it (webhook-delivery: disable).'
  if (input.record.error !== null && failsForTooLong(input.webhook, input.now))
    return `Every attempt has failed since ${input.webhook.failing_since}.`
  return null
}

export function nextStep(
  input: RetryInput,
): Pick<AttemptOutcome, 'next' | 'hold_ms' | 'reached' | 'disable' | 'warn'> {
  const control = input.directives.control?.trim().toLowerCase() ?? ''
  const reason = disableReason(input, control)
  const disable = reason === null ? {} : { disable: { reason } }
  const warn = reason === null && isWarningDue(input.webhook, input.now) ? { warn: true as const } : {}
  if (input.record.error === null) return { next: { status: 'delivered' }, ...disable }
  const hold_ms = holdFor(input)
  const reached = input.directives.reached ? { reached: true as const } : {}
  const rest = { ...(hold_ms === undefined ? {} : { hold_ms }), ...reached, ...disable, ...warn }
  const unwanted = input.record.status_code === 410 || control === 'disable' || control === 'abort-message'
  const wait = unwanted ? null : nextWait(input)
  return { next: wait === null ? { status: 'failed' } : { status: 'pending', wait_ms: wait }, ...rest }
}
