/**
 * The faults. The plan is drawn from the seed before the run: kind, victim, length and the pause after it. The same seed
 * makes the same faults in the same order; which work each one hits depends on the machine. Faults overlap. A node has at
 * most one at a time, and half of the nodes have none.
 */
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, statfsSync, writeSync } from 'node:fs'
import path from 'node:path'
import type { Postgres } from '../../test/servers/postgres.ts'
import type { ChaosNode } from './cluster.ts'
import type { Landscape } from './receivers.ts'

export interface World {
  nodes: ChaosNode[]
  postgres: Postgres | null
  leaseMs: number
  clockMs: number
  receivers: Landscape
  /** Creates and runs a job that needs more memory than it may have. */
  submitHungry(): Promise<void>
  /** Fills the disk of a home until the returned function is called. Null if the disk cannot be made small. */
  fillDisk: ((node: ChaosNode) => () => void) | null
}

export interface PlannedFault {
  kind: FaultKind
  /** A number from 0 to 1 that chooses the node. The others choose the length and further needs of the kind. */
  victim: number
  length: number
  pauseMs: number
}

type Act = (world: World, node: ChaosNode, length: number) => Promise<void>

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Returns a time that is longer than a lease in every case. */
const beyond = (leaseMs: number, length: number): number => leaseMs * (1.1 + length * 0.6)
const around = (leaseMs: number, length: number): number => leaseMs * (0.2 + length * 1.4)
/**
 * The milliseconds within which an unavailable node must work again. They only guard against hanging, because a busy
 * machine may be slow.
 */
const BACK_MS = 900_000

/** Makes a fault that makes something unavailable for a while. */
function during(
  begin: (world: World, node: ChaosNode) => void,
  end: (node: ChaosNode) => void,
  ms: typeof around,
): Act {
  return async (world, node, length) => {
    begin(world, node)
    await sleep(ms(world.leaseMs, length))
    end(node)
  }
}

const signal =
  (name: NodeJS.Signals): Act =>
  async (_world, node) => {
    node.signal(name)
  }

const ACTS = {
  'kill -9 of a node': signal('SIGKILL'),
  'SIGTERM to a node': signal('SIGTERM'),
  'SIGSTOP for longer than the lease': during(
    (_world, node) => void node.signal('SIGSTOP'),
    (node) => void node.signal('SIGCONT'),
    beyond,
  ),
  'kill -9 of PostgreSQL': async (world, _node, length) => {
    await world.postgres?.restart?.('SIGKILL', length * 3000)
  },
  'half-open connections': async (_world, node) => node.proxy?.freeze(),
  'a network that swallows everything': during(
    (_world, node) => node.proxy?.silence(),
    (node) => node.proxy?.mend(),
    around,
  ),
  'a node cut off from the database': during(
    (_world, node) => node.proxy?.cut(),
    (node) => node.proxy?.mend(),
    around,
  ),
  'a link that is down': during(
    (_world, node) => node.namespace?.cut(),
    (node) => node.namespace?.mend(),
    beyond,
  ),
  'a clock set apart by minutes': async ({ clockMs }, node, length) => {
    node.shiftClock(Math.round((length * 2 - 1) * clockMs))
  },
  'kill -9 of an analysis process': async (_world, node, length) => {
    const children = node.children()
    const pid = children[Math.floor(length * children.length)]
    if (pid !== undefined) tryKill(pid)
  },
  'memory exhausted in a job': async (world) => world.submitHungry(),
  'a full disk': async (world, node, length) => {
    const empty = world.fillDisk?.(node)
    await sleep(500 + length * 3000)
    empty?.()
  },
  'a receiver that vanishes': async ({ receivers }, _node, length) => {
    receivers.vanish()
    await sleep(500 + length * 4000)
    receivers.comeBack()
  },
} satisfies Record<string, Act>

export type FaultKind = keyof typeof ACTS

/** The kinds that make a whole node unavailable. Half of the nodes have none of them. */
const WHOLE = new Set<FaultKind>([
  'kill -9 of a node',
  'SIGTERM to a node',
  'SIGSTOP for longer than the lease',
  'a network that swallows everything',
  'a node cut off from the database',
  'a link that is down',
  'a full disk',
])

/** How often each kind is drawn, by database. */
export const WEIGHTS: Record<'sqlite' | 'postgres', Partial<Record<FaultKind, number>>> = {
  postgres: {
    'kill -9 of a node': 5,
    'SIGTERM to a node': 2,
    'SIGSTOP for longer than the lease': 3,
    'kill -9 of PostgreSQL': 2,
    'half-open connections': 4,
    'a network that swallows everything': 2,
    'a node cut off from the database': 3,
    'a link that is down': 3,
    'a clock set apart by minutes': 3,
    'kill -9 of an analysis process': 5,
    'memory exhausted in a job': 2,
    'a receiver that vanishes': 2,
  },
  sqlite: {
    'kill -9 of a node': 5,
    'SIGTERM to a node': 2,
    'SIGSTOP for longer than the lease': 2,
    'a clock set apart by minutes': 4,
    'kill -9 of an analysis process': 6,
    'memory exhausted in a job': 3,
    'a full disk': 4,
    'a receiver that vanishes': 2,
  },
}

function tryKill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // The process has ended by itself.
  }
}

/** Draws the plan. `kinds`: the kinds to draw from. `pauseMs`: the average pause. */
export function planFaults(
  count: number,
  weights: Partial<Record<FaultKind, number>>,
  pauseMs: number,
  random: () => number,
): PlannedFault[] {
  const bag = Object.entries(weights).flatMap(([kind, weight]) =>
    Array<FaultKind>(weight).fill(kind as FaultKind),
  )
  return Array.from({ length: count }, () => ({
    kind: bag[Math.floor(random() * bag.length)]!,
    victim: random(),
    length: random(),
    pauseMs: random() * 2 * pauseMs,
  }))
}

export interface Inflicted {
  counts: Partial<Record<FaultKind, number>>
  /** The faults, with the milliseconds since the beginning. */
  journal: string[]
}

/** Carries the plan out and resolves when the last fault is over. Throws if a fault cannot be made. */
export async function inflict(
  world: World,
  plan: PlannedFault[],
  { log, now, ended }: { log(line: string): void; now(): number; ended: AbortSignal },
): Promise<Inflicted> {
  const counts: Inflicted['counts'] = {}
  const journal: string[] = []
  const underWay = new Set<Promise<void>>()
  let broken: unknown
  const most = Math.max(1, Math.floor(world.nodes.length / 2))
  for (const [index, fault] of plan.entries()) {
    const { kind, victim, length, pauseMs } = fault
    const drawn = kind === 'a link that is down' ? world.nodes.filter((one) => one.namespace) : world.nodes
    const node = await pickNode(world.nodes, drawn, victim, WHOLE.has(kind) ? most : null, ended)
    if (ended.aborted || broken !== undefined) break
    counts[kind] = (counts[kind] ?? 0) + 1
    const line = `${kind} (${node.name}, ${length.toFixed(2)})`
    journal.push(`${now().toFixed(0)} ${line}`)
    if (WHOLE.has(kind)) node.busy = true
    const done: Promise<void> = ACTS[kind](world, node, length)
      .catch((error: unknown) => {
        broken ??= error
      })
      .finally(() => {
        if (WHOLE.has(kind)) node.busy = false
        underWay.delete(done)
      })
    underWay.add(done)
    if ((index + 1) % 20 === 0) log(`${index + 1} of ${plan.length} faults, the last: ${line}`)
    await sleep(pauseMs)
    // The next fault waits until PostgreSQL is up again, because otherwise no work would be done.
    if (kind === 'kill -9 of PostgreSQL') await done
  }
  await Promise.all(underWay)
  if (broken !== undefined) throw broken
  return { counts, journal }
}

/**
 * Resolves with the drawn node once it runs and has no such fault. With `most`, it resolves once that many nodes are
 * free.
 */
async function pickNode(
  nodes: ChaosNode[],
  drawn: ChaosNode[],
  victim: number,
  most: number | null,
  ended: AbortSignal,
): Promise<ChaosNode> {
  const node = drawn[Math.floor(victim * drawn.length)]!
  if (most === null) return node
  const patience = performance.now() + BACK_MS
  while (!ended.aborted && (node.busy || !node.ready() || nodes.filter((one) => one.busy).length >= most)) {
    if (performance.now() > patience)
      throw new Error(`The node ${node.name} is not back after ${BACK_MS / 1000} s.`)
    await sleep(50)
  }
  return node
}

export interface SmallDisk {
  fill(): () => void
  remove(): void
}

/** Mounts a file system in memory below `folder`, which can be filled. Returns null if mounting is not allowed. */
export function mountSmallDisk(folder: string, megabytes: number): SmallDisk | null {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=700`, 'tmpfs', folder], {
      stdio: 'pipe',
    })
  } catch {
    return null
  }
  const ballast = path.join(folder, 'ballast')
  return {
    fill() {
      const { bavail, bsize } = statfsSync(folder)
      const file = openSync(ballast, 'w')
      try {
        const chunk = Buffer.alloc(bsize)
        for (let block = 0; block < bavail + 8; block += 1) writeSync(file, chunk)
      } catch {
        // The disk is full, as intended.
      } finally {
        closeSync(file)
      }
      return () => rmSync(ballast, { force: true })
    },
    remove: () => void execFileSync('umount', ['-l', folder], { stdio: 'pipe' }),
  }
}

/**
 * Stands in for a full disk if no file system can be mounted: no file of the process may grow (EFBIG instead of
 * ENOSPC).
 */
export function limitFiles(pid: number): () => void {
  const set = (limit: string): void => {
    try {
      execFileSync('prlimit', ['--pid', String(pid), `--fsize=${limit}:`], { stdio: 'pipe' })
    } catch {
      // The process has ended, and its limit with it.
    }
  }
  set('4096')
  return () => set('unlimited')
}
