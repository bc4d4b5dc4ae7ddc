/** Measures the memory of a process and its descendants, and the time and peak memory of a command. Linux only. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'

const EVERY_MS = 20

export interface TreeUse {
  ms: number
  /** The peak of the proportional set size in bytes: memory that processes share counts once. It is sampled every 20 ms. */
  peak_bytes: number
}

export interface TreeCommand {
  file: string
  args: string[]
  cwd: string
  env: NodeJS.ProcessEnv
}

function childrenOf(pid: number): number[] {
  return readdirSync(`/proc/${pid}/task`).flatMap((task) =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
  )
}

/**
 * Returns the proportional set size in bytes: memory that processes share counts once. A process that ended meanwhile
 * counts as 0.
 */
export function held(pid: number, withChildren = true): number {
  try {
    const own = Number(/^Pss:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1'))![1])
    const children = withChildren ? childrenOf(pid) : []
    return children.reduce((sum, child) => sum + held(child), own * 1024)
  } catch {
    return 0
  }
}

/** The kernel's clock tick of /proc (USER_HZ, proc(5)). */
const TICK_MS = 10

/** Returns the fields of /proc/PID/stat from the state on (proc(5)). Throws for a process that has ended. */
function statOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  return text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
}

export const parentOf = (pid: number): number => statOf(pid)[1]!

/**
 * Returns the processor time in milliseconds that a process has used, with its children that have ended, and with those
 * that run. A process that ended meanwhile counts as 0.
 */
export function processorMs(pid: number, withChildren = true): number {
  try {
    const ticks = statOf(pid)
      .slice(11, withChildren ? 15 : 13)
      .reduce((sum, own) => sum + own, 0)
    const children = withChildren ? childrenOf(pid) : []
    return children.reduce((sum, child) => sum + processorMs(child), ticks * TICK_MS)
  } catch {
    return 0
  }
}

export async function runTree({ file, args, cwd, env }: TreeCommand): Promise<TreeUse> {
  const began = performance.now()
  const child = spawn(file, args, { cwd, env, stdio: ['ignore', 'ignore', 'inherit'] })
  let peak = 0
  const timer = setInterval(() => {
    peak = Math.max(peak, held(child.pid!))
  }, EVERY_MS)
  const [code] = (await once(child, 'exit')) as [number | null]
  clearInterval(timer)
  if (code !== 0) throw new Error(`${file} ${args.join(' ')} ended with ${code}.`)
  return { ms: performance.now() - began, peak_bytes: peak }
}
