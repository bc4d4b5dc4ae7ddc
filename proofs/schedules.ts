/**
 * Simulates a year of schedules on three nodes that are killed again and again. Each schedule must run at each of its
 * due times once, no more and no fewer. The stores and the scheduler are the real ones, in processes of their own
 * that die by SIGKILL; only the clock is the proof's. On SQLite, where one process holds a home, the three schedulers
 * share it and die together. On PostgreSQL they are three processes, and the database's own clock is set (a function
 * before pg_catalog's). The expected due times are computed separately, minute by minute from Intl, without the code
 * under test.
 */
import { type ChildProcess, fork } from 'node:child_process'
import path from 'node:path'
import { systemClock } from '@assay/model/clock'
import { uuidv7 } from '@assay/model/ids'
import { openStore } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { Client } from 'pg'
import { missingPostgres, startPostgres } from '../test/servers/postgres.ts'
import { temporaryFolder } from '../test/servers/service.ts'
import { randomFrom } from './calibration/processes.ts'
import type { Proof } from './main.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

export interface ScheduleOptions {
  /** The first time, by RFC 3339. */
  from: string
  days: number
  /** The chance of a kill at each step of the clock. */
  kills: number
  seed: number
  log(line: string): void
}

export interface ScheduleReport {
  violations: string[]
  due: number
  made: number
  kills: number
  turns: number
}

/** Expressions whose due times a wall clock gives directly: "HH:MM" on some days, or every N hours. */
interface Plan {
  cron: string
  zone: string
  daily?: string
  weekday?: number
  monthday?: number
  everyHours?: number
}

const PLANS: Plan[] = [
  { cron: '30 2 * * *', zone: 'Europe/Berlin', daily: '02:30' },
  { cron: '0 0 * * *', zone: 'America/Santiago', daily: '00:00' },
  { cron: '15 2 * * *', zone: 'Australia/Lord_Howe', daily: '02:15' },
  { cron: '@daily', zone: 'Africa/Cairo', daily: '00:00' },
  { cron: '0 9 * * MON', zone: 'America/New_York', daily: '09:00', weekday: 1 },
  { cron: '45 23 L * *', zone: 'UTC', daily: '23:45', monthday: -1 },
  { cron: '@monthly', zone: 'Asia/Kolkata', daily: '00:00', monthday: 1 },
  { cron: '0 */6 * * *', zone: 'UTC', everyHours: 6 },
]

function wallClock(zone: string) {
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone: zone,
    dateStyle: 'short',
    timeStyle: 'short',
  })
  return (at: number): string => format.format(at)
}

/** Tells whether the wall's day is one of the plan's. */
function isDayOf(plan: Plan, day: string): boolean {
  const date = new Date(`${day}T00:00:00Z`)
  if (plan.weekday !== undefined && date.getUTCDay() !== plan.weekday) return false
  if (plan.monthday === 1) return date.getUTCDate() === 1
  if (plan.monthday === -1) return new Date(date.getTime() + DAY).getUTCDate() === 1
  return true
}

/**
 * Returns each due time after `from`, up to `until`: the first minute of a day at which the wall shows the time or a
 * later one.
 */
function dueTimes(plan: Plan, from: number, until: number): string[] {
  const due: number[] = []
  if (plan.everyHours !== undefined) {
    const step = plan.everyHours * HOUR
    for (let at = Math.floor(from / step) * step + step; at <= until; at += step) due.push(at)
  } else {
    const wall = wallClock(plan.zone)
    const done = new Set<string>()
    for (let at = from - DAY; at <= until; at += 15 * MINUTE) {
      const [day, time] = wall(at).split(' ') as [string, string]
      if (done.has(day) || time < plan.daily! || !isDayOf(plan, day)) continue
      done.add(day)
      due.push(at)
    }
  }
  return due.filter((at) => at > from && at <= until).map((at) => new Date(at).toISOString())
}

interface Node {
  child: ChildProcess
  /** Resolves once all of its schedulers are idle at the time. */
  settle(at: number): Promise<void>
}

const NODE = path.join(import.meta.dirname, '..', 'test', 'faults', 'schedule-node.ts')

async function startNode(environment: Record<string, string>, at: number): Promise<Node> {
  const child = fork(NODE, {
    env: { PATH: process.env.PATH, ...environment, SIMULATED_AT: String(at) },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  let told: (() => void) | undefined
  child.on('message', () => told?.())
  child.on('exit', () => told?.())
  await new Promise<void>((resolve) => (told = resolve))
  return {
    child,
    settle(at) {
      if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
      return new Promise((resolve) => {
        told = resolve
        child.send({ at }, () => undefined)
      })
    },
  }
}

async function end({ child }: Node): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await gone
}

/** A database whose clock is the proof's. */
export interface World {
  name: string
  /** The number of processes, and the settings of each. */
  nodes: Record<string, string>[]
  turn(at: number): Promise<void>
  /** Opens a store that reads the results. Null while a node holds the home. */
  look<T>(work: (store: Store) => Promise<T>, at: number): Promise<T>
  close(): Promise<void>
}

export function sqliteWorld(): World {
  const { folder, remove } = temporaryFolder()
  return {
    name: 'SQLite',
    nodes: [{ SIMULATED_HOME: folder, SIMULATED_SCHEDULERS: '3' }],
    turn: () => Promise.resolve(),
    async look(work, at) {
      const clock = { ...systemClock, now: () => at }
      const store = await openStore({ url: '', home: folder, clock, publicUrl: null })
      try {
        return await work(store)
      } finally {
        await store.close()
      }
    },
    close: () => Promise.resolve(remove()),
  }
}

const CLOCK = `
  CREATE SCHEMA simulated;
  CREATE TABLE simulated.clock (at timestamptz NOT NULL);
  INSERT INTO simulated.clock VALUES (now());
  CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql STABLE
    AS 'SELECT at FROM simulated.clock';`

/** Opens the world on PostgreSQL. Resolves with a sentence if there is no PostgreSQL. */
export async function postgresWorld(): Promise<World | string> {
  const missing = await missingPostgres()
  if (missing !== null) return missing
  const postgres = await startPostgres()
  const name = `assay_schedules_${process.pid}`
  const url = await postgres.createDatabase(name)
  const open = () => openStore({ url, home: '', clock: systemClock, publicUrl: null })
  await (await open()).close()
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(CLOCK)
  await client.query(`ALTER DATABASE ${name} SET search_path = public, pg_catalog`)
  const node = { SIMULATED_STORE: url, SIMULATED_SCHEDULERS: '1' }
  return {
    name: 'PostgreSQL',
    nodes: [node, node, node],
    async turn(at) {
      await client.query('UPDATE simulated.clock SET at = $1', [new Date(at)])
    },
    async look(work) {
      const store = await open()
      try {
        return await work(store)
      } finally {
        await store.close()
      }
    },
    async close() {
      await client.end()
      await postgres.dropDatabase(name)
      await postgres.stop()
    },
  }
}

async function createAll(store: Store, late: boolean): Promise<Map<string, Plan>> {
  const made = new Map<string, Plan>()
  await store.putTemplate({
    workspace_id: 'default',
    template_id: 'mine',
    user_id: 'ada',
    source: '---\ntitle: Mine\nvariables:\n  period: { type: period, default: last_month }\n---\n# Mine\n',
  })
  for (const plan of PLANS) {
    const schedule = await store.createSchedule({
      schedule_id: uuidv7(),
      workspace_id: 'default',
      user_id: 'ada',
      name: `${plan.cron} ${plan.zone}`,
      template_id: 'mine',
      variables: { period: 'last_7_days' },
      cron: plan.cron,
      time_zone: plan.zone,
      starts_at: null,
      ends_at: null,
      missed: late ? 'all' : 'skip',
      missed_limit: 100,
      overlap: 'queue',
      paused: false,
      presence_name: null,
      priority: 0,
      metadata: {},
    })
    made.set(schedule.schedule_id, plan)
  }
  return made
}

/** Compares the store's schedule with the wall clock. */
async function judge(
  store: Store,
  schedule_id: string,
  plan: Plan,
  due: string[],
): Promise<{ made: number; violations: string[] }> {
  const found: string[] = []
  let cursor: string | undefined
  do {
    const page = await store.listJobs({ workspace_id: 'default', schedule_id, limit: 200, cursor })
    found.push(...page.items.map((job) => `${job.scheduled_for} ${job.job_status}`))
    cursor = page.next_cursor ?? undefined
  } while (cursor !== undefined)
  const wanted = due.map((at) => `${at} queued`)
  const counts = new Map<string, number>()
  for (const one of found) counts.set(one, (counts.get(one) ?? 0) + 1)
  const title = `${plan.cron} in ${plan.zone}`
  const violations = [
    ...wanted.filter((one) => !counts.has(one)).map((one) => `${title}: no job for ${one}`),
    ...[...counts]
      .filter(([, count]) => count > 1)
      .map(([one, count]) => `${title}: ${count} jobs for ${one}`),
    ...[...counts.keys()]
      .filter((one) => !wanted.includes(one))
      .map((one) => `${title}: a job for ${one}, which was not due`),
  ]
  const schedule = await store.getSchedule({ workspace_id: 'default', schedule_id })
  if (schedule?.counts.made !== due.length)
    violations.push(`${title}: ${schedule?.counts.made} of ${due.length} runs are counted`)
  return { made: found.length, violations }
}

export async function simulate(world: World, options: ScheduleOptions): Promise<ScheduleReport> {
  const { days, kills, seed, log } = options
  const random = randomFrom(seed)
  const begin = Date.parse(options.from)
  const until = begin + days * DAY
  await world.turn(begin)
  const schedules = await world.look((store) => createAll(store, true), begin)
  const wanted = new Map([...schedules].map(([id, plan]) => [id, dueTimes(plan, begin, until)]))
  const turns = [...new Set([...wanted.values()].flat())].toSorted().map((at) => Date.parse(at))
  const report: ScheduleReport = {
    violations: [],
    due: [...wanted.values()].flat().length,
    made: 0,
    kills: 0,
    turns: turns.length,
  }
  let nodes = await Promise.all(world.nodes.map((environment) => startNode(environment, begin)))
  for (const due of turns) {
    // The schedule runs up to four minutes late, as on a busy node. This still counts as in time.
    const at = due + Math.floor(random() * 4 * MINUTE)
    await world.turn(at)
    if (random() < kills) {
      const victim = Math.floor(random() * nodes.length)
      const settled = nodes.map((node) => node.settle(at))
      // The kill comes at any moment from the claim until after the commit.
      await new Promise((resolve) => setTimeout(resolve, random() * 12))
      await end(nodes[victim]!)
      await Promise.all(settled)
      report.kills += 1
      // Other nodes claim the schedules of a dead node after 15 seconds.
      const later = at + 16_000
      await world.turn(later)
      const fresh = await startNode(world.nodes[victim]!, later)
      nodes = nodes.map((node, index) => (index === victim ? fresh : node))
      await Promise.all(nodes.map((node) => node.settle(later)))
    } else await Promise.all(nodes.map((node) => node.settle(at)))
  }
  await world.turn(until)
  await Promise.all(nodes.map((node) => node.settle(until)))
  await Promise.all(nodes.map(end))
  await world.look(async (store) => {
    for (const [id, plan] of schedules) {
      const { made, violations } = await judge(store, id, plan, wanted.get(id)!)
      report.made += made
      report.violations.push(...violations)
    }
  }, until)
  log(`${world.name}: ${report.due} due times in ${days} days, ${report.made} jobs, ${report.kills} kills`)
  return report
}

export const proof: Proof = {
  summary:
    'a simulated year of schedules on three nodes with kills, on both databases: --days, --kills PER CENT',
  async run({ seed, number, log }) {
    const options = {
      from: '2026-01-01T00:00:00Z',
      days: number('days', 365),
      kills: number('kills', 10) / 100,
      seed,
      log,
    }
    const violations: string[] = []
    for (const make of [sqliteWorld, postgresWorld]) {
      const world = await make()
      if (typeof world === 'string') {
        log(`PostgreSQL: not run (${world})`)
        continue
      }
      try {
        violations.push(...(await simulate(world, options)).violations)
      } finally {
        await world.close()
      }
    }
    return violations
  },
}
