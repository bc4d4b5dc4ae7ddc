/** Answers for one job why this webhook was not told of it: by its delivery where there is one, else by the rules. */
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { type FormEvent, useState } from 'react'
import type { FullDelivery } from '../../../src/client.ts'
import type { WebhookView } from '../../../src/webhook.ts'
import { api } from '../api.ts'
import { whyDelivery, whyNone } from '../why.ts'
import { TextField } from './field.tsx'
import { Loaded } from './page.tsx'

const PAGES = 10

interface Answer {
  sentence: string
  delivery: FullDelivery | null
}

/** The newest delivery of the job at the webhook, looked for from the job's creation on. */
async function findDelivery(
  webhook_id: string,
  assignment_id: string,
  since: string,
): Promise<FullDelivery | null> {
  let cursor: string | undefined
  for (let page = 0; page < PAGES; page += 1) {
    const query = { created_after: since, limit: 200, ...(cursor === undefined ? {} : { cursor }) }
    const { items, next_cursor } = await api().webhooks.deliveries(webhook_id, query)
    const found = items.find((delivery) => delivery.assignment_id === assignment_id)
    if (found) return api().webhooks.delivery(found.delivery_id)
    if (next_cursor === null) return null
    cursor = next_cursor
  }
  return null
}

async function answer(webhook: WebhookView, assignment_id: string): Promise<Answer> {
  const job = await api().jobs.status(assignment_id)
  const since = new Date(Date.parse(job.created_at) - 1).toISOString()
  const delivery = await findDelivery(webhook.webhook_id, assignment_id, since)
  return { delivery, sentence: delivery ? whyDelivery(delivery, webhook) : whyNone(job, webhook) }
}

export function WhyNot({ webhook, job }: { webhook: WebhookView; job: string | undefined }) {
  const { webhook_id } = webhook
  const navigate = useNavigate({ from: '/webhooks/$webhook_id' })
  const [text, setText] = useState(job ?? '')
  const query = useQuery({
    queryKey: ['deliveries', webhook_id, 'why', job],
    queryFn: () => answer(webhook, job!),
    enabled: job !== undefined,
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    void navigate({ search: (old) => ({ ...old, job: text.trim() || undefined }) })
  }
  return (
    <section>
      <h2>Why was I not told?</h2>
      <form className="row-form" onSubmit={submit}>
        <TextField
          label="Of which job"
          placeholder="assignment_id"
          value={text}
          onChange={({ target }) => setText(target.value)}
        />
        <button type="submit" className="button">
          Explain
        </button>
      </form>
      {job !== undefined && (
        <Loaded query={query}>
          {({ sentence, delivery }) => (
            <p className="notice" role="status">
              {sentence}{' '}
              {delivery && (
                <Link
                  to="/webhooks/$webhook_id/deliveries/$delivery_id"
                  params={{ webhook_id, delivery_id: delivery.delivery_id }}
                >
                  Its delivery
                </Link>
              )}
            </p>
          )}
        </Loaded>
      )}
    </section>
  )
}
