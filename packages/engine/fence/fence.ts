/**
 * The memory limit of an analysis process. DuckDB's own limit does not cover lists and strings that one call builds
 * (measured: with a limit of 300 MB, `len(range(500000000))` took 20.8 GB). So the process has a limit: 600 MB for Node
 * itself, the job's memory, and a margin of 100 MB. On Linux `prlimit` bounds the data segment: the allocation fails, and
 * DuckDB turns that into an error. On other systems the process checks its memory 20 times a second. Memory that is
 * reserved but untouched when the process is loaded (V8 reserves 512 MB for code) is added to the limit.
 */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

const NODE_BYTES = 600_000_000
const MARGIN_BYTES = 100_000_000
const LOOK_MS = 50

function findPrlimit(): string | null {
  const candidates =
    process.platform === 'linux' ? ['/usr/bin/prlimit', '/bin/prlimit', '/usr/local/bin/prlimit'] : []
  return candidates.find((file) => existsSync(file)) ?? null
}

/** Returns the bytes of the data segment that are reserved but not in memory. */
function reservedBytes(): number {
  const status = readFileSync('/proc/self/status', 'latin1')
  const field = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1] ?? 0)
  return Math.max(0, field('VmData') - field('RssAnon')) * 1024
}

export interface Fence {
  /** Sets the limit for a job with this much memory. A change takes 5 ms. */
  set(memoryBytes: number): Promise<void>
}

/** Makes a fence. `onBreach` is called at most once, on systems without `prlimit`; it must end the process. */
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
