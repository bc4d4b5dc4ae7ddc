/**
 * A job live, as server-sent events. `status` events are the job's moves, with their numbers as ids; a client that reconnects
 * with `Last-Event-ID` gets those after it. `progress` events have no id and come at most once a second. The stream ends
 * after a final state (a reconnect then gets 204, which tells EventSource to stop), when the token expires (401), and when
 * the server stops (the client reconnects to any node).
 */
import { Readable } from 'node:stream'
import { isFinal, type Job, type Move } from '@assay/model/job'
import { Type } from '@assay/model/schema'
import type { Services } from '../dependencies.ts'
import { callerOf } from '../http/auth.ts'
import { Id } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { mayRead } from '../readers/visible.ts'
import { jobKey } from './changes.ts'
import { requireJob } from './jobs.ts'

const HEARTBEAT_MS = 15_000
const PROGRESS_MS = 1000
const LOOK_MS = 1000

/** `seen` is the number of the last move that the client knows; null for none. */
interface Watch {
  job: Job
  seen: number | null
  /** Reads the job again. Returns null if it is gone, the token is, or its user is another reader now. */
  look(): Promise<Job | null>
}

function event(name: string, data: unknown, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}

function statusEvent(job: Job, move: Move, number: number): string {
  const last = number === job.moves.length
  return event(
    'status',
    {
      assignment_id: job.assignment_id,
      job_status: move.job_status,
      at: move.at,
      attempt: move.attempt,
      insight_id: last ? job.insight_id : null,
      error: last ? job.error : null,
      skipped: last ? job.skipped : null,
    },
    number,
  )
}

/** Returns the events of the moves after `seen`; with null only the present state. */
function movesSince(job: Job, seen: number | null): string[] {
  const from = seen ?? Math.max(0, job.moves.length - 1)
  return job.moves.slice(from).map((move, index) => statusEvent(job, move, from + index + 1))
}

export async function* liveEvents(
  { changes, clock }: Pick<Services, 'changes' | 'clock'>,
  watch: Watch,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let { job, seen } = watch
  let progress = ''
  let progressAt = Number.NEGATIVE_INFINITY
  let spokenAt = clock.monotonic()
  yield 'retry: 1000\n\n'
  for (;;) {
    const { changed, stop } = changes.wait(jobKey(job.assignment_id), LOOK_MS, signal)
    const lines = movesSince(job, seen)
    seen = job.moves.length
    const now = clock.monotonic()
    const shown = JSON.stringify(job.progress)
    if (shown !== progress && now - progressAt >= PROGRESS_MS && !isFinal(job.job_status)) {
      lines.push(event('progress', job.progress))
      progress = shown
      progressAt = now
    }
    if (lines.length === 0 && now - spokenAt >= HEARTBEAT_MS) lines.push(': still here\n\n')
    if (lines.length > 0) {
      spokenAt = now
      yield lines.join('')
    }
    if (isFinal(job.job_status) || signal.aborted) {
      stop()
      return
    }
    await changed
    if (signal.aborted) return
    const found = await watch.look()
    if (found === null) return
    job = found
  }
}

function lastEventId(header: string | string[] | undefined): number | null {
  if (header === undefined || header === '') return null
  const text = String(header)
  if (!/^\d{1,9}$/.test(text))
    throw invalid([{ path: 'Last-Event-ID', message: 'must be the id of an event of this stream' }])
  return Number(text)
}

export const jobEvents = operation({
  name: 'jobEvents',
  tag: 'Jobs',
  summary: 'Follow a job live',
  description:
    'Server-sent events: `status` (the present state first, then each change; resume with `Last-Event-ID`) and `progress` (at most one a second, without id). The stream ends after a final state, and when the token or the sign-in expires or is revoked.',
  scope: 'viewer',
  streams: true,
  query: Type.Object({ assignment_id: Id }),
  replies: {
    200: { description: 'The stream', media: ['text/event-stream'] },
    204: { description: 'The job has ended and the client has seen its end: do not reconnect' },
  },
  errors: ['not_found', 'workspace_busy'],
  async handle({ services, principal, query, signal, request, reply }) {
    const seen = lastEventId(request.headers['last-event-id'])
    const job = await requireJob(services, principal, query.assignment_id)
    const { workspace_id, assignment_id } = job
    const look = async (): Promise<Job | null> => {
      const caller = await callerOf(services, request)
      const found = caller && (await services.store.getJob({ workspace_id, assignment_id }))
      return found && mayRead(caller, found) ? found : null
    }
    if (seen !== null && seen >= job.moves.length && isFinal(job.job_status)) return reply.code(204).send()
    const gone = signal()
    const close = services.open.open(principal)
    reply.raw.once('close', close)
    if (gone.aborted) close()
    const watch = { job, seen: seen === null ? null : Math.min(seen, job.moves.length), look }
    return reply
      .type('text/event-stream; charset=utf-8')
      .header('cache-control', 'no-store')
      .header('x-accel-buffering', 'no')
      .send(Readable.from(liveEvents(services, watch, gone), { objectMode: false }))
  },
})
