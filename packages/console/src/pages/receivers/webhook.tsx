/** The page of one webhook: its health, its deliveries, and why an event did not arrive. */
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import { api, useMay } from '../../api.ts'
import { Loaded, Page } from '../../parts/page.tsx'
import { ReceiverRecord } from '../../parts/receivers/receiver-record.tsx'
import { WebhookActions } from '../../parts/receivers/webhook-actions.tsx'
import { WebhookSettings } from '../../parts/receivers/webhook-settings.tsx'
import { REFRESH_MS, type Receiver } from '../../receivers.ts'

export function WebhookPage() {
  const { webhook_id } = useParams({ from: '/shell/webhooks/$webhook_id' })
  const { job, status } = useSearch({ from: '/shell/webhooks/$webhook_id' })
  const navigate = useNavigate({ from: '/webhooks/$webhook_id' })
  const analyst = useMay('analyst')
  const query = useQuery({
    queryKey: ['webhook', webhook_id],
    queryFn: () => api().webhooks.get(webhook_id),
    refetchInterval: REFRESH_MS,
  })
  const receiver: Receiver = { noun: 'webhook', id: webhook_id }
  return (
    <Page
      title={query.data?.url ?? 'Webhook'}
      trail={<Link to="/webhooks">Webhooks</Link>}
      lead={query.data?.description && <p>{query.data.description}</p>}
      actions={analyst && query.data && <WebhookActions webhook={query.data} />}
    >
      <Loaded query={query}>
        {(webhook) => (
          <>
            <ReceiverRecord
              receiver={receiver}
              view={webhook}
              status={status}
              job={job}
              onStatus={(status) => void navigate({ search: (old) => ({ ...old, status }), replace: true })}
              onAsk={(job) => void navigate({ search: (old) => ({ ...old, job }) })}
            />
            <h2>Settings</h2>
            <WebhookSettings webhook={webhook} editable={analyst} />
          </>
        )}
      </Loaded>
    </Page>
  )
}
