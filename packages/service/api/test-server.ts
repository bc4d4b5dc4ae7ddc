/** For tests: the API on a real SQLite store in a folder of its own, with tokens of each scope. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, type TestContext } from 'node:test'
import { createCatalog } from '@assay/engine/reading/catalog'
import { createPool, type Pool, type WorkspaceBudgets } from '@assay/engine/run/pool'
import { type Clock, systemClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import type { Findings } from '@assay/model/insight'
import { DEFAULT_WORKSPACE, type Scope } from '@assay/model/token'
import { parseTargets } from '@assay/net/target'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { vetDialOf } from '../app/pool.ts'
import { createWorkspaceBudgets } from '../budgets/workspace-budgets.ts'
import { openConnections } from '../connections/connection-registry.ts'
import { openFiles } from '../files/open.ts'
import { createLedger } from '../outgoing/ledger.ts'
import { silentLog } from '../runtime/log.ts'
import { createMetrics } from '../runtime/metrics.ts'
import { hashToken, newToken, SecretBox } from '../runtime/secrets.ts'
import type { ApiDependencies } from './dependencies.ts'
import { type Api, createApi } from './server.ts'

/**
 * The statistics of a pool that runs nothing. Any other use of that pool fails the test, which has to ask for the
 * real one.
 */
const NOTHING_RUNS = { usage: [], worked: new Map(), spent: new Map() }
const noPool = new Proxy({} as Pool, {
  get: (_, name) => {
    // The metrics read `stats`.
    if (name === 'stats') return () => NOTHING_RUNS
    throw new Error(`the pool's ${String(name)} was not expected`)
  },
})

const TEMPLATE = `---
title: Hello {{ vars.who }}
description: Greets somebody.
tags: [greeting]
variables:
  who: { type: string, default: world, max_length: 20 }
  times: { type: integer, default: 1, min: 1, max: 9 }
  mood: { type: string, enum: [glad, sad] }
---
# Hello {{ vars.who }}
`

/** Any JSON of an answer. Tests assert what they expect of it. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any

export interface Answer {
  status: number
  headers: Record<string, string | string[] | number | undefined>
  text: string
  /** The parsed body, parsed at each call. It also works for a problem document. */
  json(): Json
}

interface Asked {
  /** The token of the request: the admin's by default, null for none. */
  token?: string | null
  /** The body, sent as JSON unless it is a string. */
  body?: unknown
  type?: string
  headers?: Record<string, string>
}

/** The caps that tests use as those of the settings, and the domains of their readers. */
export const TEST_CAPS = {
  maxStreams: 400,
  maxProcessorSeconds: null,
  maxDrafts: null,
  maxSpill: 1e9,
  workspaceSpill: null,
  workspaceStored: null,
  filesQuota: 3e6,
  signInIdle: 3_600_000,
  signInLife: 86_400_000,
  mailFrom: null,
  mailDomains: ['example.com'],
  oidcIssuer: null,
  oidcName: null,
  oidcClientId: null,
  oidcClientSecret: null,
  oidcScopes: 'openid profile email',
  oidcGroupsClaim: 'groups',
  oidcGroups: [],
  passwordLogin: 'on' as const,
  frameParents: [] as string[],
  corsOrigins: [] as string[],
}

/** The settings of a service without a proxy, limits and mail. */
export const TEST_CONFIG = {
  ...TEST_CAPS,
  host: '127.0.0.1',
  port: 0,
  data: null,
  rateLimit: null,
  workspaceRateLimit: null,
  maxQueued: null,
  maxRunning: null,
  trustProxy: null,
  metricsToken: null,
  publicUrl: null,
  smtpUrl: null,
}

/** The budgets of tests: only mail has one. */
export const TEST_BUDGETS = {
  mail: 5000,
  chat: null,
  model: null,
  webhook: null,
  download: null,
  query: null,
}

export interface TestServer {
  api: Api
  store: Store
  secrets: SecretBox
  parts: ApiDependencies
  tokens: Record<Scope, string>
  /** The budgets that the pool asks, if the pool is real. */
  budgets: WorkspaceBudgets
  /** A folder of this test alone. It is removed afterwards. */
  folder: string
  ask(method: string, url: string, asked?: Asked): Promise<Answer>
  token(workspace_id: string, scopes: Scope[], user_id?: string): Promise<string>
  /**
   * Runs a job to its end as a worker would: claims it, starts it and completes it with the findings. Returns the id
   * of the insight.
   */
  complete(assignment_id: string, findings?: Partial<Findings>): Promise<string>
}

export interface TestServerOptions {
  clock?: Clock
  pool?: 'real'
  /** The targets from which templates may download. */
  sourceTargets?: string[]
  /** The address of an empty PostgreSQL database. The default is SQLite. */
  store?: string
  /** The mail server of the settings. Nothing is sent to it. */
  smtpUrl?: ApiDependencies['config']['smtpUrl']
  parts?: Partial<ApiDependencies>
}

/** Opens the API for a test and closes it after the test. */
export async function openTestServer(
  test: Pick<TestContext, 'after'>,
  options: TestServerOptions = {},
): Promise<TestServer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'assay-api-'))
  const clock = options.clock ?? systemClock
  const store = await openStore({ url: options.store ?? '', home: folder, clock, publicUrl: null })
  const shipped = path.join(folder, 'templates')
  await writeTemplate(shipped)
  const real = options.pool === 'real'
  const own = real && clock !== systemClock ? openPool(clock, folder) : null
  const pool = real ? (own ?? (await sharedPool())) : noPool
  const secrets = new SecretBox([Buffer.alloc(32, 7)])
  const metrics = createMetrics()
  const ledger = createLedger({ store, budgets: TEST_BUDGETS, clock, log: silentLog, metrics })
  vetDial = vetDialOf(ledger)
  const noCaps = { max_processor_seconds: null, max_spill_bytes: null }
  const counted = createWorkspaceBudgets({ store, caps: noCaps, clock, log: silentLog })
  budgets = counted
  const parts: ApiDependencies = {
    config: { ...TEST_CONFIG, smtpUrl: options.smtpUrl ?? null },
    settings: [],
    store,
    pool,
    catalog: createCatalog({ shipped, folders: [] }),
    files: await openFiles({
      files: null,
      home: folder,
      maxFile: 1e6,
      filesQuota: 3e6,
      sourceTargets: options.sourceTargets ?? null,
    }),
    secrets,
    ledger,
    connections: await openConnections({
      store,
      secrets,
      file: null,
      targets: null,
      environment: {},
      ledger,
    }),
    targets: parseTargets(['public', 'loopback']),
    clock,
    log: silentLog,
    metrics,
    node_id: uuidv7(),
    version: '0.0.0',
    roles: ['api'],
    ...options.parts,
  }
  const api = await createApi(parts)
  test.after(async () => {
    await api.close()
    await own?.stop()
    await ledger.close()
    await counted.close()
    await store.close()
    await rm(folder, { recursive: true, force: true })
  })
  const token: TestServer['token'] = (...given) => makeToken(store, ...given)
  const tokens = {
    viewer: await token(DEFAULT_WORKSPACE, ['viewer']),
    analyst: await token(DEFAULT_WORKSPACE, ['analyst']),
    publisher: await token(DEFAULT_WORKSPACE, ['publisher']),
    admin: await token(DEFAULT_WORKSPACE, ['admin']),
  }
  const ask = asker(api, tokens.admin)
  return {
    api,
    store,
    secrets,
    parts,
    tokens,
    folder,
    token,
    ask,
    budgets: counted,
    complete: completer(store),
  }
}

/** The check of dials of the server that was opened last, because one pool serves all servers. */
let vetDial: ReturnType<typeof vetDialOf> | undefined
let budgets: WorkspaceBudgets | undefined
let shared: Promise<{ pool: Pool; folder: string }> | undefined

/**
 * Returns the pool that all tests of a file share. A process takes half a second to start, and serves one task after
 * the other.
 */
async function sharedPool(): Promise<Pool> {
  shared ??= mkdtemp(path.join(tmpdir(), 'assay-pool-')).then((folder) => ({
    folder,
    pool: openPool(systemClock, folder),
  }))
  return (await shared).pool
}

after(async () => {
  const made = await shared
  await made?.pool.stop()
  if (made) await rm(made.folder, { recursive: true, force: true })
})

function openPool(clock: Clock, tempRoot: string): Pool {
  const vet: ReturnType<typeof vetDialOf> = async (wanted) => (await vetDial?.(wanted)) ?? null
  const of: WorkspaceBudgets = {
    admit: async (...asked) => (await budgets?.admit(...asked)) ?? null,
    spend: (...spent) => budgets?.spend(...spent),
  }
  const more = { vetDial: vet, budgets: of }
  return createPool({ size: 1, single: true, clock, log: silentLog, caps: CAPS, tempRoot, ...more })
}

const CAPS = { timeout_ms: 60_000, memory_bytes: 1e9, threads: 1, rows: 10_000, output_bytes: 10_000_000 }

async function writeTemplate(shipped: string): Promise<void> {
  await mkdir(shipped)
  await writeFile(path.join(shipped, 'hello.md'), TEMPLATE)
}

async function makeToken(
  store: Store,
  workspace_id: string,
  scopes: Scope[],
  user_id = 'ada',
): Promise<string> {
  const secret = newToken()
  await store.createToken({
    token_id: uuidv7(),
    workspace_id,
    user_id,
    name: scopes.join(),
    scopes,
    expires_at: null,
    token_hash: hashToken(secret),
  })
  return secret
}

function asker(api: Api, admin: string): TestServer['ask'] {
  return async (method, url, { token = admin, body, type, headers = {} } = {}) => {
    const json = body !== undefined && typeof body !== 'string'
    const contentType = type ?? (json ? 'application/json' : undefined)
    const response = await api.inject({
      method: method as 'GET',
      url,
      headers: {
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
        ...(contentType === undefined ? {} : { 'content-type': contentType }),
        ...headers,
      },
      ...(body === undefined ? {} : { payload: json ? JSON.stringify(body) : body }),
    })
    return {
      status: response.statusCode,
      headers: response.headers,
      text: response.payload,
      json: (): Json => JSON.parse(response.payload),
    }
  }
}

export const FINDINGS: Findings = {
  template_id: 'hello',
  template_version: 'v',
  title: 'Hello world',
  markdown: '# Hello world\n',
  tables: {},
  charts: [],
  analyses: {},
  facts: [],
  lineage: {
    template_id: 'hello',
    template_version: 'v',
    assay_version: '0.0.0',
    engine: 'DuckDB',
    started_at: '2026-01-01T00:00:00.000Z',
    time_zone: 'UTC',
    variables: {},
    sources: [],
    blocks: [],
    elapsed_ms: 1,
    peak_memory_bytes: null,
    host: 'test',
  },
  chart_form: 'mermaid',
  reading: null,
  skipped: null,
}

function completer(store: Store): TestServer['complete'] {
  const node_id = uuidv7()
  let registered = false
  return async (assignment_id, findings = {}) => {
    if (!registered) {
      await store.registerNode({ node_id, name: 'test', roles: ['worker'], version: '0', lease_ms: 600_000 })
      registered = true
    }
    const claimed = await store.claimJobs({ node_id, limit: 100 })
    const found = claimed.find(({ job }) => job.assignment_id === assignment_id)
    if (!found) throw new Error(`the job ${assignment_id} was not claimed`)
    const lease = { assignment_id, attempt: found.job.attempt, node_id }
    await store.startJob(lease)
    const insight_id = uuidv7()
    if (!(await store.completeJob({ ...lease, insight_id, findings: { ...FINDINGS, ...findings } })))
      throw new Error('the lease was lost')
    return insight_id
  }
}
