/** Deliveries a second to a fast receiver, each signed, recorded and settled, beside a bare undici loop. */
import { atLeast, type Figure } from '../figure.ts'
import { sendAll } from '../load.ts'
import {
  type Form,
  inTurns,
  type Peer,
  pause,
  putTrivial,
  type Running,
  startPeer,
  TOKEN,
  TRIVIAL_ID,
  untilDrained,
  withService,
} from '../measure.ts'

const CONNECTIONS = 50

export const deliveriesRow = {
  name: 'deliveries',
  run: (form: Form): Promise<Figure[]> =>
    withService({ ASSAY_ROLES: 'api,dispatcher', ASSAY_WEBHOOK_TARGETS: 'loopback' }, (service) =>
      measure(form, service),
    ),
}

/** Events are jobs that are canceled: each is one `job.canceled`. */
async function makeEvents(service: Running, count: number): Promise<void> {
  await putTrivial(service)
  const asks: { path: string; body: string }[] = []
  const options = {
    url: service.url,
    connections: CONNECTIONS,
    headers: { authorization: `Bearer ${TOKEN}` },
  }
  let left = count
  const create = {
    method: 'POST' as const,
    path: '/v1alpha/jobs/',
    body: JSON.stringify({ payload: { type: 'template', template_id: TRIVIAL_ID } }),
  }
  await sendAll({
    ...options,
    next: () => (left-- > 0 ? create : null),
    onBody: (body) =>
      asks.push({
        path: '/v1alpha/jobs/cancel',
        body: JSON.stringify({ payload: { type: 'assignment', assignment_id: JSON.parse(body) as string } }),
      }),
  })
  await sendAll({
    ...options,
    next: () => {
      const ask = asks.pop()
      return ask ? { method: 'POST', ...ask } : null
    },
  })
}

/**
 * A new webhook gets every event: the deliveries are written while it is disabled, the time is from its enabling until
 * none is left to send and every one of them has come.
 */
async function deliver(service: Running, receiver: Peer, count: number): Promise<number> {
  const { client } = service
  const { webhook_id } = await client.webhooks.create({
    url: receiver.ready,
    user_id: 'bench',
    presence_name: 'bench',
    events: ['job.canceled'],
    max_in_flight: CONNECTIONS,
  })
  await client.webhooks.update(webhook_id, { status: 'disabled' })
  const since = new Date(Date.now() - 86_400_000).toISOString()
  const { recovery_id } = await client.webhooks.recover(webhook_id, { since, include_unsent: true })
  while ((await client.webhooks.recovery(webhook_id, recovery_id!)).status === 'running') await pause(50)
  const began = performance.now()
  await client.webhooks.update(webhook_id, { status: 'enabled' })
  await untilDrained(service)
  let done = 0
  while (done < count) {
    const { sent } = await client.webhooks.stats(webhook_id)
    done = sent
    if (done < count) await pause(5)
  }
  const seconds = (performance.now() - began) / 1000
  const came = await receiver.ask<number>('came')
  if (came !== count) throw new Error(`${count} deliveries were made, ${came} came.`)
  await client.webhooks.delete(webhook_id)
  return count / seconds
}

async function measure({ turns, short }: Form, service: Running): Promise<Figure[]> {
  const count = short ? 1000 : 5000
  await makeEvents(service, count)
  const [event] = (await service.client.events.list({ type: 'job.canceled', limit: 1 })).items
  const [receiver, sender] = await Promise.all([startPeer('receiver.ts'), startPeer('sender.ts')])
  const body = JSON.stringify({ type: event!.type, timestamp: event!.timestamp, data: event!.data })
  const bare = async (): Promise<number> => {
    const ms = await sender.ask<number>({ url: `${receiver.ready}/`, body, count, connections: CONNECTIONS })
    const came = await receiver.ask<number>('came')
    if (came !== count) throw new Error(`${count} requests were sent, ${came} came.`)
    return (count * 1000) / ms
  }
  try {
    return [
      {
        work: 'deliveries a second to a fast receiver, all reconciled, SQLite',
        beside: `a bare undici loop with ${CONNECTIONS} connections, same body`,
        aim: atLeast(0.6),
        compare: 'ratio',
        unit: 'deliveries/s',
        turns: await inTurns(turns, () => deliver(service, receiver, count), bare),
        note: 'ours with two commits a delivery (grouped), signature, vetted address; every one counted by the receiver and settled in the store',
      },
    ]
  } finally {
    await Promise.all([receiver.stop(), sender.stop()])
  }
}
