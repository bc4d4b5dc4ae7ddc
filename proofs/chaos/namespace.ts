/**
 * Makes a network of its own for a node (Linux, root, iproute2). One link joins it to the machine's network and can
 * be taken down.
 */
import { execFileSync } from 'node:child_process'

export interface Namespace {
  /** The beginning of a command that runs in the network. */
  prefix: string[]
  /** The address of the network, and that of the machine as seen from it. */
  inside: string
  outside: string
  cut(): void
  mend(): void
  remove(): void
}

function ip(...args: string[]): void {
  execFileSync('ip', args, { stdio: 'pipe' })
}

/** Makes the network. Returns a sentence if it cannot. */
export function makeNamespace(): Namespace | string {
  const id = String(process.pid)
  const [name, near, far] = [`assay-${id}`, `as${id}a`, `as${id}b`]
  // An address of the block for network tests (RFC 2544), chosen by process id, so that two runs do not collide.
  const [third, fourth] = [(process.pid >> 6) & 255, (process.pid & 63) * 4]
  const outside = `198.18.${third}.${fourth + 1}`
  const inside = `198.18.${third}.${fourth + 2}`
  const remove = (): void => {
    try {
      ip('netns', 'del', name)
    } catch {
      // The network was not made, or is gone.
    }
  }
  try {
    ip('netns', 'add', name)
    ip('link', 'add', near, 'type', 'veth', 'peer', 'name', far, 'netns', name)
    ip('addr', 'add', `${outside}/30`, 'dev', near)
    ip('link', 'set', near, 'up')
    ip('-n', name, 'addr', 'add', `${inside}/30`, 'dev', far)
    ip('-n', name, 'link', 'set', far, 'up')
    ip('-n', name, 'link', 'set', 'lo', 'up')
  } catch (error) {
    remove()
    return `no network namespace can be made here (${(error as Error).message.split('\n').at(-2) ?? 'no iproute2'})`
  }
  return {
    prefix: ['ip', 'netns', 'exec', name],
    inside,
    outside,
    cut: () => ip('link', 'set', near, 'down'),
    mend: () => ip('link', 'set', near, 'up'),
    remove,
  }
}
