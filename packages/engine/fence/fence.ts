/**
 * The fence of memory around a child. DuckDB's own limit does not cover lists and strings that one call builds
 * (measured: a limit of 300 MB, `len(range(500000000))` took 20.8 GB), so the process has one of its own: 600 MB for
 * Node itself, the job's memory, and a margin of 100 MB. On Linux it is a limit of the data segment, set by `prlimit`:
 * the allocation fails, and DuckDB turns that into an error. Elsewhere the child looks at itself 20 times a second.
 * The limit counts what is reserved, and V8 reserves 512 MB for code of which it uses a few: what stands reserved and
 * untouched when the child is loaded is not counted against it.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

const NODE_BYTES = 600_000_000
const MARGIN_BYTES = 100_000_000
const LOOK_MS = 50

function findPrlimit(): string | null {
  const places =
    process.platform === 'linux' ? ['/usr/bin/prlimit', '/bin/prlimit', '/usr/local/bin/prlimit'] : []
  return places.find((file) => existsSync(file)) ?? null
}

/** Bytes of the data segment that are reserved but not in memory. */
function reservedBytes(): number {
  const status = readFileSync('/proc/self/status', 'latin1')
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0)
  return Math.max(0, field('VmData') - field('RssAnon')) * 1024
}

export interface Fence {
  /** Sets the fence for a job that may use so much memory. Cheap where it stands already, 5 ms where it is moved. */
  set(memoryBytes: number): Promise<void>
}

/** `onBreach` is called where the fence is only watched, at most once; it should end the process. */
export function createFence(onBreach: () => void, prlimit: string | null = findPrlimit()): Fence {
  let bytes = 0
  let reserved: number | undefined
  let timer: NodeJS.Timeout | undefined
  const watch = (): void => {
    timer ??= setInterval(() => {
      if (process.memoryUsage.rss() <= bytes) return
      clearInterval(timer)
      onBreach()
    }, LOOK_MS).unref()
  }
  return {
    async set(memoryBytes) {
      const wanted = NODE_BYTES + memoryBytes + MARGIN_BYTES
      if (wanted === bytes) return
      bytes = wanted
      if (prlimit === null) return watch()
      reserved ??= reservedBytes()
      const limit = `--data=${wanted + reserved}:`
      await promisify(execFile)(prlimit, ['--pid', String(process.pid), limit], { env: {} }).catch(watch)
    },
  }
}
