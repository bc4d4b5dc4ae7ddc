/** The requests that the service sends to webhooks, for the OpenAPI document. */
import { EVENT_TYPES, type EventType } from '@assay/model/event'
import { type PlainSchema, plainSchema } from '../http/plain-schema.ts'
import { CATALOGUE, EXAMPLE_TIME, messageOf } from '../webhooks/events.ts'

const HEADERS = {
  'webhook-id': 'Names the message; the same for every attempt, so keep it to recognize repeats',
  'webhook-timestamp': 'When the attempt was signed, in seconds since 1970',
  'webhook-signature': 'The signatures (Standard Webhooks), divided by spaces',
}

const RESPONSES = {
  '2XX': { description: 'The event is taken' },
  '4XX': { description: 'It is sent again later, as after whatever is no 2XX' },
  default: { description: 'It is sent again later' },
}

function parametersOf(): unknown[] {
  return Object.entries(HEADERS).map(([name, meaning]) => ({
    name,
    in: 'header',
    required: true,
    description: meaning,
    schema: { type: 'string' },
  }))
}

/** Turns "job.completed" into "JobCompleted". */
const camel = (type: EventType): string =>
  type.replaceAll(/(?:^|\.)([a-z])/g, (_found, letter: string) => letter.toUpperCase())

function requestOf(type: EventType): Record<string, unknown> {
  const { description, data } = CATALOGUE[type]
  return {
    operationId: `on${camel(type)}`,
    tags: ['Webhooks'],
    summary: `The event ${type}`,
    description,
    parameters: parametersOf(),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${camel(type)}Message` },
          example: { type, timestamp: EXAMPLE_TIME, data },
        },
      },
    },
    responses: RESPONSES,
    security: [],
  }
}

/** The requests that a webhook gets, for the operation that registers it. */
export const CALLBACKS = {
  event: {
    '{$request.body#/url}': {
      post: {
        operationId: 'onEvent',
        tags: ['Webhooks'],
        summary: 'An event',
        description: 'Any of the events that the webhook asks for; `webhooks` describes each.',
        parameters: parametersOf(),
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/WebhookMessage' } } },
        },
        responses: RESPONSES,
        security: [],
      },
    },
  },
}

export function webhooksPart(): Record<string, unknown> {
  return Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: requestOf(type) }]))
}

/** Returns one schema with a title for each type of event, and the union of them. */
export function messageSchema(): PlainSchema {
  const anyOf = EVENT_TYPES.map((type) => ({
    title: `${camel(type)}Message`,
    ...plainSchema(messageOf(type), false),
  }))
  return { title: 'WebhookMessage', description: 'The body of a request to a webhook', anyOf }
}
