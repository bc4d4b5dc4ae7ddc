/**
 * Measures deliveries a second from a backlog, beside a bare loop of the same HTTP client over as many connections to the
 * same receivers in the same run. Also measures the time of one delivery from the commit to its arrival on an idle service.
 * Prints the figures of this machine.
 */

import { MAX_IN_FLIGHT, type Webhook } from '@assay/model/webhook'
import { Agent } from 'undici'
import { type Station, startStation } from '../packages/service/webhooks/dispatcher-fixture.ts'
import { type StormReceivers, startStormReceivers, wallClock } from '../test/faults/storm-receivers.ts'
import { eventually } from '../test/servers/service.ts'
import type { Proof } from './main.ts'

export interface DeliveriesOptions {
  webhooks: number
  deliveries: number
  /** The number of measurements of each rate. The best counts. */
  rounds: number
  /** The address of the store, as ASSAY_STORE has it. By default an SQLite of its own. */
  url?: string
  log(line: string): void
}

export interface DeliveriesReport {
  /** The deliveries a second of the bare loop. */
  bare: number
  delivered: number
  ratio: number
  idle_p50_ms: number
  violations: string[]
}

const MESSAGE = 'x'.repeat(300)
const IDLE_SAMPLES = 200

async function bareRate(
  receivers: StormReceivers,
  { webhooks, deliveries }: DeliveriesOptions,
): Promise<number> {
  const agent = new Agent({ keepAliveTimeout: 15_000 })
  const data = { webhook_id: crypto.randomUUID(), message: MESSAGE }
  const body = JSON.stringify({ type: 'webhook.test', timestamp: new Date().toISOString(), data })
  let left = deliveries
  const begun = performance.now()
  const worker = async (nth: number): Promise<void> => {
    while (left > 0) {
      left -= 1
      const options = {
        origin: `http://127.0.0.1:${receivers.port}`,
        path: `/lean/${nth % webhooks}`,
      } as const
      const headers = { 'content-type': 'application/json' }
      const answer = await agent.request({ ...options, method: 'POST', headers, body })
      await answer.body.dump()
    }
  }
  await Promise.all(Array.from({ length: webhooks * MAX_IN_FLIGHT }, (_, nth) => worker(nth)))
  const rate = deliveries / ((performance.now() - begun) / 1000)
  await agent.close()
  return rate
}

/** Makes the backlog while nothing is claimed, then starts the dispatcher. */
async function deliveryRate(
  station: Station,
  hooks: Webhook[],
  gate: { open: boolean },
  { deliveries }: DeliveriesOptions,
): Promise<number> {
  gate.open = false
  for (let made = 0; made < deliveries; made += 500) {
    const batch = Array.from(
      { length: Math.min(500, deliveries - made) },
      (_, nth) => hooks[(made + nth) % hooks.length]!,
    )
    await Promise.all(batch.map((hook) => station.send(hook, MESSAGE)))
  }
  const all = Promise.withResolvers<void>()
  let settled = 0
  const unsubscribe = station.store.subscribe((hint) => {
    if (hint.topic !== 'delivery') return
    settled += 1
    if (settled === deliveries) all.resolve()
  })
  const begun = performance.now()
  gate.open = true
  await all.promise
  unsubscribe()
  return deliveries / ((performance.now() - begun) / 1000)
}

async function idleMedian(station: Station, receivers: StormReceivers, port: number): Promise<number> {
  const { webhook, secret } = await station.register(`http://127.0.0.1:${port}/0`)
  receivers.know([secret])
  const committed = new Map<string, number>()
  for (let nth = 0; nth < IDLE_SAMPLES; nth += 1) {
    const { event_id, delivery_id } = await station.send(webhook)
    committed.set(event_id, wallClock())
    await station.attempted(delivery_id, 1)
  }
  const latencies = (await receivers.take())
    .map(({ id, at }) => at - committed.get(id)!)
    .toSorted((a, b) => a - b)
  return latencies[Math.floor(latencies.length / 2)]!
}

export async function measureDeliveries(options: DeliveriesOptions): Promise<DeliveriesReport> {
  const gate = { open: true }
  const receivers = await startStormReceivers()
  receivers.recover()
  const station = await startStation({
    quiet: true,
    ...(options.url === undefined ? {} : { url: options.url }),
    dispatcher: { holds: () => gate.open },
  })
  try {
    const hooks: Webhook[] = []
    for (let nth = 0; nth < options.webhooks; nth += 1)
      hooks.push((await station.register(`http://127.0.0.1:${receivers.port}/lean/${nth}`)).webhook)
    const idle = await idleMedian(station, receivers, receivers.port)
    options.log(`median from commit to arrival while idle: ${idle.toFixed(2)} ms`)
    let [bare, delivered] = [0, 0]
    for (let round = 0; round < options.rounds; round += 1) {
      const rates = [
        await bareRate(receivers, options),
        await deliveryRate(station, hooks, gate, options),
      ] as const
      options.log(`bare loop ${Math.round(rates[0])}/s, deliveries ${Math.round(rates[1])}/s`)
      bare = Math.max(bare, rates[0])
      delivered = Math.max(delivered, rates[1])
    }
    const wanted = options.rounds * options.deliveries * 2
    const violations: string[] = []
    await eventually(async () => (await receivers.counted()) >= wanted, 'all have arrived')
    const counted = await receivers.counted()
    if (counted !== wanted) violations.push(`${counted} requests arrived, ${wanted} were to be made.`)
    if (idle > 10)
      violations.push(`An idle service takes ${idle.toFixed(1)} ms from the commit to the arrival.`)
    const ratio = Math.round((delivered / bare) * 100) / 100
    return { bare: Math.round(bare), delivered: Math.round(delivered), ratio, idle_p50_ms: idle, violations }
  } finally {
    await station.close()
    await receivers.close()
  }
}

/** npm run proof -- deliveries */
export const proof: Proof = {
  summary: 'the rate of deliveries beside a bare HTTP loop, each made once, and the latency while idle',
  async run({ number, log }) {
    const report = await measureDeliveries({
      webhooks: number('webhooks', 20),
      deliveries: number('deliveries', 20_000),
      rounds: number('rounds', 3),
      log,
    })
    log(`best: bare ${report.bare}/s, deliveries ${report.delivered}/s, ratio ${report.ratio}`)
    return report.violations
  },
}
