/** Explains for one job why this webhook or subscription has no delivery, or shows the state of its delivery. */

import type { FullDelivery } from '@assay/client'
import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { api } from '../../api.ts'
import { hasEnded } from '../../live.ts'
import { callsOf, REFRESH_MS, type Receiver, type ReceiverView } from '../../receivers.ts'
import { whyDelivery, whyNone } from '../../words/why.ts'
import { TextField } from '../field.tsx'
import { Loaded } from '../page.tsx'
import { DeliveryLink } from './deliveries.tsx'

const PAGES = 10

interface Answer {
  sentence: string
  delivery: FullDelivery | null
  /** True if the sentence stays true until a user changes something. */
  settled: boolean
}

/** Resolves to the newest delivery of the job at this receiver, searched from the job's creation on. */
async function findDelivery(
  receiver: Receiver,
  assignment_id: string,
  since: string,
): Promise<FullDelivery | null> {
  let cursor: string | undefined
  for (let page = 0; page < PAGES; page += 1) {
    const query = { created_after: since, limit: 200, ...(cursor === undefined ? {} : { cursor }) }
    const { items, next_cursor } = await callsOf(receiver).deliveries(receiver.id, query)
    const found = items.find((delivery) => delivery.assignment_id === assignment_id)
    if (found) return api().webhooks.delivery(found.delivery_id)
    if (next_cursor === null) return null
    cursor = next_cursor
  }
  return null
}

async function answer(receiver: Receiver, view: ReceiverView, assignment_id: string): Promise<Answer> {
  const job = await api().jobs.status(assignment_id)
  const since = new Date(Date.parse(job.created_at) - 1).toISOString()
  const delivery = await findDelivery(receiver, assignment_id, since)
  return {
    delivery,
    settled: delivery
      ? delivery.status !== 'pending'
      : job.job_status === 'draft' || hasEnded(job.job_status),
    sentence: delivery ? whyDelivery(delivery, view, receiver.noun) : whyNone(job, view, receiver.noun),
  }
}

export function WhyNot(props: {
  receiver: Receiver
  view: ReceiverView
  job: string | undefined
  onAsk(job: string | undefined): void
}) {
  const { receiver, view, job, onAsk } = props
  const [text, setText] = useState(job ?? '')
  const query = useQuery({
    queryKey: ['deliveries', receiver.id, 'why', job],
    queryFn: () => answer(receiver, view, job!),
    enabled: job !== undefined,
    refetchInterval: ({ state: { data } }) => (data?.settled === false ? REFRESH_MS : false),
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    onAsk(text.trim() || undefined)
  }
  return (
    <section>
      <h2>Why was I not told?</h2>
      <form className="row-form" onSubmit={submit}>
        <TextField
          label="Of which job"
          placeholder="the id of a job"
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
                <DeliveryLink receiver={receiver} delivery_id={delivery.delivery_id}>
                  Its delivery
                </DeliveryLink>
              )}
            </p>
          )}
        </Loaded>
      )}
    </section>
  )
}
