/** Measures deliveries a second to a fast receiver, each signed, recorded and settled, beside a bare undici loop. */
import { missingPostgres, startPostgres } from '../../test/servers/postgres.ts'
import { atLeast, type Figure, type Missing } from '../figure.ts'
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
  withService,
} from '../measure.ts'

const CONNECTIONS = 50
const AIM = atLeast(0.6)

const SERVICE = { ASSAY_ROLES: 'api,dispatcher', ASSAY_WEBHOOK_TARGETS: 'loopback' }
const BESIDE = `a bare undici loop with ${CONNECTIONS} connections, same body`
const work = (store: string): string => `deliveries a second to a fast receiver, all reconciled, ${store}`

export const deliveriesRow = {
  name: 'deliveries',
  async run(form: Form): Promise<(Figure | Missing)[]> {
    const sqlite = await withService(SERVICE, (service) => measure(form, service, 'SQLite'))
    return [sqlite, await onPostgres(form)]
  },
}

async function onPostgres(form: Form): Promise<Figure | Missing> {
  const reason = await missingPostgres()
  if (reason !== null) return { work: work('PostgreSQL'), beside: BESIDE, aim: AIM.text, reason }
  const postgres = await startPostgres({ fsync: 'on', full_page_writes: 'on', autovacuum: 'on' })
  try {
    const url = await postgres.createDatabase('bench_deliveries')
    return await withService({ ...SERVICE, ASSAY_STORE: url, ASSAY_SECRET_KEY: 'a1'.repeat(32) }, (service) =>
      measure(form, service, 'PostgreSQL'),
    )
  } finally {
    await postgres.stop()
  }
}

/** The number of jobs that are made at once. It is below the most drafts of a workspace. */
const JOBS_AT_ONCE = 5000

/** Makes `count` events: each is the `job.canceled` of a job that is canceled. */
export async function makeEvents(service: Running, count: number): Promise<void> {
  await putTrivial(service)
  for (let made = 0; made < count; made += JOBS_AT_ONCE)
    await makeSome(service, Math.min(JOBS_AT_ONCE, count - made))
}

async function makeSome(service: Running, count: number): Promise<void> {
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
 * Sends `count` deliveries to a new webhook. They are written while the webhook is disabled. The time runs from its
 * enabling until each delivery is recorded as sent and has arrived. Resolves with deliveries a second.
 */
export async function deliver(service: Running, receiver: Peer, count: number): Promise<number> {
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
  const started = await client.webhooks.recover(webhook_id, { since, include_unsent: true })
  if (!('recovery_id' in started)) throw new Error('The recovery was not started.')
  while ((await client.webhooks.recovery(webhook_id, started.recovery_id)).status === 'running')
    await pause(50)
  const began = performance.now()
  await client.webhooks.update(webhook_id, { status: 'enabled' })
  while ((await client.webhooks.stats(webhook_id)).sent < count) await pause(10)
  const seconds = (performance.now() - began) / 1000
  const came = await receiver.ask<number>('came')
  if (came !== count) throw new Error(`${count} deliveries were made, ${came} came.`)
  await client.webhooks.delete(webhook_id)
  return count / seconds
}

async function measure({ turns, short }: Form, service: Running, store: string): Promise<Figure> {
  const count = short ? 2000 : 20_000
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
    return {
      work: work(store),
      beside: BESIDE,
      aim: AIM,
      compare: 'ratio',
      unit: 'deliveries/s',
      turns: await inTurns(turns, () => deliver(service, receiver, count), bare),
      note: 'ours with each claim and each attempt committed (in groups, fsync on), signature, vetted address; every one counted by the receiver and settled in the store',
    }
  } finally {
    await Promise.all([receiver.stop(), sender.stop()])
  }
}
