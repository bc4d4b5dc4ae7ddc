/** Starts the service from its settings. Only this file knows every part. */
import { rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { sampleFiles } from '@assay/engine/reading/samples'
import { workersHere } from '@assay/engine/run/pool'
import { type Clock, systemClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { createApi } from './api/server.ts'
import { endPasswords, ensureAdmin, ensureToken } from './app/accounts.ts'
import { modelOf, poolOf } from './app/pool.ts'
import { createReturnMemory, ofThisProcess } from './app/return-memory.ts'
import { sendersOf } from './app/senders.ts'
import {
  checkFolders,
  checkMailServer,
  connectionBook,
  keepOf,
  listenError,
  targetsOf,
} from './app/settings.ts'
import { openTemplates } from './app/templates.ts'
import { createWorkspaceBudgets } from './budgets/workspace-budgets.ts'
import { budgetsOf, type Config, type describeConfig, type Role, workspaceCapsOf } from './config/config.ts'
import { openFiles } from './files/open.ts'
import { createLedger } from './outgoing/ledger.ts'
import { createAuditor } from './partitions/auditor.ts'
import { createKeeper } from './partitions/keeper.ts'
import { createLease } from './queue/lease.ts'
import { createReaper } from './queue/reaper.ts'
import { createStoreClock, type StoreClock } from './queue/store-clock.ts'
import { createWorker } from './queue/worker.ts'
import { mailOf, type ReaderMailParts } from './readers/reader-mail.ts'
import { createBackups } from './recovery/schedule.ts'
import { workFolder } from './runtime/home.ts'
import { type Logger, silentLog } from './runtime/log.ts'
import { createMetrics } from './runtime/metrics.ts'
import { openTraces } from './runtime/open-traces.ts'
import type { SecretBox } from './runtime/secrets.ts'
import { type Service, supervise, untilStopped } from './runtime/service.ts'
import { VERSION } from './runtime/version.ts'
import { createScheduler, type SchedulerOptions } from './schedules/scheduler.ts'
import { openSecrets } from './secrets/key-check.ts'
import { createLostSecrets } from './secrets/lost.ts'
import { createTemplateReader } from './templates/template-reader.ts'
import { createDispatcher } from './webhooks/dispatcher.ts'

export interface AppOptions {
  config: Config
  /** The settings with their secrets hidden, for GET /v1alpha/settings. */
  settings?: ReturnType<typeof describeConfig>
  clock?: Clock
  log?: Logger
}

export interface App {
  /** The address on which the service listens, such as "http://127.0.0.1:8080". */
  url: string
  store: Store
  /** The token that the first start makes if ASSAY_TOKEN is not set. Show it once. Null if none was made. */
  firstToken: string | null
  /** Stops every part in order and resolves once all have ended. */
  stop(): Promise<void>
  /** Resolves when the service has stopped; rejects if it failed. */
  done: Promise<void>
}

/** Longest time for sending the remaining traces when the service stops, in milliseconds, or ASSAY_DRAIN if that is shorter. */
const FLUSH_MS = 3000

/** Makes what every part of the node uses. */
async function openBase(
  { config, log = silentLog }: AppOptions,
  { store, clock }: { store: Store; clock: StoreClock },
) {
  const secrets = await openSecrets(config, store)
  await ensureAdmin(store)
  await endPasswords(store, config, log)
  const firstToken = await ensureToken(store, config.token)
  const metrics = createMetrics()
  const ledger = createLedger({ store, budgets: budgetsOf(config), clock, log, metrics })
  const connections = await connectionBook(config, store, secrets, ledger)
  const node_id = uuidv7()
  const traces = await openTraces({
    url: config.traces,
    headers: config.tracesHeaders,
    node_id,
    version: VERSION,
    clock,
    log,
  })
  const targets = targetsOf(config, store)
  const base = {
    store,
    secrets,
    connections,
    targets,
    clock,
    log,
    metrics,
    ledger,
    traces,
    node_id,
    version: VERSION,
    publicUrl: config.publicUrl,
  }
  return { base, firstToken }
}

/**
 * Returns the roles of the node. Without the key of the secrets it answers requests and does no work, because jobs
 * and deliveries would fail.
 */
function rolesWith({ locked }: SecretBox, { roles }: Config, log: Logger): Role[] {
  if (locked === null) return roles
  log.error({ reason: locked }, 'jobs and deliveries wait: the key of the secrets is missing')
  return ['api']
}

function schedulerOf(
  base: Omit<SchedulerOptions, 'catalog' | 'templates' | 'mailOf'> & ReaderMailParts,
  catalog: SchedulerOptions['catalog'],
  templates: SchedulerOptions['templates'],
): Service {
  return createScheduler({ ...base, catalog, templates, mailOf: (reader) => mailOf(base, reader) })
}

function workersOf(
  parts: Omit<Parameters<typeof createWorker>[0], 'sample' | 'data' | 'keeperOf' | 'drainMs'> &
    Omit<Parameters<typeof createAuditor>[0], 'data'> &
    Parameters<typeof createKeeper>[0],
  { data, drain: drainMs }: Config,
): Service[] {
  const keeperOf = (workspace_id: string) => createKeeper(parts, workspace_id)
  parts.metrics.workers.set(parts.concurrency)
  return [
    createWorker({ ...parts, sample: sampleFiles(), data, keeperOf, drainMs }),
    createAuditor({ ...parts, data }),
  ]
}

/**
 * Makes the parts of the node, in the order in which they start; they stop in the reverse order. Each service is put into
 * `services` as soon as it exists, so that a start that fails half-way can stop them.
 */
async function buildServices(options: AppOptions, store: Store, services: Service[]) {
  const { config, settings = [] } = options
  const { home } = config
  const clock = createStoreClock(options.clock ?? systemClock, options.log ?? silentLog)
  const { base, firstToken } = await openBase(options, { store, clock })
  const roles = rolesWith(base.secrets, config, base.log)
  const lostSecrets = createLostSecrets({ ...base, config })
  const { log, metrics, ledger, traces, node_id } = base
  if (traces) services.push(untilStopped('traces', () => traces.close(Math.min(config.drain, FLUSH_MS))))
  services.push(untilStopped('ledger', () => ledger.close()))
  const tempRoot = await workFolder(config.spill ?? path.join(home, 'tmp'))
  services.push(untilStopped('work folder', () => rm(tempRoot, { recursive: true, force: true })))
  const concurrency = config.workers ?? workersHere()
  const model = modelOf(config, base)
  const budgets = createWorkspaceBudgets({ store, caps: workspaceCapsOf(config), clock, log })
  services.push(untilStopped('budgets', () => budgets.close()))
  const pool = poolOf(config, {
    ledger,
    budgets,
    clock,
    log,
    metrics,
    size: concurrency,
    tempRoot,
    narrator: model,
  })
  if (pool) services.push(untilStopped('pool', () => pool.stop()))
  const files = await openFiles(config)
  services.push(untilStopped('files', () => files.close()))

  const node = { node_id, name: `${hostname()}:${process.pid}`, roles, version: VERSION }
  services.push(lostSecrets)
  const follow = store.kind === 'postgres' ? clock.follow : undefined
  const lease = createLease({ store, clock, log, node, leaseMs: config.lease, ...(follow && { follow }) })
  const keeping = { keep: keepOf(config), keepAuditMs: config.keepAudit, leaseMs: config.lease }
  services.push(lease, createReaper({ ...base, ...keeping }))
  const backups = createBackups({ config, store, clock, log, metrics })
  if (backups) services.push(backups)
  const { catalog, repository } = await openTemplates({ ...base, config, pool, files, tempRoot }, services)
  const templates = pool && createTemplateReader(pool, { patient: true })
  if (catalog && templates) services.push(schedulerOf({ ...base, config }, catalog, templates))
  const senders = sendersOf(config, pool, base)
  if (roles.includes('dispatcher'))
    services.push(createDispatcher({ ...base, drainMs: config.drain, holds: lease.holds, senders }))
  if (roles.includes('worker') && pool)
    services.push(...workersOf({ ...base, pool, lease, files, concurrency }, config))
  const lingerMs = config.linger
  const api = await createApi({
    ...base,
    files,
    lostSecrets,
    config,
    settings,
    pool,
    model,
    catalog,
    repository,
    roles,
    lease: { ...lease, skewMs: clock.skewMs },
    home,
    spill: tempRoot,
    lingerMs,
  })
  services.push(untilStopped('api', () => api.close()))
  const memory = ofThisProcess()
  if (memory) services.push(createReturnMemory({ ...memory, clock }))
  return { api, lease, firstToken }
}

/** The milliseconds beyond `drain` and `linger` in which a node that is told to stop ends, and those for the store's end. */
const STOP_MS = 10_000
const CLOSE_MS = 3000

/** Workers and the dispatcher each have the time of `drain`. */
const stopWithin = ({ drain, linger }: Config): number => 2 * drain + linger + STOP_MS

interface Whole {
  services: Service[]
  store: Store
  log: Logger
  config: Config
}

async function runToEnd({ services, store, log, config }: Whole, signal: AbortSignal): Promise<void> {
  try {
    await supervise(services, signal, log, stopWithin(config))
  } finally {
    const closed = new AbortController()
    const isSilent = await Promise.race([
      store.close().then(() => false),
      delay(CLOSE_MS, true, { signal: closed.signal }).catch(() => false),
    ])
    closed.abort()
    if (isSilent) log.error('the database did not answer at the end, and its connections are left behind')
  }
}

/** Starts every part and resolves when the service is ready. Throws ConfigError for a setting that the operator must correct. */
export async function startApp(options: AppOptions): Promise<App> {
  const { config, clock = systemClock, log = silentLog } = options
  await checkFolders(config)
  await checkMailServer(config)
  const store = await openStore({
    url: config.store,
    home: config.home,
    clock,
    publicUrl: config.publicUrl,
    caps: {
      max_queued: config.maxQueued,
      max_running: config.maxRunning,
      max_drafts: config.maxDrafts,
      max_processor_seconds: config.maxProcessorSeconds,
      max_stored_bytes: config.workspaceStored,
    },
    connections: config.storeConnections,
    failed: (error) =>
      log.fatal({ err: error }, 'the store stopped after a disk failure: restart the service'),
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
    const done = runToEnd({ services, store, log, config }, stopping.signal)
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
    await runToEnd({ services, store, log, config }, AbortSignal.abort())
    throw error
  }
}
