/** Shows the deliveries of a webhook or subscription, newest first. */

import type { DeliveryStatus, DeliveryView } from '@assay/model/delivery'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { DELIVERY_STATUSES, EVENT_WORDS } from '../../names.ts'
import { callsOf, REFRESH_MS, type Receiver } from '../../receivers.ts'
import { SelectField } from '../field.tsx'
import { ListTable } from '../lists/list-table.tsx'
import { Paged, usePaged } from '../lists/paged.tsx'
import { Empty } from '../page.tsx'
import { ShortId, State, Time } from '../show.tsx'

interface LinkProps {
  receiver: Receiver
  delivery_id: string
  children: ReactNode
}

export function DeliveryLink({ receiver: { noun, id }, delivery_id, children }: LinkProps) {
  return noun === 'webhook' ? (
    <Link to="/webhooks/$webhook_id/deliveries/$delivery_id" params={{ webhook_id: id, delivery_id }}>
      {children}
    </Link>
  ) : (
    <Link
      to="/subscriptions/$subscription_id/deliveries/$delivery_id"
      params={{ subscription_id: id, delivery_id }}
    >
      {children}
    </Link>
  )
}

/** Shows when a delivery is tried next. A due delivery waits while sending pauses. */
function Next({ at, paused }: { at: string; paused: string | null }) {
  const waits = paused !== null && at < paused
  return (
    <>
      , next <Time at={waits ? paused : at} />
      {waits && ', after the pause'}
    </>
  )
}

interface DeliveryRowProps {
  receiver: Receiver
  delivery: DeliveryView
  paused: string | null
}

function DeliveryRow({ receiver, delivery, paused }: DeliveryRowProps) {
  const { delivery_id, assignment_id } = delivery
  return (
    <tr>
      <td>
        <DeliveryLink receiver={receiver} delivery_id={delivery_id}>
          {receiver.noun === 'webhook' ? delivery.event_type : EVENT_WORDS[delivery.event_type]}
        </DeliveryLink>
      </td>
      <td>
        <State status={delivery.status} />
      </td>
      <td>
        <Time at={delivery.created_at} />
      </td>
      <td>
        {delivery.attempt_count} {delivery.attempt_count === 1 ? 'try' : 'tries'}
        {delivery.status === 'pending' && delivery.next_attempt_at !== null && (
          <Next at={delivery.next_attempt_at} paused={paused} />
        )}
      </td>
      <td>
        {assignment_id !== null && (
          <Link to="/jobs/$assignment_id" params={{ assignment_id }}>
            {delivery.title ?? (
              <>
                job <ShortId id={assignment_id} />
              </>
            )}
          </Link>
        )}
      </td>
    </tr>
  )
}

export function Deliveries(props: {
  receiver: Receiver
  /** The end of the pause after failed attempts; null without a pause. */
  paused: string | null
  status: DeliveryStatus | undefined
  onStatus(status: DeliveryStatus | undefined): void
}) {
  const { receiver, paused, status, onStatus } = props
  const filter = status === undefined ? {} : { status }
  const query = usePaged(
    ['deliveries', receiver.id, 'list', status],
    (cursor) => callsOf(receiver).deliveries(receiver.id, { ...filter, ...(cursor ? { cursor } : {}) }),
    REFRESH_MS,
  )
  return (
    <section>
      <h2>Deliveries</h2>
      <div className="filters">
        <SelectField
          label="State"
          value={status ?? ''}
          onChange={({ target }) => onStatus(DELIVERY_STATUSES.find((name) => name === target.value))}
          options={[
            { value: '', label: 'Any' },
            ...DELIVERY_STATUSES.map((name) => ({ value: name, label: name })),
          ]}
        />
      </div>
      <Paged
        query={query}
        empty={
          <Empty title="No delivery yet">
            <p>Send a test, or run a job.</p>
          </Empty>
        }
      >
        {(deliveries) => (
          <ListTable columns={['Event', 'State', 'Made', 'Tries', 'Of']}>
            {deliveries.map((delivery) => (
              <DeliveryRow
                key={delivery.delivery_id}
                receiver={receiver}
                delivery={delivery}
                paused={paused}
              />
            ))}
          </ListTable>
        )}
      </Paged>
    </section>
  )
}
