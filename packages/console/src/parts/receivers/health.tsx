/**
 * Shows the health of a webhook or subscription in one phrase, and for a failing one what happens to its deliveries.
 */
import type { ReceiverView } from '../../receivers.ts'
import { breakerWords } from '../../troubles.ts'
import { reasonWords } from '../../words/why.ts'
import { Time } from '../show.tsx'

type Told = Pick<
  ReceiverView,
  'status' | 'failing_since' | 'failing_reason' | 'disabled_reason' | 'held_reason' | 'breaker'
>

export function HealthWord({ status, failing_since }: Pick<Told, 'status' | 'failing_since'>) {
  if (status === 'disabled') return <span className="state state-failed">✕ disabled</span>
  if (failing_since !== null)
    return (
      <span className="state state-failed">
        ▲ failing since <Time at={failing_since} />
      </span>
    )
  return <span className="state state-delivered">✓ enabled</span>
}

/** Shows the error of the last failed attempt. */
function Reason({ reason }: { reason: string | null }) {
  if (reason === null) return null
  return (
    <>
      The last error: {reasonWords(reason)}
      {!/[.!?]$/.test(reason) && '.'}
    </>
  )
}

export function HealthNotice(told: Told) {
  const { status, failing_since, failing_reason, disabled_reason, held_reason } = told
  if (status === 'disabled')
    return (
      <p className="notice" role="status">
        Disabled{disabled_reason === null ? '' : `: ${disabled_reason}`}. Pending deliveries wait, and new
        events are not kept. <Reason reason={failing_reason} />
      </p>
    )
  if (held_reason !== null)
    return (
      <p className="notice" role="status">
        Its deliveries are held back. {held_reason}
      </p>
    )
  if (failing_since === null) return null
  return (
    <p className="notice" role="status">
      Every attempt has failed since <Time at={failing_since} exact />. <Reason reason={failing_reason} />{' '}
      {breakerWords(told)} Sending stops after five days of failures. A delivery below shows the request and
      the answer.
    </p>
  )
}
