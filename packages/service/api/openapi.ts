/** The OpenAPI 3.1 document, made from the schemas by which requests are validated. */

import { ERRORS, type ErrorCode } from '@assay/model/errors'
import type { TSchema } from 'typebox'
import { VERSION } from '../runtime/version.ts'
import { isConditional } from './answers/versions.ts'
import { ANY_TYPE, CHANGING, isIdempotent, type Operation, type ReplyShape } from './http/operation.ts'
import { openapiPath } from './http/path.ts'
import { type PlainSchema, plainSchema } from './http/plain-schema.ts'
import { PROBLEM_TYPE } from './http/problem.ts'
import { answerExample, bodyExample, exampleOf } from './openapi/examples.ts'
import { problemHeaders, replyHeaders, requestHeaders, usedHeaders } from './openapi/headers.ts'
import { TAGS } from './openapi/tags.ts'
import { CALLBACKS, messageSchema, webhooksPart } from './openapi/webhooks.ts'
import { ROUTES, type Route } from './routes.ts'

const PROBLEM_MEDIA = PROBLEM_TYPE.split(';')[0]!

const PROBLEM: PlainSchema = {
  title: 'Problem',
  type: 'object',
  required: ['type', 'title', 'status', 'detail', 'code', 'request_id'],
  properties: {
    type: { type: 'string', description: 'Where the code is explained' },
    title: { type: 'string' },
    status: { type: 'integer' },
    detail: { type: 'string', description: 'What is wrong and what to do' },
    code: { type: 'string', enum: Object.keys(ERRORS) },
    request_id: { type: 'string', format: 'uuid' },
    errors: {
      type: 'array',
      description: 'Every fault of a 422',
      items: {
        type: 'object',
        required: ['path', 'message'],
        properties: {
          path: { type: 'string' },
          message: { type: 'string' },
          line: { type: 'integer' },
          column: { type: 'integer' },
          write: {
            type: 'array',
            items: { type: 'string' },
            description: 'Of a file: lines for `dialect`, each of which lets it be read in another way',
          },
        },
      },
    },
  },
}

type Components = Record<string, PlainSchema>

/** Moves each schema with a title to the components, and returns a reference to it. */
function hoist(schema: PlainSchema, components: Components): PlainSchema {
  const within = Object.fromEntries(
    Object.entries(schema).map(([keyword, value]) => {
      if (keyword === 'properties')
        return [
          keyword,
          Object.fromEntries(
            Object.entries(value as Components).map(([name, field]) => [name, hoist(field, components)]),
          ),
        ]
      if (keyword === 'anyOf')
        return [keyword, (value as PlainSchema[]).map((branch) => hoist(branch, components))]
      if ((keyword === 'items' || keyword === 'additionalProperties') && typeof value === 'object')
        return [keyword, hoist(value as PlainSchema, components)]
      return [keyword, value]
    }),
  ) as PlainSchema
  if (within.title === undefined) return within
  const { title, ...named } = within
  components[title] = named
  return { $ref: `#/components/schemas/${title}` }
}

const capitalized = (name: string): string => name.charAt(0).toUpperCase() + name.slice(1)

/** Gives an object schema without a title this one, so that it becomes a component. */
function titled(schema: PlainSchema, title: string): PlainSchema {
  return schema.properties && schema.title === undefined ? { title, ...schema } : schema
}

function errorsOf(route: Route): ErrorCode[] {
  const { operation } = route
  const takesBody = operation.body !== null
  const universal: ErrorCode[] = ['invalid', 'internal', 'store_unavailable']
  if (operation.scope !== null) universal.push('unauthorized', 'forbidden', 'rate_limited')
  if (takesBody) universal.push('bad_json', 'payload_too_large', 'unsupported_media_type')
  if (isIdempotent(route)) universal.push('idempotency_mismatch', 'idempotency_in_progress')
  if (isConditional(operation.name) || CHANGING.includes(route.method)) universal.push('precondition_failed')
  return [...new Set([...operation.errors, ...universal])]
}

function problemExample(code: ErrorCode): Record<string, unknown> {
  const { status, title, remedy } = ERRORS[code]
  const request_id = exampleOf({ type: 'string', format: 'uuid' })
  return { type: `/docs/errors#${code}`, title, status, detail: remedy, code, request_id }
}

/** Returns the error answers of a route. Errors with the same codes share one component. */
function problems(route: Route, shared: Record<string, unknown>): Record<string, unknown> {
  const byStatus = new Map<number, ErrorCode[]>()
  for (const code of errorsOf(route)) {
    const { status } = ERRORS[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), code])
  }
  const sorted = [...byStatus].toSorted(([a], [b]) => a - b)
  return Object.fromEntries(
    sorted.map(([status, codes]) => {
      const name = codes.join('_or_')
      shared[name] = {
        description: codes.map((code) => `\`${code}\`: ${ERRORS[code].title}`).join('; '),
        headers: problemHeaders(status),
        content: {
          [PROBLEM_MEDIA]: {
            schema: { $ref: '#/components/schemas/Problem' },
            example: problemExample(codes[0]!),
          },
        },
      }
      return [status, { $ref: `#/components/responses/${name}` }]
    }),
  )
}

function replyOf(
  route: Route,
  status: number,
  { description, schema, media = [] }: ReplyShape,
  components: Components,
): Record<string, unknown> {
  const name = `${capitalized(route.operation.name)}Response`
  const text = media
    .filter((type) => type !== 'application/json')
    .map((type) => {
      const format = type.startsWith('text/') ? {} : { format: 'binary' }
      return [type, { schema: { type: 'string', ...format } }] as const
    })
  const plain = schema ? plainSchema(schema, false) : null
  const json = plain
    ? [
        [
          'application/json',
          {
            schema: hoist(titled(plain, name), components),
            example: answerExample(route.operation.name) ?? exampleOf(plain),
          },
        ] as const,
      ]
    : []
  const content = Object.fromEntries([...json, ...text])
  const headers = replyHeaders(route, status)
  return { description, headers, ...(Object.keys(content).length > 0 ? { content } : {}) }
}

function parametersOf(route: Route, components: Components): unknown[] {
  const { operation } = route
  const of = (location: 'path' | 'query', schema: TSchema): unknown[] => {
    const { properties = {}, required = [] } = plainSchema(schema, false)
    return Object.entries(properties).map(([name, { description, ...field }]) => ({
      name,
      in: location,
      required: location === 'path' || required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema: hoist(field, components),
      example: exampleOf(field, name),
    }))
  }
  const keys = isIdempotent(route) ? [{ $ref: '#/components/parameters/IdempotencyKey' }] : []
  return [...of('path', operation.params), ...of('query', operation.query), ...keys, ...requestHeaders(route)]
}

function bodyOf({ name, body, bodyType }: Operation, components: Components): Record<string, unknown> {
  if (bodyType === ANY_TYPE)
    return {
      requestBody: {
        required: true,
        content: { [ANY_TYPE]: { schema: { type: 'string', format: 'binary' } } },
      },
    }
  if (body === null) return {}
  const schema = titled(plainSchema(body, true), `${capitalized(name)}Request`)
  const required = schema.type !== 'object' || (schema.required ?? []).length > 0
  const example = bodyExample(name)
  const content = { schema: hoist(schema, components), ...(example === undefined ? {} : { example }) }
  return { requestBody: { required, content: { [bodyType]: content } } }
}

function operationOf(
  route: Route,
  components: Components,
  shared: Record<string, unknown>,
): Record<string, unknown> {
  const { operation } = route
  const replies = Object.entries(operation.replies).map(([status, shape]) => [
    status,
    replyOf(route, Number(status), shape, components),
  ])
  const scope = operation.scope === null ? '' : `Scope: \`${operation.scope}\`.`
  return {
    operationId: operation.name,
    tags: [operation.tag],
    ...(operation.deprecated ? { deprecated: true } : {}),
    summary: operation.summary,
    description: [operation.description ?? `${operation.summary}.`, scope].filter(Boolean).join('\n\n'),
    ...(operation.name === 'createWebhook' ? { callbacks: CALLBACKS } : {}),
    parameters: parametersOf(route, components),
    ...bodyOf(operation, components),
    responses: { ...Object.fromEntries(replies), ...problems(route, shared) },
    security: operation.scope === null ? [] : [{ bearer: [] }, { sign_in: [] }],
  }
}

function byName<Value>(record: Record<string, Value>): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

export function openapiDocument(): Record<string, unknown> {
  const components: Components = {}
  const shared: Record<string, unknown> = {}
  hoist(PROBLEM, components)
  hoist(messageSchema(), components)
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of ROUTES) {
    if (route.operation.hidden) continue
    const path = openapiPath(route.path)
    paths[path] = {
      ...paths[path],
      [route.method.toLowerCase()]: operationOf(route, components, shared),
    }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Assay',
      version: VERSION,
      description:
        'Analysis jobs from Markdown templates, insights as Markdown, signed webhooks. In a request body, null for an optional member that does not accept null is the same as leaving the member out.',
      contact: { name: 'Assay' },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: webhooksPart(),
    components: {
      schemas: byName(components),
      responses: byName(shared),
      headers: usedHeaders(),
      parameters: {
        IdempotencyKey: {
          name: 'Idempotency-Key',
          in: 'header',
          required: false,
          description: 'The same key with the same body within 24 hours gets the first answer again',
          schema: { type: 'string', minLength: 1, maxLength: 255 },
          example: 'weekly-2026-05',
        },
      },
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          description: 'A token of POST /v1alpha/tokens, or of POST /v1alpha/auth/login',
        },
        sign_in: {
          type: 'apiKey',
          in: 'cookie',
          name: 'assay_sign_in',
          description: 'Of a browser, from pages of this service; behind https it is `__Host-assay_sign_in`',
        },
      },
    },
  }
}

/** Returns the document as the text of openapi.json; `prefix`: see prefix.ts. */
export function openapiText(prefix = ''): string {
  return `${JSON.stringify({ ...openapiDocument(), servers: [{ url: prefix || '/' }] }, null, 2)}\n`
}
