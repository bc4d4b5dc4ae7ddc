/**
 * A thread that asks a running service every few milliseconds whether it is alive and how a job stands, however long the
 * answers before take, and keeps how long each took.
 */
import { Agent, get } from 'node:http'
import { parentPort, Worker, workerData } from 'node:worker_threads'

/** Milliseconds, in the order of asking. */
export interface Waits {
  health: number[]
  status: number[]
}

export interface Watched {
  url: string
  token: string
  assignment_id: string
}

export interface Watcher {
  /** What was measured since the last call. */
  take(): Promise<Waits>
  end(): Promise<void>
}

const HEALTH_MS = 10
const STATUS_MS = 50

function watch({ url, token, assignment_id }: Watched): void {
  const agent = new Agent({ keepAlive: true })
  let waits: Waits = { health: [], status: [] }
  const open = new Set<Promise<void>>()
  const ask = (path: string, headers: Record<string, string>, into: () => number[]): void => {
    const begun = performance.now()
    const { promise, resolve } = Promise.withResolvers<void>()
    open.add(promise)
    const done = (): void => {
      into().push(performance.now() - begun)
      open.delete(promise)
      resolve()
    }
    get(new URL(path, url), { agent, headers }, (answer) => {
      answer.resume()
      answer.on('close', done)
    }).on('error', done)
  }
  const authorization = `Bearer ${token}`
  setInterval(() => ask('/healthz', {}, () => waits.health), HEALTH_MS)
  setInterval(
    () => ask(`/v1alpha/jobs/status?assignment_id=${assignment_id}`, { authorization }, () => waits.status),
    STATUS_MS,
  )
  parentPort!.on('message', () => {
    // Those under way belong to what has just been sent.
    void Promise.all(open).then(() => {
      parentPort!.postMessage(waits, [])
      waits = { health: [], status: [] }
    })
  })
}

if (workerData !== null && parentPort) watch(workerData as Watched)

export function startWatcher(watched: Watched): Watcher {
  const thread = new Worker(new URL(import.meta.url), { workerData: watched })
  return {
    take() {
      const { promise, resolve } = Promise.withResolvers<Waits>()
      thread.once('message', (waits: Waits) => resolve(waits))
      thread.postMessage('take', [])
      return promise
    },
    async end() {
      await thread.terminate()
    },
  }
}
