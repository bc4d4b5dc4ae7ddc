/**
 * An operation of the API, described once: from its schemas come the validation, the types of its handler and its part of
 * the OpenAPI document. Answers are made by JSON.stringify: measured on a job, a serializer compiled from the schema takes
 * 0.46 microseconds instead of 0.58, and ten times as long to make.
 */
import type { Readable } from 'node:stream'
import { type AuditAction, NOTED } from '@assay/model/audit'
import type { ErrorCode, FieldError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { Type } from '@assay/model/schema'
import type { Principal, Scope } from '@assay/model/token'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TObject, TSchema } from 'typebox'
import { type Deprecated, deprecationHeaders } from '../answers/deprecation.ts'
import { expectedOf, refuseUntagged } from '../answers/versions.ts'
import type { Services } from '../dependencies.ts'
import { limitToCollections } from '../insights/collection-limits.ts'
import { hideFromOthers, mayBeHidden } from '../readers/visible.ts'
import { limitToTemplates } from '../templates/template-limits.ts'
import { restOf } from './path.ts'
import { invalid, queryValidator, textFaults, type Validator, validator } from './validate.ts'

/** What an operation may answer: JSON of `schema`, text of one of the `media` types, or nothing. */
export interface ReplyShape {
  description: string
  schema?: TSchema
  media?: readonly string[]
}

export const BODY_TYPES = [
  'application/json',
  'text/markdown',
  'application/yaml',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
] as const
/**
 * The media type of an operation that takes bytes of any kind and number. The operation reads them from `request.raw`
 * itself.
 */
export const ANY_TYPE = '*/*'
export type BodyType = (typeof BODY_TYPES)[number] | typeof ANY_TYPE

type AnswerOf<Shape> = Shape extends { schema: infer Schema extends TSchema; media: readonly string[] }
  ? Static<Schema> | string | Readable
  : Shape extends { schema: infer Schema extends TSchema }
    ? Static<Schema>
    : string | Readable

export interface Call<Params = unknown, Query = unknown, Body = unknown> {
  services: Services
  /** Null only if the operation needs no token. */
  principal: Principal
  params: Params
  query: Query
  body: Body
  /** The id for what the operation creates. A repeat with the same Idempotency-Key has the same id. */
  id: string
  /** Aborted when the client disconnects or the server stops. */
  signal: () => AbortSignal
  request: FastifyRequest
  reply: FastifyReply
}

export interface Operation {
  name: string
  summary: string
  description?: string
  tag: string
  /** Null if the operation needs no token. */
  scope: Scope | null
  params: TObject
  query: TObject
  body: TSchema | null
  bodyType: BodyType
  /** Accepted besides `bodyType`. */
  otherBodyType?: BodyType
  /** Largest body in bytes (default 1 MiB). */
  bodyBytes?: number
  replies: Record<number, ReplyShape>
  errors: readonly ErrorCode[]
  /** The action in the audit trail; null: the operation changes nothing. A test requires one of the two for each change. */
  audit?: AuditAction | null
  /** False if the operation ignores an Idempotency-Key although it changes something. */
  idempotent: boolean
  /** The answer is a stream without end, so there is no HEAD for it. */
  streams: boolean
  /** A page for people. The OpenAPI document omits it. */
  hidden: boolean
  /** Set if the operation will end. Its answers and the document say so. */
  deprecated?: Deprecated
  handle(call: Call): unknown
}

/**
 * Tells whether the operation takes an Idempotency-Key. One that changes nothing ignores it: its repeat does no harm, and
 * its answer, which may be large, would be kept on the disk for a day.
 */
export function isIdempotent({ method, operation }: { method: string; operation: Operation }): boolean {
  const { idempotent, scope, audit } = operation
  return method === 'POST' && idempotent && scope !== null && audit !== null
}

const NOTHING = Type.Object({})

/** The methods that change one object. */
export const CHANGING: readonly string[] = ['PUT', 'PATCH', 'DELETE']

/** Defines an operation. Defaults: no parameters, a JSON body, idempotency keys on POST. */
export function operation<
  const Replies extends Record<number, ReplyShape>,
  Params extends TObject = TObject,
  Query extends TObject = TObject,
  Body extends TSchema = TSchema,
>(definition: {
  name: string
  summary: string
  description?: string
  tag: string
  scope: Scope | null
  params?: Params
  query?: Query
  body?: Body
  bodyType?: BodyType
  otherBodyType?: BodyType
  bodyBytes?: number
  replies: Replies
  errors?: readonly ErrorCode[]
  audit?: AuditAction | null
  idempotent?: boolean
  streams?: boolean
  hidden?: boolean
  deprecated?: Deprecated
  handle(
    call: Call<Static<Params>, Static<Query>, Static<Body>>,
  ):
    | Promise<AnswerOf<Replies[keyof Replies]> | FastifyReply>
    | AnswerOf<Replies[keyof Replies]>
    | FastifyReply
}): Operation {
  return {
    bodyType: 'application/json',
    errors: [],
    idempotent: true,
    streams: false,
    hidden: false,
    ...definition,
    params: definition.params ?? NOTHING,
    query: definition.query ?? NOTHING,
    body: definition.body ?? null,
    handle: definition.handle,
  }
}

interface Validators {
  params: Validator
  query: Validator
  body: Validator
}

/** Returns the schema of the body; an empty object for an operation without a body. */
function bodyOf(operation: Operation): TSchema {
  return operation.body ?? NOTHING
}

function isOptional(schema: TSchema): boolean {
  const { type, required } = schema as { type?: string; required?: string[] }
  return type === 'object' && (required ?? []).length === 0
}

interface Parts {
  params: unknown
  query: unknown
  body?: unknown
}

type Read = (part: keyof Validators, given: unknown) => unknown

/** Validates parts of a request. `done` throws a 422 with the faults of all parts together. */
function reader(validators: Validators): { read: Read; done(): void } {
  const faults: FieldError[] = []
  return {
    read(part, given) {
      const text = textFaults(given, '')
      const checked = text.length > 0 ? { value: given, faults: text } : validators[part](given, '')
      faults.push(...checked.faults)
      return checked.value
    },
    done() {
      if (faults.length > 0) throw invalid(faults)
    },
  }
}

/** Makes the Fastify handler of an operation: it validates the request and calls `handle`. */
export function handlerOf({ operation, path }: { operation: Operation; path: string }, services: Services) {
  const rest = restOf(path)
  const validators: Validators = {
    params: validator(operation.params),
    query: queryValidator(operation.query),
    body: validator(bodyOf(operation)),
  }
  const optional = isOptional(bodyOf(operation))
  const leaving = operation.deprecated && deprecationHeaders(operation.deprecated)

  /** Returns the parameters by name. Fastify calls the parameter for the rest of a path "*". */
  function namedParams({ params }: FastifyRequest): unknown {
    return rest === null ? params : { [rest]: (params as Record<string, string>)['*'] }
  }

  function readParts(request: FastifyRequest, bodyless: boolean): Parts {
    const { read, done } = reader(validators)
    const parts: Parts = {
      params: read('params', namedParams(request)),
      query: read('query', request.query),
    }
    if (!bodyless) parts.body = read('body', optional ? (request.body ?? {}) : (request.body ?? null))
    done()
    return parts
  }

  return (request: FastifyRequest, reply: FastifyReply): unknown => {
    const { method } = request
    if (leaving) reply.headers(leaving)
    const bodyless = method === 'GET' || method === 'HEAD'
    request.bodyTaken?.()
    const parts = readParts(request, bodyless)
    if (CHANGING.includes(method)) refuseUntagged(operation.name, request.headers)
    const call: Call = {
      services,
      principal: request.principal as Principal,
      params: parts.params,
      query: parts.query,
      body: parts.body,
      id: request.idempotent?.id ?? (bodyless ? '' : uuidv7()),
      signal: () => goneSignal(reply, services.stopping),
      request,
      reply,
    }
    const handle = (given: Call): unknown =>
      operation.audit ? handleAudited(operation, operation.audit, given) : operation.handle(given)
    const isLimited =
      request.principal !== null &&
      (request.principal.templates !== null || request.principal.collections !== null)
    const hides = request.principal !== null && mayBeHidden(operation.name, request.principal)
    const narrowed = async (): Promise<Call> => {
      const limited = isLimited
        ? await limitToCollections(operation.name, await limitToTemplates(operation.name, call))
        : call
      return hides ? hideFromOthers(operation.name, limited) : limited
    }
    const answer = isLimited || hides ? narrowed().then(handle) : handle(call)
    // Fastify waits for a promise, and a reply is one: returning the sent reply would wait for itself.
    return answer === reply ? undefined : answer
  }
}

/** Returns the services with another store. They inherit the rest, since a copy of all of them is 1 kB a request. */
function withStore(services: Services, store: Services['store']): Services {
  return Object.assign(Object.create(services) as Services, { store })
}

/** Records a change in the transaction of the change, and any other action after it has succeeded. */
async function handleAudited(operation: Operation, action: AuditAction, call: Call): Promise<unknown> {
  const { services } = call
  const record = services.audit.record(action, call)
  if (!NOTED.includes(action)) {
    const store = services.store.audited(record, expectedOf(operation.name, call))
    return operation.handle({ ...call, services: withStore(services, store) })
  }
  const answer = await operation.handle(call)
  services.audit.note(record)
  return answer
}

function goneSignal(reply: FastifyReply, stopping: AbortSignal): AbortSignal {
  const gone = new AbortController()
  const abort = (): void => gone.abort()
  stopping.addEventListener('abort', abort, { once: true })
  reply.raw.once('close', () => {
    stopping.removeEventListener('abort', abort)
    abort()
  })
  if (reply.raw.destroyed || stopping.aborted) abort()
  return gone.signal
}
