/** One webhook: how it does, what it was sent, and why something did not arrive. */
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams, useSearch } from '@tanstack/react-router'
import type { DeliveryView } from '../../../src/delivery.ts'
import type { WebhookView } from '../../../src/webhook.ts'
import { api, useMay } from '../api.ts'
import { DELIVERY_STATUSES } from '../names.ts'
import { SelectField } from '../parts/field.tsx'
import { Empty, Loaded, Page } from '../parts/page.tsx'
import { Paged, usePaged } from '../parts/paged.tsx'
import { ShortId, State, Time } from '../parts/show.tsx'
import { TestDelivery } from '../parts/test-delivery.tsx'
import { WebhookActions } from '../parts/webhook-actions.tsx'
import { WebhookSettings } from '../parts/webhook-settings.tsx'
import { Stats } from '../parts/webhook-stats.tsx'
import { WhyNot } from '../parts/why-not.tsx'

const REFRESH_MS = 5_000

function DeliveryRow({ delivery }: { delivery: DeliveryView }) {
  const { webhook_id, delivery_id, assignment_id } = delivery
  return (
    <tr>
      <td>
        <Link to="/webhooks/$webhook_id/deliveries/$delivery_id" params={{ webhook_id, delivery_id }}>
          {delivery.event_type}
        </Link>
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
          <>
            , next <Time at={delivery.next_attempt_at} />
          </>
        )}
      </td>
      <td>
        {assignment_id !== null && (
          <Link to="/jobs/$assignment_id" params={{ assignment_id }}>
            job <ShortId id={assignment_id} />
          </Link>
        )}
      </td>
    </tr>
  )
}

function Deliveries({ webhook_id }: { webhook_id: string }) {
  const { status } = useSearch({ from: '/shell/webhooks/$webhook_id' })
  const navigate = useNavigate({ from: '/webhooks/$webhook_id' })
  const filter = status === undefined ? {} : { status }
  const query = usePaged(
    ['deliveries', webhook_id, 'list', status],
    (cursor) => api().webhooks.deliveries(webhook_id, { ...filter, ...(cursor ? { cursor } : {}) }),
    REFRESH_MS,
  )
  return (
    <section>
      <h2>Deliveries</h2>
      <div className="filters">
        <SelectField
          label="State"
          value={status ?? ''}
          onChange={({ target }) =>
            void navigate({
              search: (old) => ({ ...old, status: (target.value || undefined) as typeof status }),
              replace: true,
            })
          }
          options={[
            { value: '', label: 'Any' },
            ...DELIVERY_STATUSES.map((name) => ({ value: name, label: name })),
          ]}
        />
      </div>
      <Paged
        query={query}
        empty={
          <Empty title="Nothing was sent">
            <p>Send a test, or run a job: its end is told here.</p>
          </Empty>
        }
      >
        {(deliveries) => (
          <table className="list">
            <thead>
              <tr>
                <th scope="col">Event</th>
                <th scope="col">State</th>
                <th scope="col">Made</th>
                <th scope="col">Tries</th>
                <th scope="col">Of</th>
              </tr>
            </thead>
            <tbody>
              {deliveries.map((delivery) => (
                <DeliveryRow key={delivery.delivery_id} delivery={delivery} />
              ))}
            </tbody>
          </table>
        )}
      </Paged>
    </section>
  )
}

function Health({ webhook }: { webhook: WebhookView }) {
  if (webhook.status === 'disabled')
    return (
      <p className="notice" role="status">
        It is disabled{webhook.disabled_reason === null ? '' : `: ${webhook.disabled_reason}`}. Deliveries
        wait until it is enabled; new events are not kept for it.
      </p>
    )
  if (webhook.failing_since !== null)
    return (
      <p className="notice" role="status">
        Every attempt has failed since <Time at={webhook.failing_since} exact />. After five days of that it
        is disabled. Open a delivery below to see why.
      </p>
    )
  return null
}

export function WebhookPage() {
  const { webhook_id } = useParams({ from: '/shell/webhooks/$webhook_id' })
  const { job } = useSearch({ from: '/shell/webhooks/$webhook_id' })
  const analyst = useMay('analyst')
  const query = useQuery({ queryKey: ['webhook', webhook_id], queryFn: () => api().webhooks.get(webhook_id) })
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
            <Health webhook={webhook} />
            {analyst && <TestDelivery webhook_id={webhook_id} />}
            <Stats webhook_id={webhook_id} />
            <Deliveries webhook_id={webhook_id} />
            <WhyNot webhook={webhook} job={job} key={job} />
            <h2>Settings</h2>
            <WebhookSettings webhook={webhook} editable={analyst} />
          </>
        )}
      </Loaded>
    </Page>
  )
}
