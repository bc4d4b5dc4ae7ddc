/**
 * The walls around an analysis process, by bubblewrap or by util-linux (unshare.ts): a user, mount, process, network
 * and IPC namespace of its own and no capability. It sees the program, the system's libraries, one temporary folder
 * and the folders of its tasks. Before the first task of a workspace it loses the folders of all others.
 */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { sampleFiles } from '../../reading/samples.ts'
import { PIVOT, type Plan, TOOLS, unshared } from './unshare.ts'

/** `auto`: walls if the machine can make them. `require`: nothing runs without them. */
export type JailMode = 'auto' | 'require' | 'off'

/** The program that makes the walls. The first that works is chosen. */
export type Builder = 'bubblewrap' | 'unshare'
const ORDER: readonly Builder[] = ['bubblewrap', 'unshare']

export interface JailReport {
  /** The walls that stand, as clauses. If empty, only the process itself is a wall. */
  walls: string[]
  by: Builder | null
  /** The reason why some walls are missing; null if all stand. */
  missing: string | null
}

/** The walls are required but cannot be made. The message says what to do. */
export class JailError extends Error {}

/** A folder that a process may read. */
export interface Folder {
  path: string
  /** True if the process may also write to the folder. */
  writable: boolean
}

const WALLS = [
  'no network',
  'no file but the program, the sources and a temporary folder',
  'no other process',
  'a user namespace of its own without capabilities',
]
const PLACES = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap']
/** The limit of a try in milliseconds, which only guards against hanging: a busy machine starts a dozen programs slowly. */
const PROBE_MS = 30_000
const NARROW_MS = 30_000
/**
 * The priority of analyses. The service must answer and renew its lease first. If two threads share a core, an
 * analysis gets a quarter of it.
 */
export const NICENESS = 5
const BEHIND = ['nice', '-n', String(NICENESS)]
/** The path at which kept folders are mounted while the others are removed. */
const KEEP = '/.keep'

const forReading = (path: string): Folder => ({ path, writable: false })

/** Returns the system's folders: links as they are, the rest for reading. */
function system(): Pick<Plan, 'links' | 'shown'> {
  const there = ['/usr', '/lib', '/lib64', '/lib32', '/bin', '/sbin'].filter((folder) => existsSync(folder))
  const links = there.filter((folder) => lstatSync(folder).isSymbolicLink())
  return {
    links: links.map((at) => ({ at, to: readlinkSync(at) })),
    shown: there.filter((folder) => !links.includes(folder)).map(forReading),
  }
}

const DEVICES = ['null', 'zero', 'urandom', 'random'].map((name) => `/dev/${name}`)

/** Returns the command within walls by bubblewrap. */
function wrapped({ links, shown, empty, devices, command }: Plan): [string, string[]] {
  return [
    PLACES.find((file) => existsSync(file)) ?? PLACES[0]!,
    [
      ...`--unshare-all --uid 0 --gid 0 --die-with-parent --new-session --cap-drop ALL`.split(' '),
      ...'--proc /proc --chdir /'.split(' '),
      ...empty.flatMap((one) => ['--tmpfs', one]),
      ...devices.flatMap((one) => ['--dev-bind', one, one]),
      ...links.flatMap(({ at, to }) => ['--symlink', to, at]),
      ...shown.flatMap(({ path: one, writable }) => [writable ? '--bind' : '--ro-bind', one, one]),
      ...command,
    ],
  ]
}

/** Returns the plan in which a command sees the system and the given folders. */
function planOf(command: readonly string[], folders: readonly Folder[]): Plan {
  const { links, shown } = system()
  return {
    links,
    shown: [...shown, ...folders],
    empty: ['/tmp', KEEP],
    devices: DEVICES,
    command: [...BEHIND, ...command],
  }
}

/** Returns the paths of the program: this package, those that it imports (or, in a release, what they share), and the modules beside and above them. */
function program(): string[] {
  const own = realpathSync(path.join(import.meta.dirname, '../..'))
  const found = new Set([own, ...Object.values(sampleFiles()).map((file) => path.dirname(file))])
  for (const name of ['model', 'net', 'shared']) found.add(path.join(own, '..', name))
  for (let folder = own; folder !== path.dirname(folder); folder = path.dirname(folder))
    found.add(path.join(folder, 'node_modules'))
  return [...found, process.execPath].filter((one) => existsSync(one))
}

let report: JailReport | undefined

const pivot = (): string | undefined => PIVOT.find((file) => existsSync(file))

const BUILDERS: Record<Builder, { needs(): string | null; build(plan: Plan): [string, string[]] }> = {
  bubblewrap: {
    needs() {
      if (!PLACES.some((file) => existsSync(file))) return 'it is not installed (package "bubblewrap")'
      return existsSync('/usr/bin/nsenter') ? null : 'nsenter is not installed (package "util-linux")'
    },
    build: wrapped,
  },
  unshare: {
    needs() {
      const missed = [...TOOLS.filter((file) => !existsSync(file)), ...(pivot() ? [] : ['pivot_root'])]
      return missed.length === 0 ? null : `${missed.join(', ')} of util-linux is not there`
    },
    build: (plan) => unshared(plan, pivot()!),
  },
}

/** Returns why a builder cannot make walls here, or null if it can. */
function lacks(by: Builder): string | null {
  const needed = BUILDERS[by].needs()
  if (needed !== null) return needed
  const [file, args] = BUILDERS[by].build(planOf(['/usr/bin/true'], []))
  const { status, stderr, error } = spawnSync(file, args, { timeout: PROBE_MS, env: {}, encoding: 'utf8' })
  if (status === 0) return null
  // A program that could not start, for example without /dev, has printed nothing.
  const said = stderr?.trim().split('\n')[0] || error?.message
  return `it cannot make its namespaces here: ${said || 'it did not end'}`
}

function lookFor(): JailReport {
  const none = { walls: [], by: null }
  if (process.platform !== 'linux') return { ...none, missing: 'they are made of namespaces of Linux' }
  const reasons: string[] = []
  for (const by of ORDER) {
    const why = lacks(by)
    if (why === null) return { walls: WALLS, by, missing: null }
    reasons.push(`${by}: ${why}`)
  }
  return { ...none, missing: reasons.join('; ') }
}

/** Reports the walls that this machine can make. The first call tries them, which takes 10 to 100 ms. */
export function wallsHere(mode: JailMode): JailReport {
  if (mode === 'off') return { walls: [], by: null, missing: 'ASSAY_JAIL is off' }
  report ??= lookFor()
  if (mode === 'require' && report.walls.length === 0)
    throw new JailError(
      `ASSAY_JAIL=require, but analysis processes cannot be walled in: ${report.missing}. Install what is missing, allow user namespaces, or set ASSAY_JAIL=auto.`,
    )
  return report
}

/**
 * Returns the command and arguments that run `command` within the walls. `cache`: the compile cache, for reading
 * only. `by`: the builder, by default the first that works here.
 */
export function walled(
  command: readonly string[],
  { folders, temp, cache, by }: { folders: readonly Folder[]; temp: string; cache: string; by?: Builder },
): [file: string, args: string[]] {
  mkdirSync(temp, { recursive: true, mode: 0o700 })
  const readable = [...program(), ...(existsSync(cache) ? [cache] : [])].map(forReading)
  const plan = planOf(command, [...readable, ...folders, { path: temp, writable: true }])
  return BUILDERS[by ?? wallsHere('require').by!].build(plan)
}

/** Returns the descendants of a process; empty if the system does not list them. */
export function descendants(pid: number | undefined): number[] {
  if (pid === undefined) return []
  try {
    const own = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')
      .split(' ')
      .filter(Boolean)
      .map(Number)
    return own.flatMap((one) => [one, ...descendants(one)])
  } catch {
    return []
  }
}

/**
 * Returns the identity of a folder, which differs for a folder that replaced it. Returns null if there is no folder.
 */
export function identityOf(folder: string): string | null {
  try {
    const { dev, ino } = statSync(folder)
    return `${dev}:${ino}`
  } catch {
    return null
  }
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/**
 * Leaves a process only `kept` of its `folders`. It works from outside, because the process itself has no right to.
 * Rejects if that fails; the process must then end.
 */
export async function narrow(
  pid: number,
  folders: readonly Folder[],
  kept: readonly Folder[],
): Promise<void> {
  const [inner] = descendants(pid).slice(-1)
  if (inner === undefined) throw new Error('The walled process is gone.')
  const steps = [
    ...kept.map(
      ({ path: one }, at) => `mkdir -p ${KEEP}/${at}; mount -n --bind ${quoted(one)} ${KEEP}/${at}`,
    ),
    ...folders.toReversed().map(({ path: one }) => `umount -n -l ${quoted(one)}`),
    ...kept.map(
      ({ path: one }, at) => `mkdir -p ${quoted(one)}; mount -n --move ${KEEP}/${at} ${quoted(one)}`,
    ),
  ]
  const enter = [
    '-t',
    String(inner),
    '-U',
    '-m',
    '-p',
    '--preserve-credentials',
    '/bin/sh',
    '-ec',
    steps.join('\n'),
  ]
  await promisify(execFile)('/usr/bin/nsenter', enter, { env: { PATH: '/usr/bin:/bin' }, timeout: NARROW_MS })
}
