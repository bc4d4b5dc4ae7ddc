/**
 * The API as a pure model: which answers a request may get in a state, and the state after it. Answers of concurrent
 * requests are right if some serial order explains them all. In that order a request follows every request that was
 * answered before it was sent.
 */

const RANKS = ['draft', 'queued', 'active', 'executing', 'completed'] as const

/** The earliest state that a job may be in (its worker moves it on), or its final state. */
type JobState = (typeof RANKS)[number] | 'canceled' | 'gone'

interface WebhookState {
  enabled: boolean
  /** The number of deliveries: those of canceled jobs while the webhook was enabled, and those that were sent again. */
  deliveries: number
}

export interface Model {
  jobs: Record<string, JobState>
  keys: Record<string, { note: string; id: string }>
  webhooks: Record<string, WebhookState | 'gone'>
}

export const EMPTY: Model = { jobs: {}, keys: {}, webhooks: {} }

export type Command =
  | { name: 'create'; note: string; key?: string }
  | { name: 'run' | 'cancel' | 'status' | 'delete'; id: string }
  | { name: 'list' }
  | { name: 'hook' }
  | { name: 'patch'; id: string; enabled: boolean }
  | { name: 'unhook' | 'deliveries' | 'redeliver'; id: string }

/** The parts of an answer that the model checks. `code` is the code of a problem, else null. */
export interface Answer {
  status: number
  code: string | null
  /** The id of the created object. */
  id?: string
  job_status?: string
  error?: string | null
  /** The items of a list: the id of each and its state. */
  items?: { id: string; state: string }[]
}

function withJob(model: Model, id: string, state: JobState): Model {
  return { ...model, jobs: { ...model.jobs, [id]: state } }
}

function withWebhook(model: Model, id: string, state: WebhookState | 'gone'): Model {
  return { ...model, webhooks: { ...model.webhooks, [id]: state } }
}

/** Returns the model after a cancel. Each enabled webhook gets the event in the transaction of the cancel. */
function canceled(model: Model, id: string): Model {
  const told = Object.entries(model.webhooks).map(([webhook, state]) => [
    webhook,
    state !== 'gone' && state.enabled ? { ...state, deliveries: state.deliveries + 1 } : state,
  ])
  return { ...withJob(model, id, 'canceled'), webhooks: Object.fromEntries(told) as Model['webhooks'] }
}

const isOk = ({ status }: Answer): boolean => status >= 200 && status < 300
const rank = (state: string): number => RANKS.indexOf(state as (typeof RANKS)[number])

/**
 * Returns the model after an answer that shows a job. Its state is not behind the known one, and it is canceled only
 * if a request did that.
 */
function seen(model: Model, id: string, state: string): Model | null {
  const known = model.jobs[id]
  if (known === undefined || known === 'gone') return null
  if (known === 'canceled' || state === 'canceled') return known === state ? model : null
  // Only a request moves a draft.
  if (known === 'draft') return state === 'draft' ? model : null
  return rank(state) >= rank(known) ? withJob(model, id, state as JobState) : null
}

/** Returns the model after a job has completed. A running job may complete at any time. */
function completed(model: Model, id: string): Model | null {
  const known = model.jobs[id]
  return known !== undefined && rank(known) > 0 ? withJob(model, id, 'completed') : null
}

function created(model: Model, { note, key }: { note: string; key?: string }, answer: Answer): Model | null {
  const first = key === undefined ? undefined : model.keys[key]
  // The first request with the key is still running, so this one had no effect.
  if (answer.code === 'idempotency_in_progress') return key === undefined ? null : model
  if (first && first.note !== note) return answer.code === 'idempotency_mismatch' ? model : null
  if (!isOk(answer) || answer.id === undefined) return null
  if (first) return answer.id === first.id ? model : null
  if (model.jobs[answer.id] !== undefined) return null
  const made = withJob(model, answer.id, 'draft')
  return key === undefined ? made : { ...made, keys: { ...made.keys, [key]: { note, id: answer.id } } }
}

type JobCommand = Extract<Command, { name: 'run' | 'cancel' | 'status' | 'delete' }>

function onJob(model: Model, { name, id }: JobCommand, answer: Answer): Model | null {
  const known = model.jobs[id]
  if (known === undefined || known === 'gone') return answer.status === 404 ? model : null
  const { code, job_status = '' } = answer
  switch (name) {
    case 'status':
      if (job_status === 'canceled' && answer.error !== 'canceled_by_user') return null
      return isOk(answer) ? seen(model, id, job_status) : null
    case 'run':
      if (code === 'job_final') return known === 'canceled' ? model : completed(model, id)
      if (!isOk(answer) || job_status === 'draft') return null
      return seen(known === 'draft' ? withJob(model, id, 'queued') : model, id, job_status)
    case 'cancel':
      if (code === 'job_final') return completed(model, id)
      if (!isOk(answer) || job_status !== 'canceled' || known === 'completed') return null
      return known === 'canceled' ? model : canceled(model, id)
    case 'delete': {
      if (code === 'job_unfinished') return known === 'canceled' || known === 'completed' ? null : model
      if (answer.status !== 204) return null
      const ended = known === 'canceled' ? model : completed(model, id)
      return ended && withJob(ended, id, 'gone')
    }
  }
}

type WebhookCommand = Extract<Command, { name: 'patch' | 'unhook' | 'deliveries' | 'redeliver' }>

function onWebhook(model: Model, command: WebhookCommand, answer: Answer): Model | null {
  const { id } = command
  const known = model.webhooks[id]
  if (known === undefined || known === 'gone') return answer.status === 404 ? model : null
  switch (command.name) {
    case 'patch': {
      const state = command.enabled ? 'enabled' : 'disabled'
      if (!isOk(answer) || answer.items?.[0]?.state !== state) return null
      return withWebhook(model, id, { ...known, enabled: command.enabled })
    }
    case 'unhook':
      return answer.status === 204 ? withWebhook(model, id, 'gone') : null
    case 'deliveries':
      return isOk(answer) && answer.items?.length === known.deliveries ? model : null
    case 'redeliver':
      return isOk(answer) ? withWebhook(model, id, { ...known, deliveries: known.deliveries + 1 }) : null
  }
}

/** Returns the state after the request. Null if it could not be answered like that. */
export function apply(model: Model, command: Command, answer: Answer): Model | null {
  switch (command.name) {
    case 'create':
      return created(model, command, answer)
    case 'hook':
      if (!isOk(answer) || answer.id === undefined) return null
      return withWebhook(model, answer.id, { enabled: true, deliveries: 0 })
    case 'list': {
      const items = answer.items ?? []
      const living = Object.entries(model.jobs).filter(([, state]) => state !== 'gone')
      if (!isOk(answer) || items.length !== living.length) return null
      return items.reduce<Model | null>((before, { id, state }) => before && seen(before, id, state), model)
    }
    case 'patch':
    case 'unhook':
    case 'deliveries':
    case 'redeliver':
      return onWebhook(model, command, answer)
    default:
      return onJob(model, command, answer)
  }
}

/** A request and its answer, with the order of both among all. */
export interface Call {
  command: Command
  answer: Answer
  asked: number
  answered: number
}

/** Tells whether some serial order explains all answers. The search visits no state twice. */
export function explains(model: Model, calls: Call[]): boolean {
  const failed = new Set<string>()
  const search = (state: Model, rest: Call[]): boolean => {
    if (rest.length === 0) return true
    const key = `${rest.map(({ asked }) => asked).join()} ${JSON.stringify(state)}`
    if (failed.has(key)) return false
    const first = Math.min(...rest.map(({ answered }) => answered))
    for (const call of rest.filter(({ asked }) => asked < first)) {
      const next = apply(state, call.command, call.answer)
      if (
        next &&
        search(
          next,
          rest.filter((other) => other !== call),
        )
      )
        return true
    }
    failed.add(key)
    return false
  }
  return search(model, calls)
}
