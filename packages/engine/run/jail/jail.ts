/**
 * The walls around an analysis process, by bubblewrap: a user, mount, process, network and IPC namespace of its own and no
 * capability. It sees the program, the system's libraries, one temporary folder and the folders of its tasks. Before the first
 * task of a workspace the folders of all others are taken away.
 */
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { sampleFiles } from '../../reading/samples.ts'

/** `auto`: walls where the machine has them. `require`: without them nothing runs. */
export type JailMode = 'auto' | 'require' | 'off'

export interface JailReport {
  /** What stands, as clauses. Empty: no wall but the process itself. */
  walls: string[]
  /** Why no more stands; null: all do. */
  missing: string | null
}

/** The walls were required and cannot be had. The message says what to do. */
export class JailError extends Error {}

/** A folder that a process may read. */
export interface Folder {
  path: string
  /** Also write. */
  writable: boolean
}

const WALLS = [
  'no network',
  'no file but the program, the sources and a temporary folder',
  'no other process',
  'a user namespace of its own without capabilities',
]
const PLACES = ['/usr/bin/bwrap', '/usr/local/bin/bwrap', '/bin/bwrap']
const PROBE_MS = 5_000
const NARROW_MS = 5_000
/** The service answers and renews its lease before analyses go on. Of two threads for one core the other gets a quarter. */
export const NICENESS = 5
const BEHIND = ['nice', '-n', String(NICENESS)]
/** Where folders stand while the others are taken away. */
const KEEP = '/.keep'

/** The system's folders: links as they are, the rest for reading. */
function system(): string[] {
  return ['/usr', '/lib', '/lib64', '/lib32', '/bin', '/sbin'].flatMap((folder) => {
    if (!existsSync(folder)) return []
    return lstatSync(folder).isSymbolicLink()
      ? ['--symlink', readlinkSync(folder), folder]
      : ['--ro-bind', folder, folder]
  })
}

const BASE = [
  ...`--unshare-all --uid 0 --gid 0 --die-with-parent --new-session --cap-drop ALL`.split(' '),
  ...`--proc /proc --tmpfs /tmp --tmpfs ${KEEP} --chdir /`.split(' '),
  ...['null', 'zero', 'urandom', 'random'].flatMap((name) => ['--dev-bind', `/dev/${name}`, `/dev/${name}`]),
]

/** The program: this package, those that it imports, and the modules beside and above them. */
function program(): string[] {
  const own = realpathSync(path.join(import.meta.dirname, '../..'))
  const found = new Set([own, ...Object.values(sampleFiles()).map((file) => path.dirname(file))])
  for (const name of ['model', 'net']) found.add(path.join(own, '..', name))
  for (let folder = own; folder !== path.dirname(folder); folder = path.dirname(folder))
    found.add(path.join(folder, 'node_modules'))
  return [...found, process.execPath].filter((one) => existsSync(one))
}

let report: JailReport | undefined

function lookFor(): JailReport {
  if (process.platform !== 'linux') return { walls: [], missing: 'bubblewrap is a program of Linux' }
  const bwrap = PLACES.find((file) => existsSync(file))
  if (bwrap === undefined) return { walls: [], missing: 'bubblewrap is not installed (package "bubblewrap")' }
  const tried = spawnSync(bwrap, [...BASE, ...system(), ...BEHIND, '/usr/bin/true'], {
    timeout: PROBE_MS,
    env: {},
  })
  if (tried.status === 0 && existsSync('/usr/bin/nsenter')) return { walls: WALLS, missing: null }
  const why = tried.status === 0 ? 'nsenter is not installed' : tried.stderr.toString().trim().split('\n')[0]
  return { walls: [], missing: `bubblewrap cannot make its namespaces here: ${why}` }
}

/** What stands on this machine. The first call tries it, which takes about 10 ms. */
export function wallsHere(mode: JailMode): JailReport {
  if (mode === 'off') return { walls: [], missing: 'ASSAY_JAIL is off' }
  report ??= lookFor()
  if (mode === 'require' && report.walls.length === 0)
    throw new JailError(
      `ASSAY_JAIL=require, but analysis processes cannot be walled in: ${report.missing}. Install what is missing, allow user namespaces, or set ASSAY_JAIL=auto.`,
    )
  return report
}

/** The command and arguments that run `command` within the walls. `cache`: the compile cache, for reading only. */
export function walled(
  command: readonly string[],
  { folders, temp, cache }: { folders: readonly Folder[]; temp: string; cache: string },
): [file: string, args: string[]] {
  const readable = program().flatMap((one) => ['--ro-bind', one, one])
  const own = folders.flatMap(({ path: one, writable }) => [writable ? '--bind' : '--ro-bind', one, one])
  mkdirSync(temp, { recursive: true, mode: 0o700 })
  const bwrap = PLACES.find((file) => existsSync(file))!
  return [
    bwrap,
    [
      ...BASE,
      ...system(),
      ...readable,
      '--ro-bind-try',
      cache,
      cache,
      ...own,
      '--bind',
      temp,
      temp,
      ...BEHIND,
      ...command,
    ],
  ]
}

/** The processes below a process, as the system lists them. Empty where it does not. */
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

/** Tells a folder from one that took its place. Null: there is none. */
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
 * Leaves a process `kept` of its `folders` and takes the rest away, from outside: the process itself has no right to. Rejects
 * if that fails; the process must then end.
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
