/** The headers of answers that clients act on. */

import { isConditional, isTagged } from '../answers/versions.ts'
import { isIdempotent } from '../http/operation.ts'
import { ROUTES, type Route } from '../routes.ts'

const text = (description: string) => ({ description, schema: { type: 'string' } })
const count = (description: string) => ({ description, schema: { type: 'integer', minimum: 0 } })

export const HEADERS = {
  'X-Request-Id': {
    description: 'The id of the request in the logs; a problem bears it, too',
    schema: { type: 'string', format: 'uuid' },
  },
  Location: text('The address of what was created or begun'),
  ETag: text('Names this state of what was read: send it as If-None-Match, or as If-Match with a change'),
  'Retry-After': count('The seconds after which the request may be repeated'),
  'WWW-Authenticate': text('What the token lacks (RFC 6750)'),
  'RateLimit-Limit': count('Where a rate limit is set: the most requests at once'),
  'RateLimit-Remaining': count('Where a rate limit is set: the requests that are left'),
  'RateLimit-Reset': count('Where a rate limit is set: the seconds until all are left again'),
  Deprecation: text('Where the operation will go: since when it is not to be used anew (RFC 9745)'),
  Sunset: text('Where the operation will go: when it may be gone (RFC 8594)'),
  'Idempotency-Replayed': {
    description: 'The first answer to the same Idempotency-Key, given again',
    schema: { type: 'string', enum: ['true'] },
  },
}
type Header = keyof typeof HEADERS

/**
 * Returns the headers that answers have today. The headers of deprecation are among them only while an operation is
 * deprecated.
 */
export function usedHeaders(): Partial<typeof HEADERS> {
  if (ROUTES.some(({ operation }) => operation.deprecated)) return HEADERS
  const { Deprecation: _since, Sunset: _until, ...used } = HEADERS
  return used
}

/** Operations that answer 201 or 202 without a Location. */
const UNPLACED = ['proposeChange', 'beginSignIn', 'pullRepository', 'repositoryPushed']
const RATE: Header[] = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']
const TAGGED = ['readResult', 'getFile', 'putFile']
/** Operations whose condition may be that nothing exists yet (`If-None-Match: *`). */
const PUT = ['putFile', 'putTemplate', 'putMetric', 'putReader', 'keepDraft']

const refer = (names: Header[]): Record<string, { $ref: string }> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** Returns the headers of an answer that is not an error. */
export function replyHeaders(route: Route, status: number): Record<string, { $ref: string }> {
  const { name } = route.operation
  const names: Header[] = ['X-Request-Id']
  if ((status === 201 || status === 202) && !UNPLACED.includes(name)) names.push('Location')
  if (TAGGED.includes(name) || isTagged(name)) names.push('ETag')
  if (route.operation.deprecated) names.push('Deprecation', 'Sunset')
  if (isIdempotent(route)) names.push('Idempotency-Replayed')
  if (route.operation.scope !== null) names.push(...RATE)
  return refer(names)
}

/** Returns the headers of an error. */
export function problemHeaders(status: number): Record<string, { $ref: string }> {
  const names: Header[] = ['X-Request-Id']
  if (status === 401 || status === 403) names.push('WWW-Authenticate')
  if (status === 429 || status === 503) names.push('Retry-After')
  if (status === 429) names.push(...RATE)
  return refer(names)
}

/** Returns the headers that an operation reads. */
export function requestHeaders({ operation }: Route): unknown[] {
  const one = (header: string, description: string) => ({
    name: header,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
    example: '"9f2c4b7d"',
  })
  const parameters: unknown[] = []
  const { name } = operation
  if (isConditional(name) || name === 'putFile' || name === 'deleteFile')
    parameters.push(one('If-Match', 'Changes only what has this ETag; else 412'))
  if (PUT.includes(name))
    parameters.push({ ...one('If-None-Match', '`*` replaces nothing; else 412'), example: '*' })
  if (['readResult', 'getFile'].includes(name))
    parameters.push(one('If-None-Match', 'Answers 304 if it still has this ETag'))
  return parameters
}
