/**
 * The client of the HTTP interface, for Node 20 and newer and for browsers but `verify`. Fetch and nothing else: the
 * command line and the tests of the whole system speak through it. Calls that may be repeated (reads, creations, which
 * bear an idempotency key, runs and cancels) are repeated on 429, 503 and broken connections.
 */
import type { Attempt, DeliveryStatus, DeliveryView, Recovery, WebhookStats } from './delivery.ts'
import type { FieldError } from './errors.ts'
import type { Event, EventType } from './event.ts'
import type { InsightView, ReadChartForm } from './insight.ts'
import type { JobStatus, JobView, Progress } from './job.ts'
import type { Fault, TemplateView, VariableView } from './template.ts'
import type { Principal, Scope, Token, User, Workspace } from './token.ts'
import type { HeaderInput, SignatureVersion, WebhookStatus, WebhookView } from './webhook.ts'

export { SignatureError, sign, verify } from './signature.ts'

/** What the service answers where it refuses (RFC 9457). */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  /** One of docs/errors.md. */
  code: string
  request_id: string
  errors?: FieldError[]
}

/** A refusal (`problem` is set), or no usable answer at all (`status` 0 and `code` "unreachable"). */
export class ClientError extends Error {
  readonly status: number
  readonly code: string
  readonly problem: Problem | null

  constructor(message: string, status: number, code: string, problem: Problem | null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'ClientError'
    this.status = status
    this.code = code
    this.problem = problem
  }
}

export interface ClientOptions {
  /** Address of the service without `/v1alpha`. */
  url: string
  token: string
  fetch?: typeof globalThis.fetch
  /** How often a call that may be repeated is repeated. */
  retries?: number
}

export interface Page<Item> {
  items: Item[]
  next_cursor: string | null
}

interface PageInput {
  limit?: number
  cursor?: string
}

/** Of another workspace, for an admin of the default one; the token's own unless given. */
export interface OfWorkspace {
  workspace_id?: string
}

export interface JobInput {
  template_id: string
  template_vars?: Record<string, unknown>
  presence_name?: string
  priority?: number
  metadata?: Record<string, string>
}

export interface JobFilter extends PageInput {
  job_status?: JobStatus
  template_id?: string
  created_after?: string
  created_before?: string
}

export interface WebhookInput {
  url: string
  headers?: HeaderInput[]
  user_id: string
  presence_name: string
  events?: (EventType | '*')[]
  description?: string
  signature?: SignatureVersion
  retry_schedule?: number[]
  max_in_flight?: number
  rate_per_second?: number
}

export interface RecoveryInput {
  since: string
  until?: string
  include_unsent?: boolean
  dry_run?: boolean
}

export interface DeliveryFilter extends PageInput {
  status?: DeliveryStatus
  event_type?: EventType
  created_after?: string
  created_before?: string
}

/** What a creation may be given: the same key never makes a second one. A random key unless given. */
export interface CreateOptions {
  idempotencyKey?: string
}

export interface NodeView {
  node_id: string
  name: string
  roles: string[]
  version: string
  started_at: string
  lease_until: string
}

/** Unfinished jobs by workspace and state, and the deliveries to be sent now or later. */
export interface QueueView {
  jobs: { workspace_id: string; job_status: JobStatus; count: number; oldest_at: string | null }[]
  deliveries: { due: number; waiting: number; oldest_at: string | null }
}

/** Of a webhook that signs with `v1a` the secret is null: receivers verify with its `public_key`. */
export type NewWebhook = WebhookView & { signing_secret: string | null }
export type FullDelivery = DeliveryView & { attempts: Attempt[] }

type Query = Record<string, string | number | boolean | undefined>

interface Call {
  query?: Query
  json?: unknown
  /** A body that is no JSON. */
  text?: { body: string; type: string }
  accept?: string
  idempotencyKey?: string
  /** A POST that does no more the second time. */
  repeatable?: boolean
  signal?: AbortSignal | undefined
}

const RETRIES = 5
const FIRST_WAIT_MS = 200
const LONGEST_WAIT_MS = 10_000

function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason as Error)
    })
  })
}

function waitBefore(retry: number, response: Response | undefined): number {
  const asked = Number(response?.headers.get('retry-after') ?? Number.NaN) * 1000
  const grown = FIRST_WAIT_MS * 2 ** retry * (0.5 + Math.random())
  return Math.min(Number.isFinite(asked) ? Math.max(asked, FIRST_WAIT_MS) : grown, LONGEST_WAIT_MS)
}

async function errorOf(response: Response): Promise<ClientError> {
  const body = await response.text().catch(() => '')
  try {
    const problem = JSON.parse(body) as Problem
    const faults = (problem.errors ?? []).map(({ path, message }) => `\n  ${path}: ${message}`)
    const message = faults.length > 1 ? `${problem.title}:${faults.join('')}` : problem.detail
    return new ClientError(message, response.status, problem.code ?? 'internal', problem)
  } catch {
    const message = `The service answered ${response.status} without a problem document.`
    return new ClientError(message, response.status, 'internal', null)
  }
}

function createCaller({ url, token, retries = RETRIES, fetch = globalThis.fetch }: ClientOptions) {
  const base = `${url.replace(/\/+$/, '')}/v1alpha`

  function requestOf(method: string, path: string, call: Call): [URL, RequestInit] {
    const address = new URL(base + path)
    for (const [name, value] of Object.entries(call.query ?? {})) {
      if (value !== undefined) address.searchParams.set(name, String(value))
    }
    const headers: Record<string, string> = {
      authorization: `Bearer ${token}`,
      accept: call.accept ?? 'application/json',
    }
    if (call.json !== undefined) headers['content-type'] = 'application/json'
    if (call.text) headers['content-type'] = call.text.type
    if (call.idempotencyKey) headers['idempotency-key'] = call.idempotencyKey
    const init: RequestInit = { method, headers }
    if (call.json !== undefined) init.body = JSON.stringify(call.json)
    if (call.text) init.body = call.text.body
    if (call.signal) init.signal = call.signal
    return [address, init]
  }

  return async function send(method: string, path: string, call: Call = {}): Promise<Response> {
    const [address, init] = requestOf(method, path, call)
    const repeatable = method !== 'POST' || call.idempotencyKey !== undefined || call.repeatable === true
    for (let retry = 0; ; retry += 1) {
      let response: Response | undefined
      try {
        response = await fetch(address, init)
        if (response.ok || response.status === 304) return response
        const again = response.status === 429 || response.status === 503
        if (!again || !repeatable || retry >= retries) throw await errorOf(response)
        await response.body?.cancel()
      } catch (error) {
        if (error instanceof ClientError) throw error
        if (call.signal?.aborted) throw error
        if (!repeatable || retry >= retries) {
          const message = `${address.origin} cannot be reached (${reasonOf(error)}).`
          throw new ClientError(message, 0, 'unreachable', null, error)
        }
      }
      await pause(waitBefore(retry, response), call.signal)
    }
  }
}

function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error
  return (cause as { code?: string }).code ?? (cause instanceof Error ? cause.message : String(cause))
}

type Send = ReturnType<typeof createCaller>

function jsonCaller(send: Send) {
  return async function json<T>(method: string, path: string, call: Call = {}): Promise<T> {
    const response = await send(method, path, call)
    return (await response.json()) as T
  }
}

type Json = ReturnType<typeof jsonCaller>

const segment = encodeURIComponent

function createKey(options: CreateOptions | undefined): string {
  return options?.idempotencyKey ?? globalThis.crypto.randomUUID()
}

function templateCalls(send: Send, json: Json) {
  const markdown = (body: string) => ({ text: { body, type: 'text/markdown' } })
  return {
    list: (query: { q?: string; tag?: string } = {}) =>
      json<TemplateView[]>('GET', '/jobs/templates', { query }),
    get: (template_id: string) =>
      json<TemplateView & { source: string }>('GET', `/jobs/templates/${segment(template_id)}`),
    put: (template_id: string, source: string) =>
      json<TemplateView>('PUT', `/jobs/templates/${segment(template_id)}`, markdown(source)),
    delete: async (template_id: string): Promise<void> => {
      await send('DELETE', `/jobs/templates/${segment(template_id)}`)
    },
    check: (source: string) =>
      json<{ faults: Fault[]; variables: VariableView[] }>('POST', '/jobs/templates/check', {
        ...markdown(source),
        repeatable: true,
      }),
    preview: (source: string, template_vars: Record<string, unknown> = {}, charts?: ReadChartForm) =>
      json<InsightView>('POST', '/jobs/templates/preview', {
        json: { source, template_vars },
        query: { charts },
      }),
    choices: (template_id: string, variable: string) =>
      json<{ choices: unknown[] }>('GET', `/jobs/templates/${segment(template_id)}/choices`, {
        query: { variable },
      }),
  }
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

function jobCalls(send: Send, json: Json) {
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

function webhookCalls(send: Send, json: Json) {
  const at = (webhook_id: string) => `/webhooks/${segment(webhook_id)}`
  return {
    create: (input: WebhookInput, options?: CreateOptions) =>
      json<NewWebhook>('POST', '/webhooks/', { json: input, idempotencyKey: createKey(options) }),
    list: (query: PageInput & { user_id?: string; presence_name?: string; status?: WebhookStatus } = {}) =>
      json<Page<WebhookView>>('GET', '/webhooks/', { query: { ...query } }),
    get: (webhook_id: string) => json<WebhookView>('GET', at(webhook_id)),
    update: (
      webhook_id: string,
      patch: Partial<Omit<WebhookInput, 'signature'>> & { status?: WebhookStatus },
    ) => json<WebhookView>('PATCH', at(webhook_id), { json: patch }),
    delete: async (webhook_id: string): Promise<void> => {
      await send('DELETE', at(webhook_id))
    },
    /** Throws with the code `not_tried` where no attempt was made within 20 seconds. */
    test: async (webhook_id: string): Promise<Attempt> => {
      const response = await send('POST', `${at(webhook_id)}/test`)
      const answer = (await response.json()) as Attempt | DeliveryView
      if ('number' in answer) return answer
      const message = `It was not tried within 20 seconds: see delivery ${answer.delivery_id}.`
      throw new ClientError(message, response.status, 'not_tried', null)
    },
    rotateSecret: (webhook_id: string, options?: CreateOptions & { overlap_seconds?: number }) =>
      json<NewWebhook>('POST', `${at(webhook_id)}/rotate-secret`, {
        json: options?.overlap_seconds === undefined ? {} : { overlap_seconds: options.overlap_seconds },
        idempotencyKey: createKey(options),
      }),
    deliveries: (webhook_id: string, query: DeliveryFilter = {}) =>
      json<Page<DeliveryView>>('GET', `${at(webhook_id)}/deliveries`, { query: { ...query } }),
    delivery: (delivery_id: string) =>
      json<FullDelivery>('GET', `/webhooks/deliveries/${segment(delivery_id)}`),
    redeliver: (delivery_id: string, options?: CreateOptions) =>
      json<DeliveryView>('POST', `/webhooks/deliveries/${segment(delivery_id)}/redeliver`, {
        idempotencyKey: createKey(options),
      }),
    recover: (webhook_id: string, input: RecoveryInput, options?: CreateOptions) =>
      json<{ count: number; recovery_id?: string }>('POST', `${at(webhook_id)}/recover`, {
        json: input,
        idempotencyKey: createKey(options),
      }),
    recovery: (webhook_id: string, recovery_id: string) =>
      json<Recovery>('GET', `${at(webhook_id)}/recoveries/${segment(recovery_id)}`),
    cancelPending: (webhook_id: string) =>
      json<{ count: number }>('POST', `${at(webhook_id)}/cancel-pending`, { repeatable: true }),
    stats: (webhook_id: string, since?: string) =>
      json<WebhookStats>('GET', `${at(webhook_id)}/stats`, { query: { since } }),
  }
}

function eventCalls(json: Json) {
  return {
    /** `order: 'oldest'` goes forward; its `next_cursor` is never null: ask again with it later, none is skipped. */
    list: (query: PageInput & { type?: EventType; order?: 'newest' | 'oldest' } = {}) =>
      json<Page<Event>>('GET', '/events', { query: { ...query } }),
    types: () =>
      json<{ type: EventType; description: string; schema: unknown; example: Omit<Event, 'event_id'> }[]>(
        'GET',
        '/events/types',
      ),
  }
}

function adminCalls(send: Send, json: Json) {
  const remove = async (path: string, of: OfWorkspace = {}): Promise<void> => {
    await send('DELETE', path, { query: { ...of } })
  }
  const create = <T>(path: string, input: unknown, options?: CreateOptions) =>
    json<T>('POST', path, { json: input, idempotencyKey: createKey(options) })
  return {
    tokens: {
      list: (query: PageInput & OfWorkspace = {}) =>
        json<Page<Token>>('GET', '/tokens', { query: { ...query } }),
      /** `token` is shown here and never again. */
      create: (
        input: {
          name: string
          scopes: Scope[]
          expires_at?: string
          workspace_id?: string
          user_id?: string
        },
        options?: CreateOptions,
      ) => create<Token & { token: string }>('/tokens', input, options),
      delete: (token_id: string, of: OfWorkspace = {}) => remove(`/tokens/${segment(token_id)}`, of),
    },
    users: {
      list: (query: PageInput & OfWorkspace = {}) =>
        json<Page<User>>('GET', '/users', { query: { ...query } }),
      create: (
        input: { username: string; password: string; scopes: Scope[]; workspace_id?: string },
        options?: CreateOptions,
      ) => create<User>('/users', input, options),
      delete: (user_id: string, of: OfWorkspace = {}) => remove(`/users/${segment(user_id)}`, of),
    },
    workspaces: {
      list: (query: PageInput = {}) => json<Page<Workspace>>('GET', '/workspaces', { query: { ...query } }),
      create: (
        input: { workspace_id: string; name: string; data_folder?: string | null },
        options?: CreateOptions,
      ) => create<Workspace>('/workspaces', input, options),
      delete: (workspace_id: string) => remove(`/workspaces/${segment(workspace_id)}`),
    },
    logout: async (): Promise<void> => {
      await send('POST', '/auth/logout')
    },
    me: () => json<Principal & { username: string | null; version: string }>('GET', '/auth/me'),
    nodes: () => json<Page<NodeView>>('GET', '/nodes'),
    queue: () => json<QueueView>('GET', '/queue'),
    settings: () =>
      json<Page<{ name: string; env: string; value: string; origin: string; doc: string }>>(
        'GET',
        '/settings',
      ),
  }
}

export function createClient(options: ClientOptions) {
  const send = createCaller(options)
  const json = jsonCaller(send)
  return {
    url: options.url,
    templates: templateCalls(send, json),
    jobs: jobCalls(send, json),
    webhooks: webhookCalls(send, json),
    events: eventCalls(json),
    ...adminCalls(send, json),
  }
}

export type Client = ReturnType<typeof createClient>
