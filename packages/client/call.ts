/** Makes a function for each operation of the HTTP interface, typed by api.generated.ts. */
import { OPERATIONS, type Operations } from './api.generated.ts'
import { type Send, segment } from './http.ts'

type Name = keyof Operations

/** The options of every call. */
export interface CallOptions {
  /** The key of a creation, so that a repeat creates nothing twice (default: a random key). */
  idempotencyKey?: string | undefined
  /**
   * The tag (`etagOf`) that the object must still have. Otherwise the call throws with the code `precondition_failed`.
   */
  ifMatch?: string | undefined
  signal?: AbortSignal | undefined
  /** The time in milliseconds for one try of this call, in place of the client's. */
  timeoutMs?: number | undefined
}

/** The operations that compute before they answer. */
const SLOW: readonly Name[] = [
  'checkTemplate',
  'previewTemplate',
  'explainTemplate',
  'listChoices',
  'checkMetric',
  'createDraft',
  'createJobs',
  'checkJobs',
  'testConnection',
  'tryConnection',
  'pullRepository',
  'proposeChange',
]

const TAGS = new WeakMap<object, string>()

/** Returns the tag of an answer, for `ifMatch` of the next change; undefined if it has none. */
export const etagOf = (answer: object): string | undefined => TAGS.get(answer)

/** Gives the tag of an answer to a copy of it, as a cache makes one. */
export function carryTag<Copy extends object>(answer: object, copy: Copy): Copy {
  const tag = TAGS.get(answer)
  if (tag !== undefined) TAGS.set(copy, tag)
  return copy
}

type BodyArgument<Body> = [Body] extends [undefined]
  ? []
  : Partial<Body> extends Body
    ? [body?: Body]
    : [body: Body]
type OptionsArgument<Query> =
  Partial<Query> extends Query ? [options?: Query & CallOptions] : [options: Query & CallOptions]

/** The names in the path, the body if there is one, and the query and the options of the call. */
export type Arguments<N extends Name> = [
  ...Operations[N]['path'],
  ...BodyArgument<Operations[N]['body']>,
  ...OptionsArgument<Operations[N]['query']>,
]

/**
 * How a POST is repeated after a passing failure (429, 502, 503, 504, a broken connection, no answer in time).
 * `keyed`: with an idempotency key. `harmless`: as it is, because a repeat has no effect. `once`: never.
 */
type Repeat = 'keyed' | 'harmless' | 'once'

interface Row {
  method: string
  path: string
  body?: string
  keyed?: boolean
}

export function createCall(send: Send) {
  return function call<N extends Name>(name: N, repeat?: Repeat) {
    const { method, path, body: type, keyed = false }: Row = OPERATIONS[name]
    const how = repeat ?? (keyed ? 'keyed' : undefined)
    return async (...given: Arguments<N>): Promise<Operations[N]['result']> => {
      const rest: unknown[] = [...given]
      const address = path.replaceAll(/\{\w+\}/g, () => segment(String(rest.shift())))
      const body = type === undefined ? undefined : (rest.shift() ?? {})
      const { idempotencyKey, ifMatch, signal, timeoutMs, ...query } = (rest.shift() ?? {}) as CallOptions
      const key = how === 'keyed' ? (idempotencyKey ?? globalThis.crypto.randomUUID()) : undefined
      const response = await send(method, address, {
        query,
        signal,
        timeoutMs,
        slow: SLOW.includes(name),
        body: typeof body === 'string' || body === undefined ? body : JSON.stringify(body),
        headers: { 'content-type': type, 'idempotency-key': key, 'if-match': ifMatch },
        ...(how === undefined ? {} : { repeatable: how !== 'once' }),
      })
      const answer: unknown = response.status === 204 ? undefined : await response.json()
      const tag = response.headers.get('etag')
      if (tag !== null && typeof answer === 'object' && answer !== null) TAGS.set(answer, tag)
      return answer as Operations[N]['result']
    }
  }
}

export type Call = ReturnType<typeof createCall>
