/**
 * A thread that asks a running service every few milliseconds whether it is alive and how a job stands. It does not
 * wait for earlier answers. It keeps the time of each answer, and what the service's thread did meanwhile.
 */
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { parentPort, Worker, workerData } from 'node:worker_threads'
import { mainThreadOf, thisThread } from './thread.ts'

/** One request, in milliseconds. */
export interface Wait {
  /** The milliseconds from the question to the answer. */
  ms: number
  /** The processor time that the answering thread took meanwhile. */
  worked: number
  /** The time for which that thread, or the asking one if longer, was ready and had no processor. */
  stood: number
}

export interface Waits {
  health: Wait[]
  status: Wait[]
}

export interface Watched {
  url: string
  token: string
  assignment_id: string
  /** The process of the service. */
  pid: number
}

export interface Watcher {
  /** Resolves with the measurements since the last call. */
  take(): Promise<Waits>
  end(): Promise<void>
}

const HEALTH_MS = 10
const STATUS_MS = 50

/**
 * Returns an upper bound of a request's time if each of the two threads had a processor of its own. Both may have
 * waited at the same time, so only the longer wait is subtracted. The result is never below the processor time of the
 * service.
 */
export const ownWait = ({ ms, worked, stood }: Wait): number => Math.max(ms - stood, Math.min(ms, worked))

function watch({ url, token, assignment_id, pid }: Watched): void {
  const agent = new Agent({ keepAlive: true })
  let waits: Waits = { health: [], status: [] }
  const open = new Set<Promise<void>>()
  const ask = (path: string, headers: Record<string, string>, into: () => Wait[]): void => {
    const begun = { now: performance.now(), service: mainThreadOf(pid), own: thisThread() }
    const { promise, resolve } = Promise.withResolvers<void>()
    open.add(promise)
    const done = (): void => {
      const [ms, service, own] = [performance.now() - begun.now, mainThreadOf(pid), thisThread()]
      into().push({
        ms,
        worked: service.worked - begun.service.worked,
        stood: Math.max(service.stood - begun.service.stood, own.stood - begun.own.stood),
      })
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
    // Requests under way belong to the entry that was just sent.
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
      const answer = once(thread, 'message') as Promise<[Waits]>
      thread.postMessage('take', [])
      return answer.then(([waits]) => waits)
    },
    async end() {
      await thread.terminate()
    },
  }
}
