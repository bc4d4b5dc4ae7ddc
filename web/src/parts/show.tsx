/** Small things that many pages show: times, durations, states, ids, text to copy. */
import { useState } from 'react'
import type { DeliveryStatus } from '../../../src/delivery.ts'
import type { JobStatus } from '../../../src/job.ts'

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const STEPS = [
  ['second', 60],
  ['minute', 60],
  ['hour', 24],
  ['day', 30],
] as const

/** "3 minutes ago"; beyond a month the day. */
export function ago(at: string, now = Date.now()): string {
  let span = (Date.parse(at) - now) / 1000
  for (const [unit, most] of STEPS) {
    if (Math.abs(span) < most) return relative.format(Math.round(span), unit)
    span /= most
  }
  return at.slice(0, 10)
}

export function Time({ at, exact = false }: { at: string | null; exact?: boolean }) {
  if (at === null) return <>–</>
  const full = moment.format(new Date(at))
  return (
    <time dateTime={at} title={exact ? at : `${full} (${at})`}>
      {exact ? full : ago(at)}
    </time>
  )
}

export function duration(ms: number): string {
  if (ms < 1000) return `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`
  return `${Math.floor(ms / 3_600_000)} h ${Math.round((ms % 3_600_000) / 60_000)} min`
}

export function between(from: string | null, to: string | null): string {
  return from === null || to === null ? '–' : duration(Date.parse(to) - Date.parse(from))
}

const STATE_SIGNS: Record<JobStatus | DeliveryStatus, string> = {
  draft: '○',
  queued: '◔',
  active: '◑',
  executing: '◕',
  completed: '✓',
  canceled: '✕',
  pending: '◔',
  delivered: '✓',
  failed: '✕',
}

/** A state in word and sign, so that its colour is never the only thing that tells. */
export function State({ status }: { status: JobStatus | DeliveryStatus }) {
  return (
    <span className={`state state-${status}`}>
      <span aria-hidden="true">{STATE_SIGNS[status]}</span> {status}
    </span>
  )
}

export function ShortId({ id }: { id: string }) {
  return (
    <code className="id" title={id}>
      {id.slice(0, 8)}…{id.slice(-4)}
    </code>
  )
}

export function Copy({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [done, setDone] = useState(false)
  return (
    <button
      type="button"
      className="button quiet small"
      onClick={() => {
        void navigator.clipboard.writeText(text).then(() => setDone(true))
      }}
    >
      {done ? 'Copied' : label}
    </button>
  )
}

/** A secret that is shown this once. */
export function Secret({ label, value }: { label: string; value: string }) {
  return (
    <div className="secret" role="status">
      <p>
        <strong>{label}.</strong> It is shown this once: keep it now.
      </p>
      <p>
        <code>{value}</code> <Copy text={value} />
      </p>
    </div>
  )
}
