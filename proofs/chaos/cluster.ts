/**
 * The nodes under test, each a process with its own connection to the database. A keeper restarts a node after its
 * death, as systemd does. A node that ends by itself after it was ready breaks a promise. A node that cannot start
 * while its database is unreachable does not.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Proxy } from '../../test/servers/proxy.ts'
import { assay, cleanEnvironment, descendants, isAlive } from '../../test/servers/service.ts'
import type { Namespace } from './namespace.ts'

export { freePort } from '../../test/servers/free-port.ts'

const SHIFT = pathToFileURL(
  path.join(import.meta.dirname, '..', '..', 'test', 'servers', 'shift-clock.ts'),
).href
const RESTART_MS = 300

export interface NodeOptions {
  name: string
  roles: string
  port: number
  /** The folder of the node: home, log, clock. */
  folder: string
  env: Record<string, string>
  /** The proxy before its database; absent on SQLite. */
  proxy: Proxy | null
  /** The command line of another version; by default that of this one. */
  program?: string
  /** The network namespace of the node, if it has one. */
  namespace?: Namespace
}

export interface ChaosNode {
  readonly name: string
  readonly roles: string
  readonly url: string
  readonly proxy: Proxy | null
  readonly namespace: Namespace | null
  readonly folder: string
  readonly home: string
  readonly logFile: string
  /** The fault that makes the node unavailable at present; at most one. */
  busy: boolean
  ready(): boolean
  pid(): number | null
  /** Returns the ids of its analysis processes. */
  children(): number[]
  /** Sends a signal. Returns false if the process is not running. */
  signal(name: NodeJS.Signals): boolean
  /** Sets its wall clock off by `ms` milliseconds from now on. */
  shiftClock(ms: number): void
  /** The faults in the ways in which it ended. */
  faults: string[]
  starts: number
  /** Ends the node, by SIGTERM by default, and does not start it again. */
  close(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

interface Run {
  child: ChildProcess
  ready: boolean
  /** True if a fault has ended it or is about to. */
  expected: boolean
}

function launch(options: NodeOptions, home: string, logFile: string, clock: string): Run {
  const { port, roles, env, program = assay, namespace } = options
  const log = openSync(logFile, 'a')
  const [command, ...args] = [...(namespace?.prefix ?? []), process.execPath, program, 'serve']
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', log],
    env: cleanEnvironment({
      ASSAY_HOME: home,
      ASSAY_PORT: String(port),
      ...(namespace ? { ASSAY_HOST: namespace.inside } : {}),
      ASSAY_ROLES: roles,
      ASSAY_LOG_FORMAT: 'json',
      ASSAY_TEST_CLOCK: clock,
      NODE_OPTIONS: `--import=${SHIFT}`,
      ...env,
    }),
  })
  closeSync(log)
  const run: Run = { child, ready: false, expected: false }
  let said = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-1000)
    if (said.includes('Assay listens on')) run.ready = true
  })
  return run
}

/** Starts a node and keeps it alive until `close`. */
export function keepNode(options: NodeOptions): ChaosNode {
  const { name, folder } = options
  const [home, logFile, clock] = ['home', 'log', 'clock'].map((part) => path.join(folder, part)) as [
    string,
    string,
    string,
  ]
  mkdirSync(home, { recursive: true, mode: 0o700 })
  writeFileSync(clock, '0')
  const closing = new AbortController()
  let run: Run | null = null
  const faults: string[] = []

  async function keep(): Promise<void> {
    while (!closing.signal.aborted) {
      run = launch(options, home, logFile, clock)
      node.starts += 1
      const { child } = run
      const ended = await new Promise<string>((resolve) =>
        child.on('exit', (code, signal) => resolve(signal ?? String(code))),
      )
      if (run.ready && !run.expected) faults.push(`The node ${name} ended by itself with ${ended}.`)
      run = null
      if (!closing.signal.aborted) await new Promise((resolve) => setTimeout(resolve, RESTART_MS))
    }
  }

  const node: ChaosNode = {
    name,
    roles: options.roles,
    url: `http://${options.namespace?.inside ?? '127.0.0.1'}:${options.port}`,
    proxy: options.proxy,
    namespace: options.namespace ?? null,
    folder,
    home,
    logFile,
    busy: false,
    faults,
    starts: 0,
    ready: () => run?.ready ?? false,
    pid: () => run?.child.pid ?? null,
    children: () => (run?.child.pid === undefined ? [] : descendants(run.child.pid)),
    signal(signal) {
      if (!run || run.child.pid === undefined || !isAlive(run.child.pid)) return false
      if (signal === 'SIGKILL' || signal === 'SIGTERM') run.expected = true
      return run.child.kill(signal)
    },
    shiftClock(ms) {
      writeFileSync(clock, String(ms))
      // A signal before the node is ready would end it. It reads the file at its start anyway.
      if (node.ready()) node.signal('SIGUSR2')
    },
    async close(signal = 'SIGTERM') {
      closing.abort()
      node.signal('SIGCONT')
      if (!node.signal(signal)) {
        await kept
        return
      }
      const stubborn = setTimeout(() => {
        faults.push(`The node ${name} did not stop within 40 s.`)
        node.signal('SIGKILL')
      }, 40_000)
      await kept
      clearTimeout(stubborn)
    },
  }
  const kept = keep()
  return node
}
