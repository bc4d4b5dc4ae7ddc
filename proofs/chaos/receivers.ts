/** Four receivers: a good one, a slow one, one that fails now and then, and one that leaves the network and returns. */
import type { Client } from '@assay/client'
import { ENDING_EVENTS } from '@assay/model/event'
import { verify } from '@assay/model/signature'
import type { Entry, Subscription } from '../../test/history/history.ts'
import { type Proxy, startProxy } from '../../test/servers/proxy.ts'
import { type Arrival, type Mode, modes, type Receiver, startReceiver } from '../../test/servers/receiver.ts'

/** A short retry schedule, so that the run need not wait for hours. */
const SCHEDULE = [1, 2, 3, 5, 10].flatMap((seconds) => Array<number>(4).fill(seconds))

export const PRESENCE = 'chaos'

export interface Landscape {
  subscriptions: Subscription[]
  webhooks: string[]
  vanish(): void
  comeBack(): void
  /** Makes all receivers answer well from now on. */
  mend(): void
  /** Returns the requests that have arrived so far. */
  entries(): Entry[]
  close(): Promise<void>
}

interface Place {
  name: string
  receiver: Receiver
  secret: string
}

function entryOf(
  arrival: Arrival,
  { name, secret }: Place,
  begin: number,
  digestOf: (text: Buffer) => string,
): Entry {
  const { headers, body, at } = arrival
  const message = JSON.parse(body.toString('utf8')) as {
    type: string
    data: { assignment_id: string; insight_id: string | null }
  }
  let verified = true
  try {
    verify({ headers, body, secret, now: at })
  } catch {
    verified = false
  }
  const { assignment_id, insight_id } = message.data
  return {
    kind: 'received',
    receiver: name,
    event_id: String(headers['webhook-id']),
    type: message.type,
    assignment_id,
    insight_id,
    verified,
    digest: digestOf(body),
    begun: at - begin,
    ended: at - begin,
  }
}

export async function startReceivers(
  client: Client,
  random: () => number,
  begin: number,
  digestOf: (text: Buffer) => string,
): Promise<Landscape> {
  const slow: Mode = (response) => void setTimeout(() => response.writeHead(200).end(), 200 + random() * 1500)
  const failing: Mode = (response) => response.writeHead(random() < 0.25 ? 500 : 200).end()
  const kinds = { good: modes.ok(), slow, failing, vanishing: modes.ok() }
  const places: Place[] = []
  const subscriptions: Subscription[] = []
  const webhooks: string[] = []
  let proxy: Proxy | null = null
  for (const [name, mode] of Object.entries(kinds)) {
    const receiver = await startReceiver({ mode })
    if (name === 'vanishing') proxy = await startProxy({ host: '127.0.0.1', port: receiver.port })
    const url = name === 'vanishing' ? `http://127.0.0.1:${proxy!.port}` : receiver.url
    // Some jobs have this name, and only this webhook gets their events.
    const presence_name = name === 'slow' ? PRESENCE : `only-${name}`
    const events = name === 'good' ? (['*'] as const) : ENDING_EVENTS
    const webhook = await client.webhooks.create({
      url: `${url}/${name}`,
      user_id: 'chaos',
      presence_name,
      events: [...events],
      retry_schedule: SCHEDULE,
      max_in_flight: 32,
    })
    places.push({ name, receiver, secret: webhook.signing_secret! })
    subscriptions.push({ receiver: name, events: name === 'good' ? null : ENDING_EVENTS, presence_name })
    webhooks.push(webhook.webhook_id)
  }
  return {
    subscriptions,
    webhooks,
    vanish: () => proxy?.cut(),
    comeBack: () => proxy?.mend(),
    mend() {
      proxy?.mend()
      for (const { receiver } of places) receiver.answer(modes.ok())
    },
    entries: () =>
      places.flatMap((place) =>
        place.receiver.arrivals.map((arrival) => entryOf(arrival, place, begin, digestOf)),
      ),
    async close() {
      await proxy?.close()
      await Promise.all(places.map(({ receiver }) => receiver.close()))
    },
  }
}
