/** Jobs: created, run, watched until they end, and their insights in each form. */
import type { CreateJobRequest, Insight, Job, Operations } from './api.generated.ts'
import type { Call, CallOptions } from './call.ts'
import { ClientError, pause, type Send } from './http.ts'

export type JobInput = Omit<CreateJobRequest['payload'], 'type'>
type ChartForm = Operations['readResult']['query']['charts']

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

const XLSX = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'

const hasEnded = ({ job_status }: Partial<Job>): boolean =>
  job_status === 'completed' || job_status === 'canceled'

/** The forms of an insight. */
function formCalls(send: Send) {
  const result = (accept: string, insight_id: string, charts: ChartForm, table?: string) =>
    send('GET', '/jobs/result', { query: { insight_id, charts, table }, headers: { accept } })
  return {
    markdown: async (insight_id: string, charts?: ChartForm): Promise<string> =>
      (await result('text/markdown', insight_id, charts)).text(),
    html: async (insight_id: string, charts?: ChartForm): Promise<string> =>
      (await result('text/html', insight_id, charts)).text(),
    /** The tables as a workbook (.xlsx), or that of one block. */
    xlsx: async (insight_id: string, table?: string): Promise<Uint8Array<ArrayBuffer>> =>
      new Uint8Array(await (await result(XLSX, insight_id, undefined, table)).arrayBuffer()),
    /** The table of a block as CSV; the block is not needed where there is one table. */
    csv: async (insight_id: string, table?: string): Promise<string> =>
      (await result('text/csv', insight_id, undefined, table)).text(),
    /** Its bytes. */
    pdf: async (insight_id: string): Promise<Uint8Array<ArrayBuffer>> =>
      new Uint8Array(await (await result('application/pdf', insight_id, undefined)).arrayBuffer()),
    json: async (insight_id: string, charts?: ChartForm): Promise<Insight> =>
      (await (await result('application/json', insight_id, charts)).json()) as Insight,
  }
}

export function jobCalls(send: Send, call: Call) {
  const [create, read] = [call('createJob'), call('jobStatus')]
  const [run, cancel] = [call('runJob', 'harmless'), call('cancelJob', 'harmless')]
  const payload = (assignment_id: string) => ({ payload: { type: 'assignment' as const, assignment_id } })
  /** Yields the job now, and after each change and each progress until it has ended. A broken stream is resumed. */
  async function* watch(assignment_id: string, signal?: AbortSignal): AsyncGenerator<Job> {
    const query = { assignment_id }
    for (;;) {
      let job = await read({ assignment_id, signal })
      yield job
      if (hasEnded(job)) return
      let ended = false
      try {
        const headers = { accept: 'text/event-stream' }
        const response = await send('GET', '/jobs/events', { query, headers, signal })
        for await (const { name, data } of readEvents(response)) {
          const changed = (name === 'progress' ? { progress: data } : data) as Partial<Job>
          ended = hasEnded(changed)
          if (ended) break
          job = { ...job, ...changed }
          yield job
        }
      } catch (error) {
        if (error instanceof ClientError || signal?.aborted) throw error
      }
      if (!ended) await pause(signal)
    }
  }

  return {
    watch,
    create: (input: JobInput, options?: CallOptions) =>
      create({ payload: { type: 'template', ...input } }, options),
    createMany: call('createJobs'),
    /** Finds the faults of each item and creates no job. */
    checkMany: call('checkJobs', 'harmless'),
    batch: call('readBatch'),
    run: (assignment_id: string) => run(payload(assignment_id)),
    cancel: (assignment_id: string) => cancel(payload(assignment_id)),
    status: (assignment_id: string, options: { wait?: number } & CallOptions = {}) =>
      read({ assignment_id, ...options }),
    /** Waits until the job has ended. `onChange` gets each change and each progress. */
    wait: async (
      assignment_id: string,
      options: { onChange?: (job: Job) => void; signal?: AbortSignal } = {},
    ): Promise<Job> => {
      let last: Job | undefined
      for await (const job of watch(assignment_id, options.signal)) {
        last = job
        options.onChange?.(job)
      }
      return last!
    },
    list: call('listJobs'),
    delete: call('deleteJob'),
    ...formCalls(send),
  }
}
