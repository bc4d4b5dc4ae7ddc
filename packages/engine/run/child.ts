/**
 * The entry of an analysis child (child-handle.ts forks it): loads everything, opens an engine ahead, says that it is
 * ready, then does one task at a time. It has no secrets in its environment and ends with its parent.
 */
import { flushCompileCache } from 'node:module'
import { DEFAULT_LIMITS } from '@assay/model/template'
import { type Engine, openEngine, queryPercent } from '../duckdb/duckdb.ts'
import { createFence } from '../fence/fence.ts'
import { type Borrower, createBorrower } from './lending.ts'
import { createNarrating, type Narrating } from './narrating.ts'
import {
  COLD,
  type FromChild,
  type Results,
  type RunResult,
  type RunTask,
  type Task,
  type ToChild,
} from './protocol.ts'
import { createReporter } from './reporter.ts'
import { runTask } from './run.ts'
import { checkTask, describeTask, probeTask } from './tasks.ts'
import { warmUp } from './warm-up.ts'

interface Current {
  id: number
  /** Aborted when the parent asks to stop. */
  stop: AbortController
  borrower: Borrower
  narrating: Narrating
  engine: Engine | null
  /** Interrupts the engine again and again once the parent has asked to stop. */
  stopping: NodeJS.Timeout | undefined
}

/** An interrupt that comes between two queries is lost. */
const INTERRUPT_MS = 20

const MEMORY_EXCEEDED: RunResult = {
  status: 'failed',
  error: {
    code: 'memory_exceeded',
    detail: 'The analysis needed more memory than limits.memory allows.',
  },
}

let current: Current | null = null

function send(message: FromChild, sent?: () => void): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => sent?.())
}

/** At once, whatever a query is doing: `process.exit` would wait for its thread. */
function die(): void {
  process.kill(process.pid, 'SIGKILL')
}

const fence = createFence(() => {
  if (current) send({ type: 'result', id: current.id, result: MEMORY_EXCEEDED }, die)
  else die()
})

/** Memory is bounded last: the fence looks at what stands reserved by then. */
async function load(): Promise<Engine> {
  if (!process.argv.includes(COLD)) await warmUp()
  const engine = await openEngine()
  await fence.set(DEFAULT_LIMITS.memory_bytes)
  return engine
}

const loaded = load()
/** The engine of the next task: opened before it comes. */
let next: Promise<Engine> = loaded

async function run(task: RunTask, mine: Current, engine: Engine, tempFolder: string): Promise<RunResult> {
  const { id } = mine
  const reporter = createReporter(
    (progress) => send({ type: 'progress', id, progress }),
    () => queryPercent(engine),
  )
  try {
    return await runTask(task, {
      engine,
      temp_folder: tempFolder,
      onStarted: async (limits) => {
        send({ type: 'started', id, timeout_ms: limits.timeout_ms })
        await fence.set(limits.memory_bytes)
      },
      onProgress: (progress) => reporter.note(progress),
      borrow: mine.borrower.borrow,
      narrate: mine.narrating.narrate,
      signal: mine.stop.signal,
    })
  } finally {
    reporter.end()
  }
}

function inspection({ borrower, stop }: Current, engine: Engine, temp_folder: string) {
  return { engine, temp_folder, borrow: borrower.borrow, signal: stop.signal }
}

async function perform(
  task: Task,
  mine: Current,
  engine: Engine,
  tempFolder: string,
): Promise<Results[Task['kind']]> {
  switch (task.kind) {
    case 'run':
      return run(task, mine, engine, tempFolder)
    case 'check':
      return checkTask(task, inspection(mine, engine, tempFolder))
    case 'describe':
      return describeTask(task, inspection(mine, engine, tempFolder))
    case 'probe':
      return probeTask(task, mine.stop.signal)
    case 'draw': {
      // Vega is 77 packages: loaded by the first drawing, not by every child.
      const { drawChart } = await import('../charts/draw.ts')
      const svgs = await Promise.all(task.specs.map((spec) => drawChart(spec)))
      if (task.form !== 'png') return svgs
      const { drawPicture } = await import('../charts/picture.ts')
      return Promise.all(svgs.map(async (svg) => (await drawPicture(svg)).toString('base64')))
    }
    case 'render': {
      const { RENDER_MS, renderTask } = await import('./render-html.ts')
      // Sent before the process is busy: it hears and says nothing while it renders.
      await new Promise<void>((sent) =>
        send({ type: 'started', id: mine.id, timeout_ms: RENDER_MS }, () => sent()),
      )
      return renderTask(task)
    }
  }
}

async function take({ id, task, temp_folder }: Extract<ToChild, { type: 'task' }>): Promise<void> {
  const borrower = createBorrower(id, send)
  const narrating = createNarrating(id, send)
  const mine: Current = {
    id,
    stop: new AbortController(),
    borrower,
    narrating,
    engine: null,
    stopping: undefined,
  }
  current = mine
  const engine = await next
  mine.engine = engine
  try {
    send({ type: 'result', id, result: await perform(task, mine, engine, temp_folder) })
  } catch (error) {
    send({ type: 'fault', id, message: (error as Error).stack ?? String(error) })
  }
  current = null
  clearInterval(mine.stopping)
  engine.close()
  next = openEngine()
}

process.on('disconnect', die)
// Ctrl-C and a service manager's stop reach the whole group of processes: the parent decides what becomes of the work.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('message', (message: ToChild) => {
  if (message.type === 'task') void take(message)
  else if (current?.id !== message.id) return
  else if (message.type === 'lent') current.borrower.receive(message.name, message.lent)
  else if (message.type === 'narrated') current.narrating.receive(message.narrated)
  else {
    const { stop, stopping } = current
    const interrupt = (): void => current?.engine?.connection.interrupt()
    stop.abort()
    interrupt()
    if (!stopping) current.stopping = setInterval(interrupt, INTERRUPT_MS)
  }
})

await loaded
send({ type: 'ready' })
// A child ends by SIGKILL, so what it has compiled is kept now, for those after it: nothing where that is there already.
flushCompileCache()
