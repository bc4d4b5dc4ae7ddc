/**
 * Faults under load. Nodes, their child processes, clocks, disks, database and network fail, one after another and at the
 * same time, while clients create, run, wait, cancel and delete jobs and receivers fail. The answers and messages are kept
 * as a history. test/history/history.ts checks that it could come from a service without faults. After the last fault every job
 * and delivery must end without help. On PostgreSQL there are several nodes of mixed roles, each behind its own TCP proxy;
 * on SQLite there is one process. The faults are drawn from the seed (chaos/faults.ts).
 */
import { mkdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { createClient } from '@assay/client'
import { checkHistory, type Entry } from '../test/history/history.ts'
import { type Postgres, startOwnPostgres, startPostgres } from '../test/servers/postgres.ts'
import { startProxy } from '../test/servers/proxy.ts'
import { eventually, temporaryFolder } from '../test/servers/service.ts'
import { randomFrom } from './calibration/processes.ts'
import { type ChaosNode, freePort, keepNode } from './chaos/cluster.ts'
import {
  type FaultKind,
  inflict,
  limitFiles,
  mountSmallDisk,
  planFaults,
  type SmallDisk,
  WEIGHTS,
  type World,
} from './chaos/faults.ts'
import { createLoad, digestOf, HUNGRY, type Load, WORK } from './chaos/load.ts'
import { makeNamespace } from './chaos/namespace.ts'
import { drain, readAll, readLogs, tellStory } from './chaos/reading.ts'
import { startReceivers } from './chaos/receivers.ts'
import type { Proof } from './main.ts'

export interface ChaosOptions {
  store: 'sqlite' | 'postgres'
  faults: number
  /** The number of nodes on PostgreSQL; SQLite has one. */
  nodes: number
  seed: number
  leaseMs: number
  /** The average milliseconds between faults. */
  pauseMs: number
  /** The number of unfinished jobs that are kept open. */
  jobs: number
  clients: number
  /** The most milliseconds by which a clock is set wrong. On SQLite, work that was due waits until the clock reaches that time again. */
  clockMs: number
  /** The milliseconds within which everything must end. */
  drainMs: number
  /** The faults that are left out. */
  without?: FaultKind[]
  /** True starts a PostgreSQL of its own even if ASSAY_TEST_POSTGRES is set, because the run kills it. */
  own: boolean
  log(line: string): void
}

export interface ChaosReport {
  violations: string[]
  faults: Partial<Record<FaultKind, number>>
  starts: number
  created: number
  ends: Record<string, number>
  attempts: number
  messages: number
  repeated: number
  /** The milliseconds from the last fault to the end of everything. */
  drainedMs: number
}

const TOKEN = 'assay-chaos-proof-token'
const ROLES = ['api', 'api,worker', 'worker', 'worker,dispatcher', 'dispatcher', 'api,worker,dispatcher']
const DISK_MB = 192
/**
 * The limit of a start in milliseconds. It only guards against hanging, because a busy machine may be slow to start
 * six nodes.
 */
const START_MS = 900_000

interface Ground {
  nodes: ChaosNode[]
  postgres: Postgres | null
  fillDisk: World['fillDisk']
  close(): Promise<void>
}

function settings(leaseMs: number): Record<string, string> {
  return {
    ASSAY_TOKEN: TOKEN,
    ASSAY_LEASE: `${leaseMs}ms`,
    ASSAY_LOG_LEVEL: 'info',
    ASSAY_WEBHOOK_TARGETS: 'loopback',
    ASSAY_DRAIN: '3s',
  }
}

/** Ends all nodes when the runner ends a file that takes too long (SIGTERM), so that nothing outlives it. */
function endWithUs(nodes: ChaosNode[], taken: { remove(): void } | null): () => void {
  const ended = (): void => process.exit(1)
  const kill = (): void => {
    for (const node of nodes) node.signal('SIGKILL')
    taken?.remove()
  }
  process.on('exit', kill)
  process.on('SIGTERM', ended)
  return () => {
    process.off('exit', kill)
    process.off('SIGTERM', ended)
  }
}

async function onPostgres(options: ChaosOptions, folder: string): Promise<Ground> {
  const { nodes: count, leaseMs, own, log } = options
  const namespace = count < ROLES.length ? 'fewer nodes than roles' : makeNamespace()
  log(
    typeof namespace === 'string' ? `no link is taken down: ${namespace}` : 'node-3 has a network of its own',
  )
  const postgres = own ? await startOwnPostgres() : await startPostgres()
  const database = `assay_chaos_${process.pid}`
  const url = new URL(await postgres.createDatabase(database))
  const target = { host: url.hostname, port: Number(url.port) }
  const env = { ...settings(leaseMs), ASSAY_SECRET_KEY: 'a1'.repeat(32), ASSAY_WORKERS: '1' }
  const nodes: ChaosNode[] = []
  for (let index = 0; index < count; index += 1) {
    // With fewer than six nodes the last ones have every role; of two nodes both have.
    const roles = index >= count - 1 || count < 3 ? ROLES.at(-1)! : ROLES[index % ROLES.length]!
    // A worker connects to its database only, so it can have a network link of its own.
    const apart = roles === 'worker' && typeof namespace === 'object' ? namespace : null
    const proxy = await startProxy(target, 0, apart?.outside)
    url.hostname = apart?.outside ?? target.host
    url.port = String(proxy.port)
    const name = `node-${index + 1}`
    const place = { name, port: await freePort(), folder: path.join(folder, name), proxy }
    const within = apart ? { namespace: apart } : {}
    nodes.push(keepNode({ ...place, ...within, roles, env: { ...env, ASSAY_STORE: url.href } }))
  }
  const letGo = endWithUs(nodes, typeof namespace === 'object' ? namespace : null)
  return {
    nodes,
    postgres,
    fillDisk: null,
    async close() {
      await Promise.all(nodes.map((node) => node.close()))
      letGo()
      for (const { proxy } of nodes) await proxy?.close()
      if (typeof namespace === 'object') namespace.remove()
      await postgres.dropDatabase(database)
      await postgres.stop()
    },
  }
}

async function onSqlite({ leaseMs }: ChaosOptions, folder: string): Promise<Ground> {
  const place = path.join(folder, 'node-1')
  const home = path.join(place, 'home')
  mkdirSync(home, { recursive: true })
  const disk: SmallDisk | null = mountSmallDisk(home, DISK_MB)
  const env = { ...settings(leaseMs), ASSAY_WORKERS: '2' }
  const base = { name: 'node-1', roles: ROLES.at(-1)!, folder: place, proxy: null }
  const node = keepNode({ ...base, port: await freePort(), env })
  const letGo = endWithUs([node], disk)
  return {
    nodes: [node],
    postgres: null,
    fillDisk: disk ? () => disk.fill() : (one) => limitFiles(one.pid() ?? 0),
    async close() {
      await node.close()
      letGo()
      disk?.remove()
    },
  }
}

function apis(nodes: ChaosNode[]): string[] {
  return nodes.filter(({ roles }) => roles.includes('api')).map(({ url }) => url)
}

/** Waits until every node works again. */
function healAll({ nodes, receivers }: World): void {
  for (const node of nodes) {
    node.proxy?.mend()
    node.namespace?.mend()
    node.signal('SIGCONT')
  }
  receivers.mend()
}

/** Returns the broken promises, each with the history of its job. */
async function judge(load: Load, world: World, options: ChaosOptions, report: ChaosReport): Promise<void> {
  const begun = performance.now()
  const stuck = await drain(load, world.nodes, world.receivers.webhooks, options.drainMs)
  report.drainedMs = Math.round(performance.now() - begun)
  options.log(`drained in ${(report.drainedMs / 1000).toFixed(1)} s`)
  if (stuck.length === 0) await readAll(load, apis(world.nodes), TOKEN)
  const { settled, lines } = readLogs(world.nodes)
  const entries: Entry[] = [...load.entries, ...world.receivers.entries(), ...settled]
  describe(report, entries)
  // A stuck job has no final state yet, so the final read is skipped.
  const faults =
    stuck.length > 0
      ? stuck.map(({ what }) => what)
      : checkHistory(entries, { subscriptions: world.receivers.subscriptions })
  report.violations.push(...load.faults, ...world.nodes.flatMap((node) => node.faults), ...faults)
  const named = [...stuck.map(({ assignment_id }) => assignment_id), ...faults.map(idIn)]
  for (const id of [...new Set(named)].slice(0, 3)) {
    if (id) for (const line of tellStory(id, entries, lines)) options.log(line)
  }
}

function lastWords({ name, logFile }: ChaosNode): string[] {
  const lines = readFileSync(logFile, 'utf8').trimEnd().split('\n')
  const own = lines.filter((line) => !line.includes('"msg":"request"'))
  return own.slice(-8).map((line) => `    ${name}: ${line.slice(0, 400)}`)
}

const idIn = (fault: string): string | null =>
  /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(fault)?.[0] ?? null

function describe(report: ChaosReport, entries: Entry[]): void {
  const ends = new Map<string, string>()
  const messages = entries.filter((entry) => entry.kind === 'received')
  for (const entry of entries) {
    if (entry.kind === 'created') report.created += 1
    if (entry.kind === 'settled') report.attempts += 1
    if (entry.kind === 'seen' && entry.job.finished_at !== null)
      ends.set(entry.assignment_id, entry.job.error ?? entry.job.job_status)
  }
  for (const end of ends.values()) report.ends[end] = (report.ends[end] ?? 0) + 1
  report.messages = messages.length
  report.repeated = messages.length - new Set(messages.map((one) => `${one.receiver} ${one.event_id}`)).size
}

const FIRST_JOBS = 4

export async function chaos(options: ChaosOptions): Promise<ChaosReport> {
  const { store, faults, seed, leaseMs, clockMs, pauseMs, log } = options
  const random = randomFrom(seed)
  const begin = Date.now()
  const { folder, remove } = temporaryFolder()
  const report: ChaosReport = {
    violations: [],
    faults: {},
    starts: 0,
    created: 0,
    ends: {},
    attempts: 0,
    messages: 0,
    repeated: 0,
    drainedMs: 0,
  }
  const ground = await (store === 'postgres' ? onPostgres : onSqlite)(options, folder)
  const { nodes, postgres, fillDisk } = ground
  try {
    await eventually(() => nodes.every((node) => node.ready()), 'all nodes are ready', START_MS)
    const urls = apis(nodes)
    const client = createClient({ url: urls[0]!, token: TOKEN })
    await client.templates.put('work', WORK)
    await client.templates.put('hungry', HUNGRY)
    const receivers = await startReceivers(client, random, begin, digestOf)
    const load = createLoad({ ...options, urls, token: TOKEN, random: randomFrom(seed + 1), begin })
    let over = false
    const world: World = {
      nodes,
      postgres,
      leaseMs,
      clockMs,
      receivers,
      fillDisk,
      submitHungry: () => load.submit(() => over, 'hungry'),
    }
    const missing: FaultKind[] = [
      ...(options.without ?? []),
      ...(postgres?.restart ? [] : ['kill -9 of PostgreSQL' as const]),
      ...(nodes.some((node) => node.namespace) ? [] : ['a link that is down' as const]),
    ]
    const weights = Object.fromEntries(
      Object.entries(WEIGHTS[store]).filter(([kind]) => !missing.includes(kind as FaultKind)),
    )
    const ended = new AbortController()
    try {
      // Work begins before the first fault.
      for (let count = 0; count < FIRST_JOBS; count++) await load.submit(() => false)
      const pressing = load.press(() => over)
      const plan = planFaults(faults, weights, pauseMs, random)
      const now = (): number => Date.now() - begin
      log(`seed ${seed}: ${faults} faults on ${store}`)
      const { counts } = await inflict(world, plan, { log, now, ended: ended.signal })
      report.faults = counts
      over = true
      healAll(world)
      await pressing
      await judge(load, world, options, report)
      report.starts = nodes.reduce((sum, node) => sum + node.starts, 0)
    } catch (error) {
      // Work that stands still breaks a promise too. The last log lines of the nodes tell where.
      report.violations.push(String(error))
      for (const node of nodes) for (const line of lastWords(node)) log(line)
    } finally {
      over = true
      ended.abort()
      await receivers.close()
    }
  } finally {
    await ground.close()
    report.violations.push(
      ...nodes.flatMap((node) => node.faults.filter((fault) => !report.violations.includes(fault))),
    )
    if (report.violations.length === 0) remove()
    else log(`what the nodes said is kept in ${folder}`)
  }
  return report
}

/** npm run proof -- chaos [--seed N] [--store sqlite|postgres] [--faults N] [--nodes N] [--lease SECONDS] */
export const proof: Proof = {
  summary:
    'hundreds of faults under load: kill -9, SIGSTOP, cut networks, clocks, disks; --store sqlite or postgres',
  async run({ seed, number, text, log }) {
    const store = text('store', 'postgres')
    if (store !== 'postgres' && store !== 'sqlite') throw new Error('--store must be sqlite or postgres')
    const report = await chaos({
      store,
      seed,
      log,
      faults: number('faults', 300),
      nodes: number('nodes', 6),
      leaseMs: number('lease', 6) * 1000,
      pauseMs: number('pause', 2000),
      jobs: number('jobs', 60),
      clients: number('clients', 10),
      clockMs: number('clock', 240) * 1000,
      drainMs: number('drain', 300) * 1000,
      own: true,
    })
    const { violations, ...figures } = report
    log(JSON.stringify(figures, null, 1))
    return violations
  },
}
