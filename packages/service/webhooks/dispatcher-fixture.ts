/** For tests: a dispatcher on a real SQLite store in a folder of its own, with a clock that the test advances. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Clock, systemClock } from '@assay/model/clock'
import type { Attempt, Delivery } from '@assay/model/delivery'
import { uuidv7 } from '@assay/model/ids'
import type { Budgets } from '@assay/model/outgoing'
import { newSigningSecret } from '@assay/model/signature'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { headerContext, type SignatureVersion, secretContext, type Webhook } from '@assay/model/webhook'
import { parseTargets } from '@assay/net/target'
import { openStore } from '@assay/store/open'
import type { NewWebhook, Store } from '@assay/store/store'
import { createLedger, type Ledger } from '../outgoing/ledger.ts'
import { createLog, type Logger, silentLog } from '../runtime/log.ts'
import { createMetrics, type Metrics } from '../runtime/metrics.ts'
import { fingerprint, SecretBox } from '../runtime/secrets.ts'
import { createDispatcher, type DispatcherOptions } from './dispatcher.ts'

const UNBOUNDED: Budgets = {
  mail: null,
  chat: null,
  model: null,
  webhook: null,
  download: null,
  query: null,
}

export type KeptDelivery = Delivery & { attempts: Attempt[] }

export interface Registered {
  webhook: Webhook
  secret: string
}

export interface Station {
  store: Store
  /** The folder of the store. */
  home: string
  /** The key of the box. */
  key: Buffer
  box: SecretBox
  ledger: Ledger
  metrics: Metrics
  node_id: string
  /** The lines of the log, as JSON. */
  lines: string[]
  register(
    url: string,
    over?: Partial<NewWebhook> & { values?: Record<string, string>; signature?: SignatureVersion },
  ): Promise<Registered>
  /** Sends a test event that is due now. */
  send(webhook: Webhook, message?: string): Promise<{ event_id: string; delivery_id: string }>
  delivery(delivery_id: string): Promise<KeptDelivery>
  /** Resolves with the delivery once it has `count` attempts. */
  attempted(delivery_id: string, count: number): Promise<KeptDelivery>
  /** Stops the dispatcher and waits until it has ended. */
  stop(): Promise<void>
  close(): Promise<void>
}

export interface StationOptions {
  clock?: Clock
  budgets?: Partial<Budgets>
  /** The address of the store, as ASSAY_STORE has it. The default is SQLite in a folder of its own. */
  url?: string
  targets?: string[]
  /** Makes the senders of subscriptions over the store and the box of the station. */
  senders?(parts: { store: Store; box: SecretBox; ledger: Ledger }): NonNullable<DispatcherOptions['senders']>
  /** Wraps the store of the dispatcher. */
  between?(store: Store): Store
  dispatcher?: Partial<DispatcherOptions>
  /** True keeps no log. */
  quiet?: boolean
}

function registerWith(store: Store, box: SecretBox): Station['register'] {
  return async (url, { values = {}, signature = 'v1', ...over } = {}) => {
    const webhook_id = uuidv7()
    const { secret, public_key } = newSigningSecret(signature)
    const webhook = await store.createWebhook({
      webhook_id,
      workspace_id: DEFAULT_WORKSPACE,
      url,
      headers: Object.entries(values).map(([name, value]) => ({
        name,
        sealed: box.seal(value, headerContext(webhook_id, name)),
        fingerprint: fingerprint(value),
      })),
      user_id: 'ada',
      presence_name: 'ops',
      events: ['*'],
      description: null,
      signature,
      secrets: [{ sealed: box.seal(secret, secretContext(webhook_id)), expires_at: null }],
      public_key,
      retry_schedule: null,
      max_in_flight: null,
      rate_per_second: null,
      ...over,
    })
    return { webhook, secret }
  }
}

function deliveriesOf(store: Store): Pick<Station, 'delivery' | 'attempted'> {
  const delivery = async (delivery_id: string): Promise<KeptDelivery> => {
    const found = await store.getDelivery({ workspace_id: DEFAULT_WORKSPACE, delivery_id })
    if (!found) throw new Error(`There is no delivery ${delivery_id}.`)
    return found
  }
  return {
    delivery,
    async attempted(delivery_id, count) {
      const changed = Promise.withResolvers<KeptDelivery>()
      const look = async (): Promise<void> => {
        const found = await delivery(delivery_id)
        if (found.attempts.length >= count) changed.resolve(found)
      }
      const unsubscribe = store.subscribe((hint) => {
        if (hint.topic === 'delivery' && hint.delivery_id === delivery_id) look().catch(changed.reject)
      })
      await look()
      return changed.promise.finally(unsubscribe)
    },
  }
}

/**
 * Starts a dispatcher as a node of its own. Resolves with the function that stops it. Without a given ledger it makes
 * one, which ends with it.
 */
export async function startDispatcher(
  options: Omit<DispatcherOptions, 'node_id' | 'version' | 'drainMs' | 'holds' | 'ledger'> &
    Partial<DispatcherOptions>,
): Promise<{ node_id: string; stop(): Promise<void> }> {
  const node_id = uuidv7()
  const node = { node_id, name: 'test', roles: ['dispatcher'], version: '1' }
  await options.store.registerNode({ ...node, lease_ms: 3_600_000 })
  const control = new AbortController()
  const settings = { version: '1.2.3', drainMs: 5000, holds: () => true, random: () => 0.5 }
  const own = options.ledger === undefined ? createLedger({ ...options, budgets: UNBOUNDED }) : undefined
  const ledger = options.ledger ?? own!
  const running = createDispatcher({ node_id, ...settings, ...options, ledger }).run(control.signal)
  return {
    node_id,
    async stop() {
      control.abort()
      await running
      // A store that is closed takes no counts, so the rest is dropped.
      await own?.close().catch(() => undefined)
    },
  }
}

export async function startStation(options: StationOptions = {}): Promise<Station> {
  const { clock = systemClock, targets = ['loopback'], between = (store) => store } = options
  const home = await mkdtemp(path.join(tmpdir(), 'assay-dispatcher-'))
  const store = await openStore({ url: options.url ?? '', home, clock, publicUrl: null })
  const key = randomBytes(32)
  const box = new SecretBox([key])
  const lines: string[] = []
  const stream = { write: (line: string) => lines.push(line) }
  const log: Logger = options.quiet ? silentLog : createLog({ level: 'debug', format: 'json', stream })
  const metrics = createMetrics()
  const budgets = { ...UNBOUNDED, ...options.budgets }
  const ledger = createLedger({ store: between(store), budgets, clock, log, metrics })
  const { node_id, stop } = await startDispatcher({
    store: between(store),
    ledger,
    ...(options.senders ? { senders: options.senders({ store, box, ledger }) } : {}),
    secrets: box,
    targets: parseTargets(targets),
    clock,
    log,
    metrics,
    ...options.dispatcher,
  })
  return {
    store,
    home,
    key,
    box,
    ledger,
    metrics,
    node_id,
    lines,
    register: registerWith(store, box),
    async send({ webhook_id }, message = 'hello') {
      const [event_id, delivery_id] = [uuidv7(), uuidv7()]
      await store.sendEvent({
        workspace_id: DEFAULT_WORKSPACE,
        webhook_id,
        event_id,
        delivery_id,
        type: 'webhook.test',
        data: { webhook_id, message },
      })
      return { event_id, delivery_id }
    },
    ...deliveriesOf(store),
    stop,
    async close() {
      await stop()
      await ledger.close().catch(() => undefined)
      await store.close()
      await rm(home, { recursive: true, force: true })
    },
  }
}
