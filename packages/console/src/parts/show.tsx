/** Small components of many pages: times, durations, states, ids, text to copy. */

import type { DeliveryStatus } from '@assay/model/delivery'
import type { JobStatus } from '@assay/model/job'
import { useState } from 'react'
import { ago } from '../words/durations.ts'

const moment = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
export function Time({ at, exact = false }: { at: string | null; exact?: boolean }) {
  if (at === null) return <>–</>
  const full = moment.format(new Date(at))
  return (
    <time dateTime={at} title={exact ? at : `${full} (${at})`}>
      {exact ? full : ago(at)}
    </time>
  )
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

/** Shows a state as a word and a sign, so that it never depends on colour alone. */
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

export function Copy({
  text,
  label = 'Copy',
  look = 'quiet small',
}: {
  text: string
  label?: string
  look?: string
}) {
  const [done, setDone] = useState(false)
  return (
    <button
      type="button"
      className={`button ${look}`}
      onClick={() => {
        void navigator.clipboard.writeText(text).then(() => setDone(true))
      }}
    >
      {done ? 'Copied' : label}
    </button>
  )
}

/** Shows a secret, which is shown only once. */
export function Secret({ label, value }: { label: string; value: string }) {
  return (
    <div className="secret" role="status">
      <p>
        <strong>{label}.</strong> It is shown only now: keep it.
      </p>
      <p>
        <code>{value}</code> <Copy text={value} />
      </p>
    </div>
  )
}
