/**
 * The service as a user starts it: `bin/assay.js serve` in processes of its own, under a wrapper as on an older Node,
 * so that tests can kill any of them.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { readServerFile } from '../../packages/cli/server-file.ts'

const root = path.dirname(path.dirname(import.meta.dirname))
/**
 * The path of the command: that of the program which the run of the tests has made (program.ts), or that of the clone.
 */
export const assay = path.join(process.env.ASSAY_TEST_PROGRAM ?? root, 'bin', 'assay.js')

export interface Service {
  url: string
  /** The id of the process that was started. */
  wrapper: number
  /** The id of the process that serves, which is the same without a wrapper. */
  server: number
  /** What it printed on stdout, and said on stderr. */
  banner(): string
  log(): string
  /** Resolves with the exit code of the wrapper, or the name of the signal that ended it. */
  exited: Promise<number | string>
  signal(name: NodeJS.Signals): void
}

export interface ServiceOptions {
  home: string
  port?: number
  env?: Record<string, string>
  wrapped?: boolean
  args?: string[]
  /** The file of a cgroup that takes the process before it starts. */
  within?: string
}

/** Makes a temporary folder for a test. The returned function removes it. */
export function temporaryFolder(): { folder: string; remove(): void } {
  const folder = mkdtempSync(path.join(tmpdir(), 'assay-test-'))
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }) }
}

/** Returns the environment without any setting of Assay, so that a test has only its own. */
export function cleanEnvironment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('ASSAY_'))
  return { ...Object.fromEntries(kept), ...extra }
}

function exitOf(child: ChildProcess): Promise<number | string> {
  return new Promise((resolve) => child.on('exit', (code, signal) => resolve(code ?? signal ?? 'unknown')))
}

/** A time in milliseconds that is longer than any service takes to stop. */
const STOP_MS = 180_000

/** Kills a process that does not end, so that no test waits for it forever. */
function endStubborn(child: ChildProcess, name: string, log: () => string): void {
  const late = setTimeout(() => {
    process.stderr.write(`A service goes on ${STOP_MS / 1000} s after ${name}:\n${log().slice(-2000)}\n`)
    child.kill('SIGKILL')
  }, STOP_MS)
  late.unref()
  child.once('exit', () => clearTimeout(late))
}

/**
 * Returns the id of the process that serves. Only a node that serves the API of its own store writes it; other nodes
 * have no wrapper here.
 */
function serverOf(home: string): number {
  return readServerFile(home, process.env)!.pid
}

/**
 * Starts the service and resolves when it is ready. Throws with its output if it ends before. It runs one job at a time
 * unless `env` says otherwise: each further one may start an analysis process.
 */
export async function startService(options: ServiceOptions): Promise<Service> {
  const { home, port = 0, env = {}, wrapped = true, args = [], within: members } = options
  const into = members === undefined ? [] : ['sh', '-c', 'echo $$ > "$0" && exec "$@"', members]
  const [program, ...rest] = [...into, process.execPath, assay, 'serve', ...args]
  const child = spawn(program!, rest, {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: cleanEnvironment({
      ASSAY_HOME: home,
      ASSAY_PORT: String(port),
      ASSAY_LOG_FORMAT: 'json',
      ASSAY_WORKERS: '1',
      ...(wrapped ? { ASSAY_TEST_WRAPPER: '1' } : {}),
      ...env,
    }),
  })
  const exited = exitOf(child)
  let log = ''
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString('utf8')
  })
  let banner = ''
  const listens = new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      banner += chunk.toString('utf8')
      const match = /Assay listens on (\S+)/.exec(banner)
      if (match) resolve(match[1]!)
    })
    void exited.then((code) => reject(new Error(`The service ended with ${code}:\n${log}`)))
  })
  const url = await within(listens, 'the service listens').catch((error: Error) => {
    child.kill('SIGKILL')
    throw new Error(`${error.message}\n${log}`)
  })
  const pid = wrapped ? serverOf(home) : child.pid!
  return {
    url,
    wrapper: child.pid!,
    server: pid,
    banner: () => banner,
    log: () => log,
    exited,
    signal(name) {
      if (name === 'SIGTERM' || name === 'SIGINT') endStubborn(child, name, () => log)
      child.kill(name)
    },
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  // A zombie process counts as dead.
  return !/^\d+ \(.*\) Z/.test(statOf(pid))
}

function statOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return ''
  }
}

/** Returns the ids of all processes below the given one, by /proc (Linux). */
export function descendants(pid: number): number[] {
  const parents = new Map<number, number>()
  for (const name of readdirSync('/proc')) {
    const match = /^\d+ \(.*\) \S (\d+)/.exec(/^\d+$/.test(name) ? statOf(Number(name)) : '')
    if (match) parents.set(Number(name), Number(match[1]))
  }
  const below = (one: number): number[] =>
    [...parents].filter(([, parent]) => parent === one).flatMap(([child]) => [child, ...below(child)])
  return below(pid)
}

/** Returns the ids of all living processes of the group, by /proc (Linux; none elsewhere). */
export function membersOf(group: number): number[] {
  if (!existsSync('/proc')) return []
  return readdirSync('/proc').flatMap((name) => {
    const [, state, its] =
      /^\d+ \(.*\) (\S) \d+ (\d+)/.exec(/^\d+$/.test(name) ? statOf(Number(name)) : '') ?? []
    return Number(its) === group && state !== 'Z' ? [Number(name)] : []
  })
}

/**
 * Polls until the condition holds, because other processes send no signal. Rejects after `ms`, which only guards
 * against hanging.
 */
export async function eventually(
  holds: () => boolean | Promise<boolean>,
  what: string,
  ms = 120_000,
): Promise<void> {
  const end = performance.now() + ms
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`It did not come to pass within ${ms / 1000} s: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** Resolves with the result of the promise. Rejects after `ms`, which only guards against hanging. */
export function within<T>(promise: Promise<T>, what: string, ms = 120_000): Promise<T> {
  let timer: NodeJS.Timeout
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`It did not come to pass within ${ms / 1000} s: ${what}`)), ms)
    timer.unref()
  })
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}
