/** Follows a job by its stream of events. */
import type { Job, Operations } from './api.generated.ts'
import type { CallOptions } from './call.ts'
import { ClientError, type Send } from './http.ts'
import { pause } from './retry.ts'

/** Milliseconds after which a broken stream is opened again. */
const AGAIN_MS = 200

/** Yields server-sent events as they arrive. */
async function* readEvents(response: Response): AsyncGenerator<{ name: string; data: unknown }> {
  const decoder = new TextDecoder()
  let rest = ''
  // A reader is used, because not every browser can iterate over a stream.
  const reader = response.body?.getReader()
  for (let chunk = await reader?.read(); chunk && !chunk.done; chunk = await reader?.read()) {
    const parts = (rest + decoder.decode(chunk.value, { stream: true })).split('\n\n')
    rest = parts.pop()!
    for (const part of parts) {
      const lines = part.split('\n')
      const valueOf = (field: string): string =>
        lines.find((line) => line.startsWith(`${field}: `))?.slice(field.length + 2) ?? ''
      if (valueOf('data') !== '') yield { name: valueOf('event'), data: JSON.parse(valueOf('data')) }
    }
  }
}

const hasEnded = ({ job_status }: Partial<Job>): boolean =>
  job_status === 'completed' || job_status === 'canceled'

type ReadStatus = (options: Operations['jobStatus']['query'] & CallOptions) => Promise<Job>

export function createWatch(send: Send, read: ReadStatus) {
  async function* follow(assignment_id: string, signal: AbortSignal): AsyncGenerator<Job> {
    const query = { assignment_id }
    for (;;) {
      let job = await read({ assignment_id, signal })
      yield job
      if (hasEnded(job)) return
      let ended = false
      try {
        const headers = { accept: 'text/event-stream' }
        const response = await send('GET', '/jobs/events', { query, headers, signal, stream: true })
        for await (const { name, data } of readEvents(response)) {
          const changed = (name === 'progress' ? { progress: data } : data) as Partial<Job>
          ended = hasEnded(changed)
          if (ended) break
          job = { ...job, ...changed }
          yield job
        }
      } catch (error) {
        if (error instanceof ClientError || signal.aborted) throw error
      }
      if (!ended) await pause(signal, AGAIN_MS)
    }
  }

  /**
   * Yields the job now, and after each change and each progress until it has ended. A broken stream is resumed. Leaving
   * the loop before the end closes the stream.
   */
  return async function* watch(assignment_id: string, signal?: AbortSignal): AsyncGenerator<Job> {
    const own = new AbortController()
    const abort = (): void => own.abort(signal?.reason)
    if (signal?.aborted) abort()
    signal?.addEventListener('abort', abort, { once: true })
    try {
      yield* follow(assignment_id, own.signal)
    } finally {
      signal?.removeEventListener('abort', abort)
      own.abort()
    }
  }
}
