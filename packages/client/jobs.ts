/** Jobs: created, run, watched until they end, and their insights in each form. */
import type { InsightView, ReadChartForm } from '@assay/model/insight'
import type { JobStatus, JobView, Progress } from '@assay/model/job'
import {
  type Call,
  ClientError,
  type CreateOptions,
  createKey,
  FIRST_WAIT_MS,
  type Json,
  type Page,
  type PageInput,
  pause,
  type Send,
  segment,
} from './http.ts'

export interface JobInput {
  template_id: string
  template_vars?: Record<string, unknown>
  presence_name?: string
  priority?: number
  metadata?: Record<string, string>
}

export interface BatchInput {
  template_id: string
  /** At most 1,000. What an item does not bring holds as it is given for all. */
  items: Omit<JobInput, 'template_id'>[]
  run?: boolean
  presence_name?: string
  priority?: number
  metadata?: Record<string, string>
}

export interface BatchView {
  batch_id: string
  created: number
  refused: number
  items: { index: number; assignment_id: string | null; errors: { path: string; message: string }[] }[]
}

export interface BatchCheck {
  accepted: number
  refused: number
  items: { index: number; errors: { path: string; message: string }[] }[]
}

export interface JobFilter extends PageInput {
  job_status?: JobStatus
  template_id?: string
  schedule_id?: string
  batch_id?: string
  created_after?: string
  created_before?: string
}

/** Server-sent events as they come. */
async function* readEvents(response: Response): AsyncGenerator<{ name: string; data: unknown }> {
  const decoder = new TextDecoder()
  let rest = ''
  // By a reader: not every browser can iterate over a stream.
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

const ENDED: readonly JobStatus[] = ['completed', 'canceled']

function watcher(send: Send, json: Json) {
  /** The job as it is, then after each change and each progress, until it has ended. A cut stream is taken up again. */
  return async function* watch(assignment_id: string, signal?: AbortSignal): AsyncGenerator<JobView> {
    for (;;) {
      let job = await json<JobView>('GET', '/jobs/status', { query: { assignment_id }, signal })
      yield job
      if (ENDED.includes(job.job_status)) return
      let ended = false
      try {
        const call: Call = { query: { assignment_id }, accept: 'text/event-stream', signal }
        for await (const { name, data } of readEvents(await send('GET', '/jobs/events', call))) {
          const changed = name === 'progress' ? { progress: data as Progress } : (data as Partial<JobView>)
          ended = changed.job_status !== undefined && ENDED.includes(changed.job_status)
          if (ended) break
          job = { ...job, ...changed }
          yield job
        }
      } catch (error) {
        if (error instanceof ClientError || signal?.aborted) throw error
      }
      if (!ended) await pause(FIRST_WAIT_MS, signal)
    }
  }
}

export function jobCalls(send: Send, json: Json) {
  const watch = watcher(send, json)
  const payload = (assignment_id: string): Call => ({
    json: { payload: { type: 'assignment', assignment_id } },
    repeatable: true,
  })
  const status = (assignment_id: string, { wait, signal }: { wait?: number; signal?: AbortSignal } = {}) =>
    json<JobView>('GET', '/jobs/status', { query: { assignment_id, wait }, signal })
  const as = (accept: string, insight_id: string, charts?: ReadChartForm) =>
    send('GET', '/jobs/result', { query: { insight_id, charts }, accept })
  return {
    status,
    watch,
    create: (input: JobInput, options?: CreateOptions) =>
      json<string>('POST', '/jobs/', {
        json: { payload: { type: 'template', ...input } },
        idempotencyKey: createKey(options),
      }),
    createMany: (input: BatchInput, options?: CreateOptions) =>
      json<BatchView>('POST', '/jobs/bulk', { json: input, idempotencyKey: createKey(options) }),
    /** The faults that each item would be refused with; no job is made. */
    checkMany: (input: Pick<BatchInput, 'template_id' | 'items'>) =>
      json<BatchCheck>('POST', '/jobs/bulk/check', { json: input, repeatable: true }),
    batch: (batch_id: string) =>
      json<{ batch_id: string; total: number; ended: number; counts: Record<JobStatus, number> }>(
        'GET',
        `/jobs/batches/${segment(batch_id)}`,
      ),
    run: (assignment_id: string) => json<JobView>('POST', '/jobs/run', payload(assignment_id)),
    cancel: (assignment_id: string) => json<JobView>('POST', '/jobs/cancel', payload(assignment_id)),
    /** Until the job has ended; `onChange` gets each change and each progress. */
    wait: async (
      assignment_id: string,
      options: { onChange?: (job: JobView) => void; signal?: AbortSignal } = {},
    ): Promise<JobView> => {
      let last: JobView | undefined
      for await (const job of watch(assignment_id, options.signal)) {
        last = job
        options.onChange?.(job)
      }
      return last!
    },
    list: (query: JobFilter = {}) => json<Page<JobView>>('GET', '/jobs/', { query: { ...query } }),
    delete: async (assignment_id: string): Promise<void> => {
      await send('DELETE', `/jobs/${segment(assignment_id)}`)
    },
    markdown: async (insight_id: string, charts?: ReadChartForm): Promise<string> =>
      (await as('text/markdown', insight_id, charts)).text(),
    html: async (insight_id: string, charts?: ReadChartForm): Promise<string> =>
      (await as('text/html', insight_id, charts)).text(),
    json: async (insight_id: string, charts?: ReadChartForm): Promise<InsightView> =>
      (await (await as('application/json', insight_id, charts)).json()) as InsightView,
  }
}
