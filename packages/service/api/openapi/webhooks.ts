/** The requests that the service sends to webhooks, as the document describes them. */
import { EVENT_TYPES, type EventType } from '@assay/model/event'
import { type PlainSchema, plainSchema } from '../http/plain-schema.ts'
import { CATALOGUE, EXAMPLE_TIME, messageOf } from '../webhooks/events.ts'

const HEADERS = {
  'webhook-id': 'Names the message; the same for every attempt, so keep it to recognize repeats',
  'webhook-timestamp': 'When the attempt was signed, in seconds since 1970',
  'webhook-signature': 'The signatures (Standard Webhooks), divided by spaces',
}

/** "job.completed" as "JobCompleted". */
const camel = (type: EventType): string =>
  type.replaceAll(/(?:^|\.)([a-z])/g, (_found, letter: string) => letter.toUpperCase())

function requestOf(type: EventType): Record<string, unknown> {
  const { description, data } = CATALOGUE[type]
  return {
    operationId: `on${camel(type)}`,
    tags: ['Webhooks'],
    summary: `The event ${type}`,
    description,
    parameters: Object.entries(HEADERS).map(([name, meaning]) => ({
      name,
      in: 'header',
      required: true,
      description: meaning,
      schema: { type: 'string' },
    })),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: { $ref: `#/components/schemas/${camel(type)}Message` },
          example: { type, timestamp: EXAMPLE_TIME, data },
        },
      },
    },
    responses: {
      '2XX': { description: 'The event is taken' },
      default: { description: 'It is sent again later' },
    },
    security: [],
  }
}

export function webhooksPart(): Record<string, unknown> {
  return Object.fromEntries(EVENT_TYPES.map((type) => [type, { post: requestOf(type) }]))
}

/** One schema with a title for each type, and the union of them. */
export function messageSchema(): PlainSchema {
  const anyOf = EVENT_TYPES.map((type) => ({
    title: `${camel(type)}Message`,
    ...plainSchema(messageOf(type), false),
  }))
  return { title: 'WebhookMessage', description: 'The body of a request to a webhook', anyOf }
}
