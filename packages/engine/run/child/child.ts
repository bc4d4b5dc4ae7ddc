/**
 * The entry of an analysis process, which pool/child-process.ts forks. It loads the engine, opens a database ahead,
 * reports that it is ready, and then does one task at a time. Its environment holds no secrets, and it ends with its
 * parent.
 */
import { writeFileSync } from 'node:fs'
import { flushCompileCache } from 'node:module'
import type { Socket } from 'node:net'
import { DEFAULT_LIMITS } from '@assay/model/template'
import { type Engine, openEngine, queryPercent } from '../../duckdb/duckdb.ts'
import { createFence } from '../../fence/fence.ts'
import { metricHead } from '../../metrics/reader.ts'
import { createPartitionClient, type PartitionClient } from '../../partitions/requests.ts'
import { openSocketsWith } from '../../sources/sockets.ts'
import { type ConnectionRequests, createConnectionRequests } from '../connection-requests.ts'
import { createNarrationClient, type NarrationClient } from '../narration-requests.ts'
import { inPieces } from '../pool/table-rows.ts'
import {
  COLD,
  type FromChild,
  type Results,
  type RunResult,
  type RunTask,
  type Task,
  type ToChild,
} from '../protocol.ts'
import { runTask } from '../run.ts'
import { createSocketRequests } from '../socket-requests.ts'
import { createReporter } from './progress-reporter.ts'
import { checkTask, convertTask, describeTask, probeTask, readTask } from './small-tasks.ts'
import { warmUp } from './warm-up.ts'

/** The drawings of one chart. Mail is read on phones, where letters of a wide drawing would have 6 pixels. */
const SIZES = { svg: ['wide'], pages: ['wide', 'narrow'], png: ['narrow'] } as const

interface CurrentTask {
  id: number
  /** Aborted when the parent cancels the task. */
  stop: AbortController
  requests: ConnectionRequests
  narrating: NarrationClient
  partitions: PartitionClient
  engine: Engine | null
  /** Interrupts the engine repeatedly after a cancel. */
  stopping: NodeJS.Timeout | undefined
}

type TaskMessage = Extract<ToChild, { type: 'task' }>
/** The folder into which a task may spill, and the bytes that it may spill. */
type Room = Pick<TaskMessage, 'temp_folder' | 'spill_bytes'>

/** The milliseconds between interrupts. An interrupt between two queries has no effect, so it is repeated. */
const INTERRUPT_MS = 20
/** The time in milliseconds for an explanation, in which databases count rows. */
const EXPLAIN_MS = 120_000

const MEMORY_EXCEEDED: RunResult = {
  status: 'failed',
  error: {
    code: 'memory_exceeded',
    detail: 'The analysis needed more memory than limits.memory allows.',
  },
}

let current: CurrentTask | null = null
/** The texts of the next task, in their pieces. */
let texts = { id: 0, pieces: new Map<string, string[]>() }

function keepPiece({ id, name, piece }: Extract<ToChild, { type: 'text' }>): void {
  if (texts.id !== id) texts = { id, pieces: new Map() }
  const known = texts.pieces.get(name)
  if (known) known.push(piece)
  else texts.pieces.set(name, [piece])
}

function withTexts(message: TaskMessage): TaskMessage {
  const { id, pieces } = texts
  texts = { id: 0, pieces: new Map() }
  if (id !== message.id) return message
  const whole = Object.fromEntries([...pieces].map(([name, parts]) => [name, parts.join('')]))
  return { ...message, task: { ...message.task, texts: whole } as Task }
}

const sockets = createSocketRequests(send, () => current?.id ?? 0)
openSocketsWith(sockets.open)

function send(message: FromChild, sent?: () => void): void {
  if (process.connected) process.send?.(message, undefined, undefined, () => sent?.())
}

/** Ends the process at once. `process.exit` would wait for the thread of a running query. */
function die(): void {
  process.kill(process.pid, 'SIGKILL')
}

const fence = createFence(() => {
  if (current) send({ type: 'result', id: current.id, result: MEMORY_EXCEEDED }, die)
  else die()
})

/** Loads the engine. The fence comes last, because it measures the memory that is reserved by then. */
async function load(): Promise<Engine> {
  if (!process.argv.includes(COLD)) await warmUp()
  const engine = await openEngine()
  await fence.set(DEFAULT_LIMITS.memory_bytes)
  return engine
}

/** Makes the system end this process before the service if memory runs out. */
function goFirst(): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', '500')
  } catch {
    // This system is not Linux, or the file may not be written here.
  }
}

goFirst()
const loaded = load()
/** The engine of the next task, opened ahead. */
let next: Promise<Engine> = loaded

async function run(
  task: RunTask,
  mine: CurrentTask,
  engine: Engine,
  { temp_folder, spill_bytes }: Room,
): Promise<RunResult> {
  const { id } = mine
  const reporter = createReporter(
    (progress) => send({ type: 'progress', id, progress }),
    () => queryPercent(engine),
  )
  try {
    return await runTask(task, {
      engine,
      temp_folder,
      spill_bytes,
      onStarted: async (limits) => {
        const { timeout_ms, memory_bytes } = limits
        send({ type: 'started', id, timeout_ms, memory_bytes })
        await fence.set(limits.memory_bytes)
      },
      onProgress: (progress) => reporter.note(progress),
      acquire: mine.requests.acquire,
      narrate: mine.narrating.narrate,
      keeper: mine.partitions.keeper,
      signal: mine.stop.signal,
    })
  } finally {
    reporter.end()
  }
}

function inspection({ requests, stop }: CurrentTask, engine: Engine, { temp_folder, spill_bytes }: Room) {
  return { engine, temp_folder, spill_bytes, acquire: requests.acquire, signal: stop.signal }
}

async function perform(
  task: Task,
  mine: CurrentTask,
  engine: Engine,
  room: Room,
): Promise<Results[Task['kind']]> {
  switch (task.kind) {
    case 'run':
      return run(task, mine, engine, room)
    case 'check':
      return checkTask(task, inspection(mine, engine, room))
    case 'describe':
      return describeTask(task, inspection(mine, engine, room))
    case 'probe':
      return probeTask(task, mine.stop.signal)
    case 'audit-day': {
      const { auditDay } = await import('../../partitions/audit.ts')
      return auditDay(engine, task, { ...inspection(mine, engine, room), roots: task.roots })
    }
    case 'explain': {
      const { explainTask } = await import('../../explain/explain.ts')
      await new Promise<void>((sent) =>
        send({ type: 'started', id: mine.id, timeout_ms: EXPLAIN_MS }, () => sent()),
      )
      const { keeper } = mine.partitions
      return explainTask(task, { ...inspection(mine, engine, room), keeper })
    }
    case 'read':
      return readTask(task)
    case 'read-metrics':
      return task.metrics.map(metricHead)
    case 'convert':
      return convertTask(task)
    case 'draw': {
      // Vega has 77 packages, so only the first drawing loads it.
      const { drawChart } = await import('../../charts/drawing/draw.ts')
      const sizes = SIZES[task.form ?? 'svg']
      const drawn = task.specs.flatMap((spec) => sizes.map((size) => drawChart(spec, size)))
      const svgs = await Promise.all(drawn)
      if (task.form !== 'png') return svgs
      const { drawPicture } = await import('../../charts/drawing/picture.ts')
      return Promise.all(svgs.map(async (svg) => (await drawPicture(svg)).toString('base64')))
    }
    case 'tables': {
      const { tablesFile } = await import('../../export/tables.ts')
      const { tables = '{}', provenance = null } = task.texts ?? {}
      return tablesFile(task.form, { ...task, tables, provenance })
    }
    case 'render': {
      const { PDF_MS, RENDER_MS, renderTask } = await import('./render.ts')
      // The message is sent first, because the process neither reads nor sends messages while it renders.
      const timeout_ms = task.form === 'pdf' ? PDF_MS : RENDER_MS
      await new Promise<void>((sent) => send({ type: 'started', id: mine.id, timeout_ms }, () => sent()))
      return renderTask(task)
    }
  }
}

function sendResult(id: number, { kind }: Task, result: Results[Task['kind']]): void {
  if (kind !== 'run') return send({ type: 'result', id, result })
  const { pieces, rest } = inPieces(result as RunResult)
  for (const piece of pieces) send({ type: 'rows', id, ...piece })
  send({ type: 'result', id, result: rest })
}

async function take({ id, task, ...room }: TaskMessage): Promise<void> {
  const requests = createConnectionRequests(id, send)
  const narrating = createNarrationClient(id, send)
  const stop = new AbortController()
  const mine: CurrentTask = {
    id,
    stop,
    requests,
    narrating,
    partitions: createPartitionClient(id, send, stop.signal),
    engine: null,
    stopping: undefined,
  }
  current = mine
  const engine = await next
  mine.engine = engine
  try {
    sendResult(id, task, await perform(task, mine, engine, room))
  } catch (error) {
    send({ type: 'fault', id, message: (error as Error).stack ?? String(error) })
  }
  current = null
  clearInterval(mine.stopping)
  engine.close()
  next = openEngine()
}

process.on('disconnect', die)
// Ctrl-C and a service manager signal the whole process group; the parent decides how tasks end.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('message', (message: ToChild, handle: unknown) => {
  if (message.type === 'text') keepPiece(message)
  else if (message.type === 'task') void take(withTexts(message))
  else if (message.type === 'dialed')
    sockets.receive(message.call, message.failure, handle as Socket | undefined)
  else if (current?.id !== message.id) return
  else if (message.type === 'acquired') current.requests.receive(message.name, message.acquired)
  else if (message.type === 'narrated') current.narrating.receive(message.narrated)
  else if (message.type === 'kept') current.partitions.receive(message.kept)
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
// The process ends by SIGKILL, so it writes the compile cache now; this does nothing if the cache is up to date.
flushCompileCache()
