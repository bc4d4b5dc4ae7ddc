/** The page of one delivery: one sentence about its state, then every attempt. */

import type { DeliveryView } from '@assay/model/delivery'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { api, useMay } from '../../api.ts'
import { Fault } from '../../parts/fault.tsx'
import { Loaded, Page } from '../../parts/page.tsx'
import { AttemptDetails } from '../../parts/receivers/attempt.tsx'
import { Copy, State, Time } from '../../parts/show.tsx'
import { type Receiver, type ReceiverView, targetOf } from '../../receivers.ts'
import { whyDelivery } from '../../words/why.ts'

const REFRESH_MS = 2_000

function Redeliver({ receiver, delivery }: { receiver: Receiver; delivery: DeliveryView }) {
  const { delivery_id } = delivery
  const { noun, id } = receiver
  const cache = useQueryClient()
  const navigate = useNavigate()
  const again = useMutation({
    mutationFn: () => api().webhooks.redeliver(delivery_id),
    onSuccess: async (made) => {
      await cache.invalidateQueries({ queryKey: ['deliveries', id] })
      const made_id = made.delivery_id
      await (noun === 'webhook'
        ? navigate({
            to: '/webhooks/$webhook_id/deliveries/$delivery_id',
            params: { webhook_id: id, delivery_id: made_id },
          })
        : navigate({
            to: '/subscriptions/$subscription_id/deliveries/$delivery_id',
            params: { subscription_id: id, delivery_id: made_id },
          }))
    },
  })
  return (
    <>
      <button type="button" className="button" disabled={again.isPending} onClick={() => again.mutate()}>
        Send again
      </button>
      {again.isError && <Fault error={again.error} />}
    </>
  )
}

function Facts({ delivery }: { delivery: DeliveryView }) {
  return (
    <dl>
      <dt>State</dt>
      <dd>
        <State status={delivery.status} />
      </dd>
      <dt>Event</dt>
      <dd>
        <code>{delivery.event_type}</code> · webhook-id <code>{delivery.event_id}</code>{' '}
        <Copy text={delivery.event_id} />
      </dd>
      {delivery.assignment_id !== null && (
        <>
          <dt>Job</dt>
          <dd>
            <Link to="/jobs/$assignment_id" params={{ assignment_id: delivery.assignment_id }}>
              {delivery.title ?? <code>{delivery.assignment_id}</code>}
            </Link>
          </dd>
        </>
      )}
      <dt>Made</dt>
      <dd>
        <Time at={delivery.created_at} exact />
      </dd>
    </dl>
  )
}

function DeliveryOf(props: {
  receiver: Receiver
  delivery_id: string
  /** The name of the webhook or subscription, once it is loaded. */
  view: ReceiverView | undefined
  trail: ReactNode
}) {
  const { receiver, delivery_id, view, trail } = props
  const analyst = useMay('analyst')
  const query = useQuery({
    queryKey: ['delivery', delivery_id],
    queryFn: () => api().webhooks.delivery(delivery_id),
    refetchInterval: ({ state }) => (state.data?.status === 'pending' ? REFRESH_MS : false),
  })
  return (
    <Page
      title={query.data ? `Delivery of ${query.data.event_type}` : 'Delivery'}
      trail={trail}
      actions={analyst && query.data && <Redeliver receiver={receiver} delivery={query.data} />}
    >
      <Loaded query={query}>
        {(delivery) => (
          <>
            <p className={delivery.status === 'delivered' ? 'secret' : 'notice'} role="status">
              {whyDelivery(delivery, view, receiver.noun)}
            </p>
            <Facts delivery={delivery} />
            <h2>Attempts</h2>
            {delivery.attempts.length === 0 && <p>None yet.</p>}
            <ol className="timeline">
              {delivery.attempts.map((attempt) => (
                <AttemptDetails key={attempt.number} attempt={attempt} />
              ))}
              {delivery.status === 'pending' && (
                <li className="ahead">
                  Next try <Time at={delivery.next_attempt_at} exact />
                </li>
              )}
            </ol>
          </>
        )}
      </Loaded>
    </Page>
  )
}

export function DeliveryPage() {
  const { webhook_id, delivery_id } = useParams({
    from: '/shell/webhooks/$webhook_id/deliveries/$delivery_id',
  })
  const webhook = useQuery({
    queryKey: ['webhook', webhook_id],
    queryFn: () => api().webhooks.get(webhook_id),
  })
  return (
    <DeliveryOf
      receiver={{ noun: 'webhook', id: webhook_id }}
      delivery_id={delivery_id}
      view={webhook.data}
      trail={
        <>
          <Link to="/webhooks">Webhooks</Link>
          {' / '}
          <Link to="/webhooks/$webhook_id" params={{ webhook_id }} search={{}}>
            {webhook.data?.url ?? 'webhook'}
          </Link>
        </>
      }
    />
  )
}

export function SubscriptionDeliveryPage() {
  const { subscription_id, delivery_id } = useParams({
    from: '/shell/subscriptions/$subscription_id/deliveries/$delivery_id',
  })
  const subscription = useQuery({
    queryKey: ['subscription', subscription_id],
    queryFn: () => api().subscriptions.get(subscription_id),
  })
  return (
    <DeliveryOf
      receiver={{ noun: 'subscription', id: subscription_id }}
      delivery_id={delivery_id}
      view={subscription.data}
      trail={
        <>
          <Link to="/subscriptions">Subscriptions</Link>
          {' / '}
          <Link to="/subscriptions/$subscription_id" params={{ subscription_id }} search={{}}>
            {subscription.data ? targetOf(subscription.data) : 'subscription'}
          </Link>
        </>
      }
    />
  )
}
