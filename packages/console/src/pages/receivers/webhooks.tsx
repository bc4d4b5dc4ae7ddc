/** The page of the webhooks of the workspace: address, events and health of each. */

import type { WebhookView } from '@assay/model/webhook'
import { Link } from '@tanstack/react-router'
import { api, useMay } from '../../api.ts'
import { eventWords } from '../../names.ts'
import { ListTable } from '../../parts/lists/list-table.tsx'
import { Paged, usePaged } from '../../parts/lists/paged.tsx'
import { Empty, Page } from '../../parts/page.tsx'
import { HealthWord } from '../../parts/receivers/health.tsx'

function WebhookRow({ webhook }: { webhook: WebhookView }) {
  const { webhook_id, url, description, presence_name, events } = webhook
  return (
    <tr>
      <td>
        <Link to="/webhooks/$webhook_id" params={{ webhook_id }} search={{}}>
          {url}
        </Link>
        {description !== null && <div className="small">{description}</div>}
      </td>
      <td>
        <HealthWord {...webhook} />
      </td>
      <td>{presence_name}</td>
      <td className="small">{eventWords(events)}</td>
    </tr>
  )
}

export function WebhooksPage() {
  const analyst = useMay('analyst')
  const query = usePaged(['webhooks'], (cursor) => api().webhooks.list({ cursor, limit: 50 }))
  const create = (
    <Link className="button" to="/webhooks/new">
      New webhook
    </Link>
  )
  return (
    <Page
      title="Webhooks"
      wide
      lead={<p>Addresses that get events of jobs by signed HTTP requests.</p>}
      actions={analyst && create}
    >
      <Paged
        query={query}
        empty={
          <Empty title="No webhook yet">
            <p>
              A webhook sends an event to your address when a job ends, so that your systems need not poll.
            </p>
            {analyst && create}
          </Empty>
        }
      >
        {(webhooks) => (
          <ListTable columns={['Address', 'State', 'Receiver name', 'Told when']}>
            {webhooks.map((webhook) => (
              <WebhookRow key={webhook.webhook_id} webhook={webhook} />
            ))}
          </ListTable>
        )}
      </Paged>
    </Page>
  )
}
