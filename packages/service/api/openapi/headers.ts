/** The headers of answers that clients act on. */
import { isIdempotent } from '../http/operation.ts'
import type { Route } from '../routes.ts'

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
  'Idempotency-Replayed': {
    description: 'The first answer to the same Idempotency-Key, given again',
    schema: { type: 'string', enum: ['true'] },
  },
}
type Header = keyof typeof HEADERS

/** Operations that answer 201 or 202 for what has no address of its own. */
const UNPLACED = ['proposeChange', 'beginSignIn', 'pullRepository', 'repositoryPushed']
const RATE: Header[] = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']
const TAGGED = ['readResult', 'getFile', 'putFile']

const refer = (names: Header[]): Record<string, { $ref: string }> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** Of an answer that is no error. */
export function replyHeaders(route: Route, status: number): Record<string, { $ref: string }> {
  const { name } = route.operation
  const names: Header[] = ['X-Request-Id']
  if ((status === 201 || status === 202) && !UNPLACED.includes(name)) names.push('Location')
  if (TAGGED.includes(name)) names.push('ETag')
  if (isIdempotent(route)) names.push('Idempotency-Replayed')
  if (route.operation.scope !== null) names.push(...RATE)
  return refer(names)
}

/** Of an error. */
export function problemHeaders(status: number): Record<string, { $ref: string }> {
  const names: Header[] = ['X-Request-Id']
  if (status === 401 || status === 403) names.push('WWW-Authenticate')
  if (status === 429 || status === 503) names.push('Retry-After')
  if (status === 429) names.push(...RATE)
  return refer(names)
}

/** The headers that an operation reads. */
export function requestHeaders({ operation }: Route): unknown[] {
  const one = (name: string, description: string) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
    example: '"9f2c4b7d"',
  })
  const parameters: unknown[] = []
  if (operation.name === 'putFile')
    parameters.push(one('If-Match', 'Replaces only a file with this ETag'), {
      ...one('If-None-Match', '`*` replaces no file'),
      example: '*',
    })
  if (operation.name === 'deleteFile') parameters.push(one('If-Match', 'Deletes only a file with this ETag'))
  if (['readResult', 'getFile'].includes(operation.name))
    parameters.push(one('If-None-Match', 'Answers 304 if it still has this ETag'))
  return parameters
}
