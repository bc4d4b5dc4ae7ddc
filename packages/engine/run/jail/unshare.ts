/**
 * Makes the walls of jail.ts by util-linux alone, on machines without bubblewrap. unshare makes the namespaces, a
 * script of mounts builds the root within them, and setpriv removes every capability and the way to gain one before
 * the command starts.
 */
import { readFileSync, realpathSync, statSync } from 'node:fs'

/** The paths that a walled process sees. */
export interface Plan {
  /** The links of the root, such as /bin. */
  links: readonly { at: string; to: string }[]
  /** Files and folders, each at its own path. A later one covers earlier ones. */
  shown: readonly { path: string; writable: boolean }[]
  /** The empty folders in memory. */
  empty: readonly string[]
  devices: readonly string[]
  command: readonly string[]
}

export const TOOLS = ['unshare', 'setpriv', 'setsid', 'mount', 'umount', 'nsenter', 'nice'].map(
  (name) => `/usr/bin/${name}`,
)
export const PIVOT = ['/usr/sbin/pivot_root', '/sbin/pivot_root']
/** The folder in which the root is built. Every Linux has it, and it holds no file of ours. */
const ROOT = '/sys'

interface Mount {
  id: string
  /** The id of the mount that holds its mount point. */
  parent: string
  at: string
  options: string[]
}

/**
 * Returns the mounts of this process in the order in which they were made, without those that another covers at the
 * same path.
 */
function mounts(): Mount[] {
  const all = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .flatMap((line) => {
      const [id, parent, , , at, options] = line.split(' ')
      if (id === undefined || parent === undefined || at === undefined || options === undefined) return []
      const plain = at.replaceAll(/\\([0-7]{3})/g, (_, code: string) =>
        String.fromCharCode(Number.parseInt(code, 8)),
      )
      return [{ id, parent, at: plain, options: options.split(',') }]
    })
  const covered = new Set(all.map(({ parent, at }) => `${parent} ${at}`))
  return all.filter(({ id, at }) => !covered.has(`${id} ${at}`))
}

const below = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(folder === '/' ? '/' : `${folder}/`)

/** Repeats the inherited flags with ours, because the kernel lets a namespace drop none of them. */
function flagsOf({ options }: Pick<Mount, 'options'>, writable: boolean): string {
  const kept = options.filter((one) => ['noexec', 'noatime', 'nodiratime', 'relatime'].includes(one))
  const reads = writable && !options.includes('ro') ? [] : ['ro']
  return [...reads, 'nosuid', 'nodev', ...kept].join(',')
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
const inRoot = (path: string): string => quoted(`${ROOT}${path}`)

/** Returns the mounts of what lies at a path, with every mount below it. */
function showing(path: string, writable: boolean, inherited: readonly Mount[]): string[] {
  const folder = statSync(path).isDirectory()
  const make = folder
    ? `mkdir -p ${inRoot(path)}`
    : `mkdir -p "$(dirname ${inRoot(path)})"; [ -e ${inRoot(path)} ] || : > ${inRoot(path)}`
  // Mounts are listed by real path, and this path may contain links.
  const real = realpathSync(path)
  const holder = inherited.findLast(({ at }) => below(real, at)) ?? { options: [] }
  const within = folder ? inherited.filter(({ at }) => at !== real && below(at, real)) : []
  const again = (at: string, mount: Pick<Mount, 'options'>): string =>
    `mount -n -o remount,bind,${flagsOf(mount, writable)} none ${inRoot(at)}`
  return [
    make,
    `mount -n --rbind ${quoted(path)} ${inRoot(path)}`,
    again(path, holder),
    ...within.map((mount) => again(path + mount.at.slice(real.length), mount)),
  ]
}

function scriptOf({ links, shown: all, empty, devices }: Plan, pivot: string): string {
  const inherited = mounts()
  return [
    `mount -n -t tmpfs -o mode=755,nosuid,nodev tmpfs ${ROOT}`,
    `mkdir -p ${ROOT}/proc ${ROOT}/dev`,
    ...links.map(({ at, to }) => `ln -s ${quoted(to)} ${inRoot(at)}`),
    ...empty.flatMap((path) => [
      `mkdir -p ${inRoot(path)}`,
      `mount -n -t tmpfs -o mode=755,nosuid,nodev tmpfs ${inRoot(path)}`,
    ]),
    ...devices.map((path) => `: > ${inRoot(path)}; mount -n --bind ${quoted(path)} ${inRoot(path)}`),
    ...all.flatMap(({ path, writable }) => showing(path, writable, inherited)),
    `mount -n -t proc -o nosuid,nodev,noexec proc ${ROOT}/proc`,
    `cd ${ROOT}`,
    `${pivot} . .`,
    'umount -n -l .',
    'cd /',
    // This forbids namespaces inside, in which the process would regain its capabilities.
    'echo 0 > /proc/sys/user/max_user_namespaces',
    'mount -n -o remount,bind,ro,nosuid,nodev,noexec none /proc 2>/dev/null || :',
    'unset OLDPWD',
    'exec setsid setpriv --no-new-privs --inh-caps=-all --bounding-set=-all "$@"',
  ].join('\n')
}

/** Returns the command and arguments that run the plan's command within the walls. */
export function unshared(plan: Plan, pivot: string): [file: string, args: string[]] {
  const namespaces =
    '--user --map-root-user --mount --pid --fork --kill-child=KILL --net --ipc --uts --cgroup'
  const shell = ['/bin/sh', '-ec', scriptOf(plan, pivot), 'sh', ...plan.command]
  return [
    '/usr/bin/setpriv',
    ['--pdeathsig', 'KILL', '/usr/bin/unshare', ...namespaces.split(' '), '--', ...shell],
  ]
}
