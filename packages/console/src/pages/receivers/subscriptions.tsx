/** The page of the subscriptions of the workspace: readers, events and health of each. */

import type { SubscriptionView } from '@assay/model/subscription'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { api, useMay } from '../../api.ts'
import { eventWords } from '../../names.ts'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Paged, usePaged } from '../../parts/lists/paged.tsx'
import { Empty, Page } from '../../parts/page.tsx'
import { DeliveryLink } from '../../parts/receivers/deliveries.tsx'
import { HealthWord } from '../../parts/receivers/health.tsx'
import { KIND_WORDS } from '../../parts/receivers/subscription-form.tsx'
import { State, Time } from '../../parts/show.tsx'
import { Curl } from '../../parts/text/curl.tsx'
import { targetOf } from '../../receivers.ts'

const REFRESH_MS = 10_000

/** Shows the newest delivery, which is requested for each row, because the list of subscriptions does not hold it. */
function LastDelivery({ subscription_id }: { subscription_id: string }) {
  const { data } = useQuery({
    queryKey: ['deliveries', subscription_id, 'last'],
    queryFn: () => api().subscriptions.deliveries(subscription_id, { limit: 1 }),
    refetchInterval: REFRESH_MS,
  })
  if (!data) return <>–</>
  const last = data.items[0]
  if (!last) return <>none yet</>
  const { delivery_id, status, created_at, attempt_count } = last
  return (
    <>
      <State status={status} />{' '}
      <DeliveryLink receiver={{ noun: 'subscription', id: subscription_id }} delivery_id={delivery_id}>
        <Time at={created_at} />
      </DeliveryLink>
      {status !== 'delivered' && attempt_count > 0 && (
        <div className="small">
          {attempt_count} {attempt_count === 1 ? 'try' : 'tries'}
        </div>
      )}
    </>
  )
}

function Row({ subscription }: { subscription: SubscriptionView }) {
  const { subscription_id, kind, description, presence_name, events, include_skipped } = subscription
  return (
    <tr>
      <td>
        <Link to="/subscriptions/$subscription_id" params={{ subscription_id }} search={{}}>
          {targetOf(subscription)}
        </Link>
        {description !== null && <div className="small">{description}</div>}
      </td>
      <td>{KIND_WORDS[kind]}</td>
      <td>
        <HealthWord {...subscription} />
      </td>
      <td>
        <LastDelivery subscription_id={subscription_id} />
      </td>
      <td className="small">
        {eventWords(events)}; for {presence_name}
        {include_skipped && ', skipped runs too'}
      </td>
    </tr>
  )
}

function None({ analyst }: { analyst: boolean }) {
  return (
    <Empty title="No subscription yet">
      <p>A subscription sends the findings of a job to readers by mail or in a chat.</p>
      {analyst && (
        <>
          <Link className="button" to="/subscriptions/new">
            New subscription
          </Link>
          <Curl
            method="POST"
            path="/subscriptions"
            body={{ kind: 'slack', url: 'https://hooks.slack.com/services/…' }}
          />
        </>
      )}
    </Empty>
  )
}

export function SubscriptionsPage() {
  const analyst = useMay('analyst')
  const query = usePaged(['subscriptions'], (cursor) => api().subscriptions.list({ cursor, limit: 50 }))
  return (
    <Page
      title="Subscriptions"
      wide
      lead={<p>People who get events of jobs by mail or in a chat.</p>}
      actions={
        analyst && (
          <Link className="button" to="/subscriptions/new">
            New subscription
          </Link>
        )
      }
    >
      <Paged query={query} empty={<None analyst={analyst} />}>
        {(subscriptions) => (
          <ListTable columns={['Goes to', 'By', 'State', 'Last delivery', 'Tells']}>
            {subscriptions.map((subscription) => (
              <Row key={subscription.subscription_id} subscription={subscription} />
            ))}
          </ListTable>
        )}
      </Paged>
    </Page>
  )
}
