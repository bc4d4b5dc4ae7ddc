/**
 * A rolling upgrade from a version that was really committed (`--from COMMIT`, else the one before the newest migration):
 * its nodes work on one PostgreSQL under load; nodes of the present version start beside them and migrate; both go on
 * side by side, one of each is killed; then the old ones are told to stop, one after another, while the new ones work.
 * No node may stop by itself or answer 5xx, both versions must end jobs on the new schema, a new start of the old version
 * must be refused, and what the clients and receivers saw must be the history of a service that was never upgraded.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { createClient } from '../../src/client.ts'
import { checkHistory, type Entry } from '../history.ts'
import { startPostgres } from '../postgres.ts'
import type { Proof, ProofInput } from '../proof.ts'
import { cleanEnvironment, eventually, temporaryFolder } from '../service.ts'
import { type ChaosNode, freePort, keepNode } from './chaos/cluster.ts'
import { createLoad, digestOf, type Load, WORK } from './chaos/load.ts'
import { drain, readAll, readLogs } from './chaos/reading.ts'
import { type Landscape, startReceivers } from './chaos/receivers.ts'
import { randomFrom } from './crash.ts'
import { checkOut, commitBeforeSchema, type Older } from './upgrade/older.ts'

export interface UpgradeOptions extends Pick<ProofInput, 'seed' | 'log'> {
  from: string
  /** Nodes of each version. */
  nodes: number
  leaseMs: number
  /** Of each phase. */
  phaseMs: number
  jobs: number
  clients: number
  drainMs: number
}

export interface UpgradeReport {
  violations: string[]
  /** Migrations that the old version did not know. */
  newer: string[]
  created: number
  /** Attempts that each version ended on the new schema. */
  ended: { older: number; present: number }
  messages: number
}

const TOKEN = 'assay-upgrade-proof-token'
const ROLES = ['api,worker,dispatcher', 'api,worker', 'worker,dispatcher']
const READY_MS = 120_000

interface Line {
  time: string
  level: string | number
  msg: string
  status?: number
}

function linesOf({ logFile }: ChaosNode): Line[] {
  return readFileSync(logFile, 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('{') && line.endsWith('}'))
    .map((line) => JSON.parse(line) as Line)
}

const endedSince = (nodes: ChaosNode[], since: number): number =>
  nodes.flatMap(linesOf).filter(({ msg, time }) => msg === 'an attempt ended' && Date.parse(time) > since)
    .length

/** What no node of either version says while the other is beside it. */
function complaints(node: ChaosNode): string[] {
  return linesOf(node)
    .filter(({ status = 0, level }) => status >= 500 || level === 'error' || level === 'fatal')
    .map((line) => `${node.name} said: ${JSON.stringify(line).slice(0, 600)}`)
}

/** Answers what it said; null where it started. */
function startRefused(program: string, env: Record<string, string>, home: string): Promise<string | null> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [program, 'migrate'],
      { env: cleanEnvironment({ ...env, ASSAY_HOME: home }) },
      (error, stdout, stderr) => resolve(error ? `${stdout}${stderr}` : null),
    )
  })
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

interface Stage {
  options: UpgradeOptions
  older: Older
  olders: ChaosNode[]
  report: UpgradeReport
  env: Record<string, string>
  folder: string
  /** Starts them beside the old ones. */
  startPresent(): ChaosNode[]
}

/** Answers the present nodes, alone in the end. */
async function upgradeUnderLoad({
  options,
  older,
  olders,
  report,
  env,
  folder,
  startPresent,
}: Stage): Promise<ChaosNode[]> {
  const { phaseMs, log } = options
  await pause(phaseMs)
  const presents = startPresent()
  await eventually(() => presents.every((node) => node.ready()), 'the present nodes are ready', READY_MS)
  const migrated = Date.now()
  const bothWork = async (ms: number): Promise<void> => {
    const since = Date.now()
    await pause(ms)
    await eventually(
      () => [olders, presents].every((nodes) => endedSince(nodes, since) > 0),
      'both end jobs',
      READY_MS,
    )
    report.ended = { older: endedSince(olders, migrated), present: endedSince(presents, migrated) }
  }
  log(`${presents.length} nodes of the present version beside ${olders.length} of ${older.commit}`)
  await bothWork(phaseMs)
  // Each version takes over what one of the other leaves.
  const killed = olders.length > 1 ? olders.at(-1) : undefined
  if (killed) {
    await killed.close('SIGKILL')
    presents.at(-1)!.signal('SIGKILL')
    log('one of each was killed')
    await eventually(() => presents.every((node) => node.ready()), 'the killed one is back', READY_MS)
    await bothWork(phaseMs)
  }
  if (older.newer.length > 0) {
    const said = await startRefused(older.program, env, path.join(folder, 'late'))
    if (said === null) report.violations.push('The old version starts on the newer schema.')
    else if (!/newer version/.test(said)) report.violations.push(`The old version is refused with: ${said}`)
  }
  for (const node of olders.filter((one) => one !== killed)) {
    await node.close()
    log(`${node.name} has stopped`)
  }
  await pause(phaseMs)
  return presents
}

async function judge(
  load: Load,
  receivers: Landscape,
  presents: ChaosNode[],
  olders: ChaosNode[],
  { drainMs }: UpgradeOptions,
  report: UpgradeReport,
): Promise<void> {
  const stuck = await drain(load, presents, receivers.webhooks, drainMs)
  if (stuck.length === 0) await readAll(load, [presents[0]!.url], TOKEN)
  const nodes = [...olders, ...presents]
  const entries: Entry[] = [...load.entries, ...receivers.entries(), ...readLogs(nodes).settled]
  report.created = entries.filter(({ kind }) => kind === 'created').length
  report.messages = entries.filter(({ kind }) => kind === 'received').length
  const broken =
    stuck.length > 0
      ? stuck.map(({ what }) => what)
      : checkHistory(entries, { subscriptions: receivers.subscriptions })
  report.violations.push(
    ...load.faults,
    ...broken,
    ...nodes.flatMap(({ faults }) => faults),
    ...nodes.flatMap(complaints),
  )
}

export async function upgrade(options: UpgradeOptions): Promise<UpgradeReport> {
  const { seed, log, nodes: count, leaseMs } = options
  const { folder, remove } = temporaryFolder()
  const older = checkOut(options.from, path.join(folder, 'older'))
  const report: UpgradeReport = {
    violations: [],
    newer: older.newer,
    created: 0,
    ended: { older: 0, present: 0 },
    messages: 0,
  }
  log(`from ${older.commit}, whose schema lacks ${older.newer.join(', ') || 'nothing'}`)
  const postgres = await startPostgres()
  const database = `assay_upgrade_${process.pid}`
  const env = {
    ASSAY_STORE: await postgres.createDatabase(database),
    ASSAY_SECRET_KEY: 'a1'.repeat(32),
    ASSAY_TOKEN: TOKEN,
    ASSAY_LEASE: `${leaseMs}ms`,
    ASSAY_WORKERS: '1',
    ASSAY_WEBHOOK_TARGETS: 'loopback',
    ASSAY_DRAIN: '3s',
  }
  const nodes: ChaosNode[] = []
  const ports = await Promise.all(Array.from({ length: 2 * count }, freePort))
  const begin = (version: string, program?: string): ChaosNode[] =>
    Array.from({ length: count }, (_, index) => {
      const name = `${version}-${index + 1}`
      const place = {
        name,
        port: ports[nodes.length]!,
        folder: path.join(folder, name),
        roles: ROLES[index % ROLES.length]!,
      }
      const node = keepNode({ ...place, env, proxy: null, ...(program ? { program } : {}) })
      nodes.push(node)
      return node
    })
  let over = false
  let receivers: Landscape | null = null
  let pressing: Promise<void> = Promise.resolve()
  try {
    const olders = begin('older', older.program)
    await eventually(() => olders.every((node) => node.ready()), 'the old nodes are ready', READY_MS)
    const client = createClient({ url: olders[0]!.url, token: TOKEN })
    await client.templates.put('work', WORK)
    const random = randomFrom(seed)
    const at = Date.now()
    receivers = await startReceivers(client, random, at, digestOf)
    const urls = ports
      .filter((_, index) => ROLES[(index % count) % ROLES.length]!.includes('api'))
      .map((port) => `http://127.0.0.1:${port}`)
    const load = createLoad({ ...options, urls, token: TOKEN, random: randomFrom(seed + 1), begin: at })
    pressing = load.press(() => over)
    const presents = await upgradeUnderLoad({
      options,
      older,
      olders,
      report,
      env,
      folder,
      startPresent: () => begin('present'),
    })
    over = true
    await pressing
    receivers.mend()
    await judge(load, receivers, presents, olders, options, report)
  } catch (error) {
    report.violations.push(String(error))
  } finally {
    over = true
    await pressing
    await Promise.all(nodes.map((node) => node.close()))
    await receivers?.close()
    await postgres.dropDatabase(database)
    await postgres.stop()
    if (report.violations.length === 0) remove()
    else log(`what the nodes said is kept in ${folder}`)
  }
  return report
}

/** npm run proof -- upgrade [--from COMMIT] [--nodes N] [--phase SECONDS] */
export const proof: Proof = {
  summary: 'a rolling upgrade under load from an older commit (--from) to the present version, on PostgreSQL',
  async run({ seed, number, text, log }) {
    const from = text('from', commitBeforeSchema() ?? '')
    if (from === '') throw new Error('There is no history here that tells of an older version: give --from.')
    const { violations, ...figures } = await upgrade({
      from,
      seed,
      log,
      nodes: number('nodes', 3),
      leaseMs: number('lease', 6) * 1000,
      phaseMs: number('phase', 20) * 1000,
      jobs: number('jobs', 40),
      clients: number('clients', 8),
      drainMs: number('drain', 120) * 1000,
    })
    log(JSON.stringify(figures, null, 1))
    return violations
  },
}
