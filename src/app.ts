/** From settings to a running service: the only place that knows every part. */
import { rm, stat } from 'node:fs/promises'
import { availableParallelism, hostname } from 'node:os'
import { createPool, type Pool, type PoolOptions } from './analysis/pool.ts'
import { createApi } from './api/server.ts'
import { type Config, ConfigError, type describeConfig } from './config.ts'
import { type ConnectionBook, openBook } from './connections/book.ts'
import { SettingsFault } from './connections/settings-file.ts'
import { AppError } from './errors.ts'
import { openFiles } from './files/open.ts'
import type { Guard } from './outgoing/guard.ts'
import { createNarrator } from './outgoing/narrator.ts'
import { createLease } from './queue/lease.ts'
import { createReaper } from './queue/reaper.ts'
import { createWorker } from './queue/worker.ts'
import { type Clock, systemClock } from './runtime/clock.ts'
import { homeKey, makeHome, workFolder } from './runtime/home.ts'
import { uuidv7 } from './runtime/ids.ts'
import { type Logger, silentLog } from './runtime/log.ts'
import { createMetrics } from './runtime/metrics.ts'
import { hashToken, newToken, SecretBox, SecretError } from './runtime/secrets.ts'
import { type Service, supervise } from './runtime/service.ts'
import { openTraces, type Traces, type TracesOptions } from './runtime/traces.ts'
import { VERSION } from './runtime/version.ts'
import { createScheduler } from './schedules/scheduler.ts'
import { openStore } from './store/open.ts'
import type { Store } from './store/store.ts'
import { parseTargets, type Targets } from './target.ts'
import { createCatalog } from './templates/catalog.ts'
import { sampleFiles, templatesFolder } from './templates/samples.ts'
import { DEFAULT_WORKSPACE, type Token } from './token.ts'
import { createDispatcher } from './webhooks/dispatcher.ts'
import { createSenders, type SenderOptions } from './webhooks/senders/senders.ts'

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

/** The user to whom the first token belongs. It has no password until it is given one. */
export const ADMIN_USER = 'admin'
/** Milliseconds for the traces that are left when the service stops; no more than ASSAY_DRAIN. */
const FLUSH_MS = 3000
/** The name of the token that ASSAY_TOKEN sets: another value takes its place at the next start. */
const SETTING_TOKEN = 'ASSAY_TOKEN'

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/** Someone who tries the service out on one machine may send webhooks to it, too. */
function webhookTargets(config: Config, store: Store): readonly string[] {
  if (config.webhookTargets) return config.webhookTargets
  const triedOut =
    store.kind === 'sqlite' &&
    config.roles.length === 3 &&
    isLoopback(config.host) &&
    config.publicUrl === null
  return triedOut ? ['public', 'loopback'] : ['public']
}

function targetsOf(config: Config, store: Store): Targets {
  try {
    parseTargets(config.sourceTargets ?? [])
  } catch (error) {
    throw new ConfigError(`ASSAY_SOURCE_TARGETS: ${(error as Error).message}`, { cause: error })
  }
  try {
    return parseTargets(webhookTargets(config, store))
  } catch (error) {
    throw new ConfigError(`ASSAY_WEBHOOK_TARGETS: ${(error as Error).message}`, { cause: error })
  }
}

/** Mail bears pictures of charts, which the pool draws; a node that sends none needs no pool for it. */
function sendersOf(
  { smtpUrl: server, mailFrom: from, publicUrl }: Config,
  pool: Pool | null,
  shared: Pick<SenderOptions, 'store' | 'targets' | 'log' | 'version'> & { secrets: SecretBox },
) {
  if (server !== null && from === null)
    throw new ConfigError('ASSAY_MAIL_FROM: set it, too: mail needs an address that it is from.')
  const draw: Pool['draw'] = (task, options) =>
    pool ? pool.draw(task, options) : Promise.reject(new Error('This node has no pool.'))
  return (guard: Guard) =>
    createSenders({ ...shared, box: shared.secrets, publicUrl, server, from, draw }, guard)
}

async function connectionBook(config: Config, store: Store, secrets: SecretBox): Promise<ConnectionBook> {
  const targets = config.connectionTargets
  try {
    parseTargets(targets ?? [])
  } catch (error) {
    throw new ConfigError(`ASSAY_CONNECTION_TARGETS: ${(error as Error).message}`, { cause: error })
  }
  const file = config.connections
  return openBook({ store, secrets, file, targets, environment: process.env }).catch((error: unknown) => {
    if (!(error instanceof SettingsFault)) throw error
    throw new ConfigError(`ASSAY_CONNECTIONS: ${error.message}`, { cause: error })
  })
}

/** Files may come and go, but a folder that is none at the start is a slip of the pen. */
async function checkFolders({ data, templates, home }: Config): Promise<void> {
  const isFolder = async (folder: string) => (await stat(folder).catch(() => null))?.isDirectory() === true
  if (data !== null && !(await isFolder(data)))
    throw new ConfigError(`ASSAY_DATA: ${data} is no folder; make it, or give the one that holds the data.`)
  for (const folder of templates)
    if (!(await isFolder(folder)))
      throw new ConfigError(
        `ASSAY_TEMPLATES: ${folder} is no folder; make it, or give those that hold templates.`,
      )
  try {
    await makeHome(home)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw new ConfigError(`ASSAY_HOME: ${home} is no folder that this process may write to (${code}).`)
  }
}

/** The store keeps a sealed word: a node that cannot open it has another key and would make secrets unreadable. */
async function openSecrets(config: Config, store: Store): Promise<SecretBox> {
  if (store.kind === 'postgres' && config.secretKey.length === 0) {
    throw new ConfigError(
      'ASSAY_SECRET_KEY: on PostgreSQL every node needs the same key, 32 bytes as hex or base64.',
    )
  }
  const keys = config.secretKey.length > 0 ? config.secretKey : [await homeKey(config.home)]
  const secrets = new SecretBox(keys)
  const kept = await store.keepOnce('secret_key_check', secrets.seal('assay', 'secret_key_check'))
  try {
    secrets.open(kept, 'secret_key_check')
  } catch (error) {
    if (!(error instanceof SecretError)) throw error
    const source = config.secretKey.length > 0 ? 'ASSAY_SECRET_KEY' : `${config.home}/secret.key`
    throw new ConfigError(
      `${source}: the secrets in this store were sealed with another key; give the first one, too (a list divided by commas).`,
      { cause: error },
    )
  }
  return secrets
}

async function ensureAdmin(store: Store): Promise<void> {
  const admin = { user_id: ADMIN_USER, username: ADMIN_USER, workspace_id: DEFAULT_WORKSPACE }
  if (await store.findUser(ADMIN_USER)) return
  await store.createUser({ ...admin, scopes: ['admin'], password_hash: null }).catch((error: unknown) => {
    if (!(error instanceof AppError && error.code === 'name_taken')) throw error
  })
}

async function createAdminToken(store: Store, name: string, token: string): Promise<Token> {
  return store.createToken({
    token_id: uuidv7(),
    workspace_id: DEFAULT_WORKSPACE,
    user_id: ADMIN_USER,
    name,
    scopes: ['admin'],
    expires_at: null,
    token_hash: hashToken(token),
  })
}

/** Sets the token of ASSAY_TOKEN in place of an earlier one, or makes the first; the answer is to be shown once. */
async function ensureToken(store: Store, given: string | null): Promise<string | null> {
  const workspace_id = DEFAULT_WORKSPACE
  if (given === null) {
    const some = await store.listTokens({ workspace_id, limit: 1 })
    if (some.items.length > 0) return null
    const token = newToken()
    await createAdminToken(store, 'first token', token)
    return token
  }
  if (await store.findToken(hashToken(given))) return null
  const earlier = (await allTokens(store)).filter(({ name }) => name === SETTING_TOKEN)
  try {
    await createAdminToken(store, SETTING_TOKEN, given)
  } catch (error) {
    // Another node that starts at the same time was faster.
    if (!(await store.findToken(hashToken(given)))) throw error
    return null
  }
  for (const { token_id } of earlier) await store.deleteToken({ workspace_id, token_id })
  return null
}

async function allTokens(store: Store): Promise<Token[]> {
  const tokens: Token[] = []
  let cursor: string | undefined
  do {
    const page = await store.listTokens({ workspace_id: DEFAULT_WORKSPACE, limit: 200, cursor })
    tokens.push(...page.items)
    cursor = page.next_cursor ?? undefined
  } while (cursor)
  return tokens
}

/** The admin token of the command line on this home: an earlier one of the same name is taken away. */
export async function replaceToken(store: Store, name: string): Promise<{ token: string; token_id: string }> {
  for (const old of await allTokens(store)) {
    if (old.name === name)
      await store.deleteToken({ workspace_id: DEFAULT_WORKSPACE, token_id: old.token_id })
  }
  const token = newToken()
  const { token_id } = await createAdminToken(store, name, token)
  return { token, token_id }
}

function capsOf(config: Config) {
  return {
    timeout_ms: config.maxTimeout,
    memory_bytes: config.maxMemory,
    threads: config.maxThreads,
    rows: config.maxRows,
    output_bytes: config.maxOutput,
  }
}

function keepOf({ keepJobs, keepEvents, keepDeliveries }: Config) {
  return { jobs_ms: keepJobs, events_ms: keepEvents, deliveries_ms: keepDeliveries ?? keepEvents }
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

/** Null on a node that neither runs, previews nor draws. */
function poolOf(
  config: Config,
  given: Omit<PoolOptions, 'caps' | 'narrator'> & { store: Store },
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
  const files = openFiles(config)
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
  const api = await createApi({ ...shared, files, config, settings, pool, catalog, roles, lease, home })
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

/** What the operator must set right, as a sentence; anything else as it is. */
function listenError(error: unknown, { host, port }: Config): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return new ConfigError(`ASSAY_PORT: ${port} on ${host} is taken; choose another, or 0 for a free one.`)
  if (code === 'EACCES')
    return new ConfigError(`ASSAY_PORT: ${port} needs rights that this process does not have.`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new ConfigError(`ASSAY_HOST: ${JSON.stringify(host)} is no address of this machine.`)
  return error
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
