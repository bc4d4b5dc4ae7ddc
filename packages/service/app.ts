/** From settings to a running service: the only place that knows every part. */
import { rm } from 'node:fs/promises'
import { availableParallelism, hostname } from 'node:os'
import { createCatalog } from '@assay/engine/reading/catalog'
import { sampleFiles, templatesFolder } from '@assay/engine/reading/samples'
import { createPool, type Pool, type PoolOptions } from '@assay/engine/run/pool'
import { type Clock, systemClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import type { SubscriptionKind } from '@assay/model/subscription'
import type { Guard } from '@assay/net/guard'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { createApi } from './api/server.ts'
import { ensureAdmin, ensureToken } from './app/accounts.ts'
import {
  capsOf,
  checkFolders,
  connectionBook,
  keepOf,
  listenError,
  openSecrets,
  targetsOf,
} from './app/settings.ts'
import { type Config, ConfigError, type describeConfig } from './config/config.ts'
import { openFiles } from './files/open.ts'
import { createLease } from './queue/lease.ts'
import { createReaper } from './queue/reaper.ts'
import { createWorker } from './queue/worker.ts'
import { workFolder } from './runtime/home.ts'
import { type Logger, silentLog } from './runtime/log.ts'
import { createMetrics } from './runtime/metrics.ts'
import { createNarrator } from './runtime/narrator.ts'
import { SecretBox } from './runtime/secrets.ts'
import { type Service, supervise } from './runtime/service.ts'
import { openTraces, type Traces, type TracesOptions } from './runtime/traces.ts'
import { VERSION } from './runtime/version.ts'
import { createScheduler } from './schedules/scheduler.ts'
import { createDispatcher } from './webhooks/dispatcher.ts'
import type { SenderOptions, Senders } from './webhooks/senders/senders.ts'

export interface AppOptions {
  config: Config
  /** The settings as people may see them, for GET /v1alpha/settings. */
  settings?: ReturnType<typeof describeConfig>
  clock?: Clock
  log?: Logger
}

export interface App {
  /** Where it listens, e.g. "http://127.0.0.1:8080". */
  url: string
  store: Store
  /** Made by the first start where ASSAY_TOKEN is not set; to be shown once. */
  firstToken: string | null
  /** Stops everything in order and resolves once all has ended. */
  stop(): Promise<void>
  /** Resolves when the service has stopped; rejects where it failed. */
  done: Promise<void>
}

/** Milliseconds for the traces that are left when the service stops; no more than ASSAY_DRAIN. */
const FLUSH_MS = 3000
/**
 * Mail is rendered, and the pictures of its charts are drawn, by the pool; a node that sends none needs no pool for it. The libraries are
 * loaded with the first mail or chat: with what they import they weigh as much as a third of the rest.
 */
function sendersOf(
  { smtpUrl: server, mailFrom: from, publicUrl }: Config,
  pool: Pool | null,
  shared: Pick<SenderOptions, 'store' | 'targets' | 'log' | 'version'> & { secrets: SecretBox },
) {
  if (server !== null && from === null)
    throw new ConfigError('ASSAY_MAIL_FROM: set it, too: mail needs an address that it is from.')
  const noPool = (): Promise<never> => Promise.reject(new Error('This node has no pool.'))
  const draw: Pool['draw'] = (task, options) => pool?.draw(task, { ...options, patient: true }) ?? noPool()
  const render: Pool['render'] = (task, options) =>
    pool?.render(task, { ...options, patient: true }) ?? noPool()
  return (guard: Guard): Senders => {
    let loaded: Promise<Senders> | null = null
    const load = async (): Promise<Senders> => {
      const { createSenders } = await import('./webhooks/senders/senders.ts')
      return createSenders({ ...shared, box: shared.secrets, publicUrl, server, from, draw, render }, guard)
    }
    const senderOf = (kind: SubscriptionKind): Senders[SubscriptionKind] => ({
      send: async (...sending) => (await (loaded ??= load()))[kind].send(...sending),
    })
    return { email: senderOf('email'), slack: senderOf('slack') }
  }
}

/** Undefined where the operator has named no language model. */
function narratorOf({ narrateUrl, narrateModel, narrateKey }: Config, store: Store, log: Logger) {
  if (narrateUrl === null) return undefined
  if (narrateModel === '') throw new ConfigError('ASSAY_NARRATE_MODEL: name the model of ASSAY_NARRATE_URL.')
  return createNarrator({
    url: narrateUrl,
    model: narrateModel,
    key: narrateKey,
    cache: store,
    onFailure: (reason) => log.warn({ reason }, 'the language model gave no answer'),
  })
}

/** Runs from the first service's start to the last one's end, so that what the others need outlives them. */
function untilStopped(name: string, end: () => Promise<void>): Service {
  return {
    name,
    async run(signal) {
      if (!signal.aborted) {
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(), { once: true }),
        )
      }
      await end()
    },
  }
}

/** Sends what the others have left when all of them have ended. */
async function tracesOf(
  { traces: url, tracesHeaders: headers, drain }: Config,
  given: Omit<TracesOptions, 'url' | 'headers'>,
  services: Service[],
): Promise<Traces | null> {
  const traces = await openTraces({ url, headers, ...given })
  if (traces) services.push(untilStopped('traces', () => traces.close(Math.min(drain, FLUSH_MS))))
  return traces
}

/** What has no life of its own. */
async function openParts(config: Config, store: Store) {
  const secrets = await openSecrets(config, store)
  await ensureAdmin(store)
  const firstToken = await ensureToken(store, config.token)
  const connections = await connectionBook(config, store, secrets)
  return { secrets, connections, firstToken, targets: targetsOf(config, store) }
}

/** Null on a node that neither runs, previews, renders nor draws. */
function poolOf(
  config: Config,
  given: Omit<PoolOptions, 'caps' | 'narrator' | 'log'> & { store: Store; log: Logger },
): Pool | null {
  const { store, ...rest } = given
  const { roles, smtpUrl } = config
  if (!roles.includes('worker') && !roles.includes('api') && smtpUrl === null) return null
  return createPool({ ...rest, caps: capsOf(config), narrator: narratorOf(config, store, given.log) })
}

/** Puts each service into `services` as soon as it is there, so that a start that fails half-way can stop them. */
async function buildServices(
  { config, settings = [], clock = systemClock, log = silentLog }: AppOptions,
  store: Store,
  services: Service[],
) {
  const node = {
    node_id: uuidv7(),
    name: `${hostname()}:${process.pid}`,
    roles: config.roles,
    version: VERSION,
  }
  const metrics = createMetrics()
  const { firstToken, ...parts } = await openParts(config, store)
  const traces = await tracesOf(config, { node_id: node.node_id, version: VERSION, clock, log }, services)
  const shared = { ...parts, store, clock, log, metrics, traces, node_id: node.node_id, version: VERSION }
  const has = (role: Config['roles'][number]): boolean => config.roles.includes(role)
  const tempRoot = await workFolder(config.home)
  services.push(untilStopped('work folder', () => rm(tempRoot, { recursive: true, force: true })))
  const concurrency = config.workers ?? availableParallelism()
  const pool = poolOf(config, { store, clock, log, metrics, size: concurrency, tempRoot })
  if (pool) services.push(untilStopped('pool', () => pool.stop()))
  const files = await openFiles(config)
  services.push(untilStopped('files', () => files.close()))
  const senders = sendersOf(config, pool, shared)
  const sample = sampleFiles()
  const catalog = has('api')
    ? createCatalog({
        shipped: templatesFolder,
        folders: config.templates,
        onBroken: ({ file, faults }) => log.warn({ file, faults }, 'a template cannot be used'),
      })
    : null
  const lease = createLease({ store, clock, log, node, leaseMs: config.lease })
  const { roles, home } = config
  const api = await createApi({
    ...shared,
    files,
    config,
    settings,
    pool,
    catalog,
    roles,
    lease,
    home,
    lingerMs: config.linger,
  })
  const keeping = { keep: keepOf(config), keepAuditMs: config.keepAudit }
  services.push(lease, createReaper({ ...shared, ...keeping, leaseMs: config.lease }))
  if (catalog) services.push(createScheduler({ store, catalog, clock, log, metrics }))
  if (has('dispatcher'))
    services.push(createDispatcher({ ...shared, drainMs: config.drain, holds: lease.holds, senders }))
  if (has('worker') && pool) {
    services.push(
      createWorker({
        ...shared,
        pool,
        lease,
        sample,
        data: config.data,
        files,
        concurrency,
        drainMs: config.drain,
      }),
    )
  }
  services.push(untilStopped('api', () => api.close()))
  return { api, lease, firstToken }
}

async function runToEnd(services: Service[], signal: AbortSignal, log: Logger, store: Store): Promise<void> {
  try {
    await supervise(services, signal, log)
  } finally {
    await store.close()
  }
}

/**
 * Starts everything and answers when the service is ready. Throws ConfigError for what its operator must set right.
 */
export async function startApp(options: AppOptions): Promise<App> {
  const { config, clock = systemClock, log = silentLog } = options
  await checkFolders(config)
  const store = await openStore({
    url: config.store,
    home: config.home,
    clock,
    publicUrl: config.publicUrl,
    caps: { max_queued: config.maxQueued, max_running: config.maxRunning },
    connections: config.storeConnections,
    failed: (error) => log.fatal({ err: error }, 'the database is not used any more: restart the service'),
  })
  const services: Service[] = []
  try {
    if (store.kind === 'sqlite') await store.reapNodes({ all: true })
    const { api, lease, firstToken } = await buildServices(options, store, services)
    await lease.register()
    const url = await api.listen().catch((error: unknown) => {
      throw listenError(error, config)
    })
    const stopping = new AbortController()
    const done = runToEnd(services, stopping.signal, log, store)
    done.catch(() => undefined)
    return {
      url,
      store,
      firstToken,
      done,
      async stop() {
        stopping.abort()
        await done
      },
    }
  } catch (error) {
    await runToEnd(services, AbortSignal.abort(), log, store)
    throw error
  }
}
