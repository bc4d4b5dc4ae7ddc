/** The page of one subscription: its health, its deliveries, and why an event did not arrive. */
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { api, useMay } from '../../api.ts'
import { Loaded, Page } from '../../parts/page.tsx'
import { ReceiverActions } from '../../parts/receivers/receiver-actions.tsx'
import { ReceiverRecord } from '../../parts/receivers/receiver-record.tsx'
import { SubscriptionSettings } from '../../parts/receivers/subscription-settings.tsx'
import { REFRESH_MS, type Receiver, targetOf } from '../../receivers.ts'

export function SubscriptionPage() {
  const { subscription_id } = useParams({ from: '/shell/subscriptions/$subscription_id' })
  const { job, status } = useSearch({ from: '/shell/subscriptions/$subscription_id' })
  const navigate = useNavigate({ from: '/subscriptions/$subscription_id' })
  const analyst = useMay('analyst')
  const query = useQuery({
    queryKey: ['subscription', subscription_id],
    queryFn: () => api().subscriptions.get(subscription_id),
    refetchInterval: REFRESH_MS,
  })
  const receiver: Receiver = { noun: 'subscription', id: subscription_id }
  return (
    <Page
      title={query.data ? targetOf(query.data) : 'Subscription'}
      trail={<Link to="/subscriptions">Subscriptions</Link>}
      lead={query.data?.description && <p>{query.data.description}</p>}
      actions={analyst && query.data && <ReceiverActions receiver={receiver} status={query.data.status} />}
    >
      <Loaded query={query}>
        {(subscription) => (
          <>
            <ReceiverRecord
              receiver={receiver}
              view={subscription}
              status={status}
              job={job}
              onStatus={(status) => void navigate({ search: (old) => ({ ...old, status }), replace: true })}
              onAsk={(job) => void navigate({ search: (old) => ({ ...old, job }) })}
            />
            <h2>Settings</h2>
            <SubscriptionSettings subscription={subscription} editable={analyst} />
          </>
        )}
      </Loaded>
    </Page>
  )
}
