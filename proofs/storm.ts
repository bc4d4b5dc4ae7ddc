/**
 * Sends a steady stream of events to many receivers, some of which hang and some of which answer 500. Two promises
 * are checked. Bad receivers do not slow good ones: the same stream runs before and after without the bad ones, and
 * latencies are compared. Every event reaches its receiver, signed and under one webhook-id, although the store is
 * cut off and the dispatcher dies meanwhile.
 */

import { systemClock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { DEFAULT_WORKSPACE as workspace_id } from '@assay/model/token'
import { parseTargets } from '@assay/net/target'
import { silentLog } from '@assay/service/runtime/log'
import type { Store } from '@assay/store/store'
import {
  type Registered,
  type Station,
  startDispatcher,
  startStation,
} from '../packages/service/webhooks/dispatcher-fixture.ts'
import {
  type Kind,
  kindOf,
  type StormReceivers,
  startStormReceivers,
  wallClock,
} from '../test/faults/storm-receivers.ts'
import { startPostgres } from '../test/servers/postgres.ts'
import { eventually } from '../test/servers/service.ts'
import { randomFrom } from './calibration/processes.ts'
import type { Proof } from './main.ts'

const ALL: Kind[] = ['good', 'hangs', 'fails']
/** The seconds of the stream to the good receivers before the measurement, so that a warm service is measured. */
const WARM_S = 2

export interface StormOptions {
  webhooks: number
  events: number
  seed: number
  log(line: string): void
  /** The events a second. The stream is steady. */
  rate: number
  /** The time in milliseconds for one exchange. */
  deadline?: number
  /** The address of the store, as ASSAY_STORE has it. By default an SQLite of its own. */
  url?: string
}

interface Latency {
  p50_ms: number
  p99_ms: number
}

export interface StormReport {
  /** The latency of the good receivers, from the commit to the arrival. */
  calm: Latency
  storm: Latency
  /** The counts of all runs together. */
  events: number
  arrivals: number
  repeats: number
  violations: string[]
}

interface Seen {
  ids: Set<string>
  count: number
  firstAt: number
}

/** Keeps what the receivers have received. */
function createLedger(receivers: StormReceivers) {
  const seen = new Map<string, Seen>()
  const faults: string[] = []
  return {
    seen,
    faults,
    async update(): Promise<void> {
      for (const { nth, id, assignment_id, presence_name, at, fault } of await receivers.take()) {
        if (fault !== null) faults.push(`What came to hook-${nth} is not genuine: ${fault}`)
        else if (presence_name !== `hook-${nth}`)
          faults.push(`An event of ${presence_name} came to hook-${nth}.`)
        const entry = seen.get(assignment_id) ?? { ids: new Set(), count: 0, firstAt: at }
        entry.ids.add(id)
        entry.count += 1
        seen.set(assignment_id, entry)
      }
    },
  }
}

interface World {
  station: Station
  hooks: Registered[]
  receivers: StormReceivers
  ledger: ReturnType<typeof createLedger>
  /** Cuts the store off from the dispatcher, or connects it again. */
  cut(off: boolean): void
  /** Silences the dispatcher: its lease ends, and another takes over. */
  killDispatcher(): Promise<void>
  close(): Promise<void>
}

/** Returns a store that can be cut off. */
function cuttable(store: Store): { store: Store; cut(off: boolean): void } {
  let off = false
  const wire: ProxyHandler<Store> = {
    get(target, name: keyof Store) {
      const method = target[name]
      if (typeof method !== 'function' || name === 'subscribe') return method
      return (...input: unknown[]) =>
        off
          ? Promise.reject(new AppError('store_unavailable', 'It is cut off.'))
          : (method as (...given: unknown[]) => unknown)(...input)
    },
  }
  return {
    store: new Proxy(store, wire),
    cut(next) {
      off = next
    },
  }
}

async function createWorld(options: StormOptions, kinds: Kind[]): Promise<World> {
  const { deadline = 15_000 } = options
  let wire: ReturnType<typeof cuttable> | undefined
  const station = await startStation({
    quiet: true,
    ...(options.url === undefined ? {} : { url: options.url }),
    between(store) {
      wire = cuttable(store)
      return wire.store
    },
    dispatcher: { deadline, drainMs: 0 },
  })
  const hooks: Registered[] = []
  const receivers = await startStormReceivers()
  const { port } = receivers
  for (let nth = 0; nth < options.webhooks; nth += 1) {
    const presence_name = kinds.includes(kindOf(nth)) ? `hook-${nth}` : `nobody-${nth}`
    hooks.push(await station.register(`http://127.0.0.1:${port}/${nth}`, { presence_name, events: null }))
  }
  receivers.know(hooks.map(({ secret }) => secret))
  let cut = wire!.cut
  let running: { node_id: string; stop(): Promise<void> } = station
  return {
    station,
    hooks,
    receivers,
    ledger: createLedger(receivers),
    cut: (off) => cut(off),
    async killDispatcher() {
      cut(true)
      await running.stop()
      await station.store.removeNode(running.node_id)
      const next = cuttable(station.store)
      cut = next.cut
      const { box: secrets, metrics } = station
      const shared = {
        secrets,
        metrics,
        targets: parseTargets(['loopback']),
        clock: systemClock,
        log: silentLog,
      }
      running = await startDispatcher({ ...shared, store: next.store, deadline, drainMs: 0 })
    },
    async close() {
      await running.stop()
      await station.close()
      await receivers.close()
    },
  }
}

/** The most milliseconds for which the store may be busy. */
const BUSY_MS = 120_000

/** Repeats a request after Retry-After, as a client of a busy store does. */
async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  const end = performance.now() + BUSY_MS
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      const busy = error instanceof AppError && error.code === 'store_unavailable'
      if (!busy || performance.now() > end) throw error
      await new Promise((resolve) => setTimeout(resolve, 500))
    }
  }
}

/** Makes one event: a job of the webhook's presence_name, canceled at once. Resolves with its id once that is durable. */
async function happen({ store }: Station, nth: number): Promise<string> {
  const assignment_id = uuidv7()
  const job = {
    assignment_id,
    workspace_id,
    user_id: 'ada',
    template: { template_id: 'storm', version: '1', source: '# Storm', partials: {} },
    variables: {},
    presence_name: `hook-${nth}`,
    priority: 0,
    metadata: { nth: String(nth) },
  }
  await patiently(() => store.createJob(job))
  await patiently(() => store.cancelJob({ workspace_id, assignment_id }))
  return assignment_id
}

interface Happened {
  nth: number
  committedAt: number
}

/** Sends the stream at its rate to receivers of these kinds. `meanwhile` gets the progress, from 0 to 1. */
async function stream(
  world: World,
  { webhooks, events, rate, seed }: Omit<StormOptions, 'log'>,
  kinds: Kind[],
  meanwhile: (share: number) => Promise<void> | void = () => undefined,
): Promise<Map<string, Happened>> {
  const random = randomFrom(seed)
  const happened = new Map<string, Happened>()
  const underWay: Promise<void>[] = []
  const begun = performance.now()
  for (let event = 0; event < events; event += 1) {
    const wait = begun + (event * 1000) / rate - performance.now()
    if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    const nth = Math.floor(random() * webhooks)
    if (!kinds.includes(kindOf(nth))) continue
    underWay.push(
      happen(world.station, nth).then((id) => void happened.set(id, { nth, committedAt: wallClock() })),
    )
    await meanwhile(event / events)
  }
  await Promise.all(underWay)
  return happened
}

async function arrived(world: World, happened: Map<string, Happened>, kinds: Kind[]): Promise<boolean> {
  await world.ledger.update()
  return [...happened].every(([id, { nth }]) => !kinds.includes(kindOf(nth)) || world.ledger.seen.has(id))
}

function latencyOf(world: World, happened: Map<string, Happened>): Latency {
  const latencies = [...happened]
    .filter(([, { nth }]) => kindOf(nth) === 'good')
    .map(([id, { committedAt }]) => world.ledger.seen.get(id)!.firstAt - committedAt)
    .toSorted((a, b) => a - b)
  const at = (share: number): number =>
    Math.round(latencies[Math.floor(share * (latencies.length - 1))]! * 100) / 100
  return { p50_ms: at(0.5), p99_ms: at(0.99) }
}

/** Returns the broken promises. It reads after all deliveries have ended. */
async function reconcile(world: World, happened: Map<string, Happened>): Promise<string[]> {
  const { ledger, hooks, station } = world
  await ledger.update()
  const broken = [...ledger.faults]
  for (const [id, { nth }] of happened) {
    const ids = ledger.seen.get(id)?.ids.size ?? 0
    if (ids !== 1) broken.push(`The event of ${id} came to hook-${nth} under ${ids} ids.`)
  }
  for (const id of ledger.seen.keys()) if (!happened.has(id)) broken.push(`An event of ${id} never happened.`)
  for (const { webhook } of hooks) {
    for (const status of ['pending', 'failed', 'canceled'] as const) {
      const { items } = await station.store.listDeliveries({ ...webhook, status, limit: 1 })
      if (items.length > 0) broken.push(`A delivery to ${webhook.presence_name} stayed ${status}.`)
    }
  }
  return broken
}

/** Makes bad receivers answer well from now on. Enabling a webhook again makes its waiting deliveries due. */
async function comeToSenses({ station, hooks, receivers }: World): Promise<void> {
  receivers.recover()
  for (const [nth, { webhook }] of hooks.entries()) {
    if (kindOf(nth) === 'good') continue
    for (const status of ['disabled', 'enabled'] as const)
      await station.store.updateWebhook({ ...webhook, patch: { status } })
  }
}

type Run = { latency: Latency; broken: string[]; events: number; arrivals: number }

async function run(options: StormOptions, kinds: Kind[], chaos: boolean): Promise<Run> {
  const world = await createWorld(options, kinds)
  try {
    const warm = await stream(world, { ...options, events: WARM_S * options.rate }, ['good'])
    await eventually(() => arrived(world, warm, ['good']), 'it is warm', 60_000)
    let [wasCut, wasKilled] = [false, false]
    const happened = await stream(world, options, ALL, async (share) => {
      if (chaos && !wasCut && share > 1 / 3) {
        wasCut = true
        world.cut(true)
        setTimeout(() => world.cut(false), 1500)
      }
      if (chaos && !wasKilled && share > 2 / 3) {
        wasKilled = true
        await world.killDispatcher()
      }
    })
    await eventually(() => arrived(world, happened, ['good']), 'the good receivers have everything', 120_000)
    const latency = latencyOf(world, happened)
    const addressed = new Map([...warm, ...happened].filter(([, { nth }]) => kinds.includes(kindOf(nth))))
    if (kinds.length > 1) await comeToSenses(world)
    await eventually(() => arrived(world, addressed, kinds), 'all receivers have everything', 120_000)
    const settled = async () => (await reconcile(world, addressed)).length === 0
    await eventually(settled, 'everything is settled', 30_000).catch(() => undefined)
    const arrivals = [...world.ledger.seen.values()].reduce((sum, { count }) => sum + count, 0)
    return { latency, broken: await reconcile(world, addressed), events: addressed.size, arrivals }
  } finally {
    await world.close()
  }
}

export async function storm(options: StormOptions): Promise<StormReport> {
  const runs: Run[] = []
  const next = async (name: string, kinds: Kind[], chaos = false): Promise<Run> => {
    const result = await run(options, kinds, chaos)
    const { latency, events, arrivals } = result
    options.log(
      `${name}: ${events} events, ${arrivals} arrivals, p50 ${latency.p50_ms} ms, p99 ${latency.p99_ms} ms`,
    )
    runs.push(result)
    return result
  }
  const before = await next('only good receivers', ['good'])
  const during = await next('storm', ALL)
  const after = await next('only good receivers, again', ['good'])
  await next('storm, the store cut off, the dispatcher killed', ALL, true)
  const events = runs.reduce((sum, each) => sum + each.events, 0)
  const arrivals = runs.reduce((sum, each) => sum + each.arrivals, 0)
  const calm = before.latency.p99_ms > after.latency.p99_ms ? before.latency : after.latency
  const violations = runs.flatMap(({ broken }) => broken)
  return { calm, storm: during.latency, events, arrivals, repeats: arrivals - events, violations }
}

async function onPostgres(options: StormOptions): Promise<StormReport> {
  const postgres = await startPostgres()
  const name = `storm_${process.pid}`
  try {
    return await storm({ ...options, url: await postgres.createDatabase(name) })
  } finally {
    await postgres.dropDatabase(name)
    await postgres.stop()
  }
}

/** npm run proof -- storm [--store postgres]: the long form. */
export const proof: Proof = {
  summary: '200 webhooks of which 20 hang and 20 fail, 20,000 events: none lost, the good ones not slowed',
  async run({ seed, number, text, log }) {
    const sizes = {
      webhooks: number('webhooks', 200),
      events: number('events', 20_000),
      rate: number('rate', 500),
    }
    const options = { ...sizes, seed, log }
    const report = text('store', 'sqlite') === 'postgres' ? await onPostgres(options) : await storm(options)
    const { calm, storm: bad, violations } = report
    if (bad.p99_ms > calm.p99_ms * 1.5)
      violations.push(`The good receivers' p99 grew from ${calm.p99_ms} ms to ${bad.p99_ms} ms.`)
    return violations
  },
}
