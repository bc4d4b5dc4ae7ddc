/** The parts of every row: alternating runs, the service and its peers as processes, temporary folders. */
import { type ChildProcess, fork, type Serializable, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createClient } from '@assay/client'
import type { Figure, Missing } from './figure.ts'

export const ROOT = path.dirname(import.meta.dirname)
export const TOKEN = 'bench-token-0123456789'

/** The amount of work. The short form is for development, not for publication. */
export interface Form {
  short: boolean
  turns: number
  /** Only the kinds whose name contains this text. */
  of: string
  /** The folder of the other checkout of the row `beside`; empty if there is none. */
  checkout: string
  /** The rows of the table of `scale`; null for those of the form. */
  rows: number | null
}

export interface Row {
  name: string
  run(form: Form): Promise<(Figure | Missing)[]>
}

/** Measures in turns: ours, theirs, ours, theirs, ... One warm turn of each is not counted; `turns` turns follow. */
export async function inTurns<T>(
  turns: number,
  ours: () => Promise<T>,
  theirs: () => Promise<T>,
): Promise<{ ours: T; theirs: T }[]> {
  await ours()
  await theirs()
  const done: { ours: T; theirs: T }[] = []
  for (let turn = 0; turn < turns; turn += 1) done.push({ ours: await ours(), theirs: await theirs() })
  return done
}

export async function milliseconds(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now()
  await work()
  return performance.now() - began
}

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

export async function withFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(path.join(tmpdir(), 'assay-bench-'))
  try {
    return await work(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Returns the environment without settings of Assay. */
export function environment(extra: Record<string, string> = {}): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !name.startsWith('ASSAY_'))
  return { ...Object.fromEntries(kept), ...extra }
}

export interface Running {
  url: string
  pid: number
  client: ReturnType<typeof createClient>
  stop(): Promise<void>
}

async function firstLine(child: ChildProcess, pattern: RegExp): Promise<string> {
  let text = ''
  return new Promise((resolve, reject) => {
    child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      const match = pattern.exec(text)
      if (match) resolve(match[1]!)
    })
    child.once('exit', (code) => reject(new Error(`It ended with ${code} before it was ready:\n${text}`)))
  })
}

/** The processes that this process has started. All of them are ended. */
const started = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of started) child.kill('SIGKILL')
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

function watched<Child extends ChildProcess>(child: Child): Child {
  started.add(child)
  child.once('exit', () => started.delete(child))
  return child
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGTERM')
  await once(child, 'exit')
}

/** Starts the service of a checkout as its users start it. Its log (a line for each request) is written to nowhere. */
export async function startService(
  home: string,
  env: Record<string, string> = {},
  root = ROOT,
): Promise<Running> {
  const profile = process.env.BENCH_PROFILE
    ? ['--cpu-prof', `--cpu-prof-dir=${process.env.BENCH_PROFILE}`]
    : []
  const child = watched(
    spawn(process.execPath, [...profile, path.join(root, 'bin/assay.js'), 'serve'], {
      cwd: root,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: environment({
        ASSAY_HOME: home,
        ASSAY_PORT: '0',
        ASSAY_TOKEN: TOKEN,
        ASSAY_LOG_FORMAT: 'json',
        ...env,
      }),
    }),
  )
  const url = await firstLine(child, /Assay listens on (\S+)/)
  return { url, pid: child.pid!, client: createClient({ url, token: TOKEN }), stop: () => end(child) }
}

export async function withService<T>(
  env: Record<string, string>,
  work: (service: Running) => Promise<T>,
): Promise<T> {
  return withFolder(async (home) => {
    const service = await startService(home, env)
    try {
      return await work(service)
    } finally {
      await service.stop()
    }
  })
}

export interface Peer {
  pid: number
  /** The first message of the process: its address, or that it is ready. */
  ready: string
  /** Sends a message. Resolves with the reply. */
  ask<T>(message: Serializable): Promise<T>
  stop(): Promise<void>
}

/** Starts a file of peers/ as a process. Its first message says that it is ready. */
export async function startPeer(file: string, args: string[] = []): Promise<Peer> {
  const child = watched(fork(path.join(import.meta.dirname, 'peers', file), args, { env: environment() }))
  const ready = await message<string>(child)
  return {
    pid: child.pid!,
    ready,
    ask(sent) {
      const answer = message(child)
      child.send(sent)
      return answer as Promise<never>
    },
    stop: () => end(child),
  }
}

function message<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null): void => reject(new Error(`A peer ended with ${code}.`))
    child.once('exit', gone)
    child.once('message', (value) => {
      child.off('exit', gone)
      resolve(value as T)
    })
  })
}

/** Returns a line of /proc/PID/status in bytes, such as VmRSS or VmHWM. */
export function memoryOf(pid: number, line: 'VmRSS' | 'VmHWM'): number {
  const text = readFileSync(`/proc/${pid}/status`, 'latin1')
  return Number(new RegExp(`^${line}:\\s+(\\d+) kB$`, 'm').exec(text)![1]) * 1024
}

/** The smallest job: one row of SQL and one line of prose. */
export const TRIVIAL_SQL = 'select 42 as answer'
export const TRIVIAL = `# Trivial

\`\`\`sql one
${TRIVIAL_SQL}
\`\`\`

The answer is {{ one[0].answer }}.
`
export const TRIVIAL_ID = 'trivial'

export async function putTrivial({ client }: Running): Promise<void> {
  await client.templates.put(TRIVIAL_ID, TRIVIAL)
}

/** Waits until no job is queued or running. */
export async function untilDrained({ client }: Running, everyMs = 20): Promise<void> {
  for (;;) {
    const { jobs, deliveries } = await client.queue()
    const open = jobs.filter(({ job_status, count }) => job_status !== 'draft' && count > 0)
    if (open.length === 0 && deliveries.due === 0) return
    await pause(everyMs)
  }
}
