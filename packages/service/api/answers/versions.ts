/**
 * Lists the operations on things with an entity tag. Their answers have it as `ETag`, and changes check `If-Match` and
 * `If-None-Match` (RFC 9110, section 13.1) in the transaction of the change.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Conditions, Expected, Versioned } from '@assay/model/entity-tag'

/** By operation: the noun, and the parameter of the path that names it. */
const CHANGED: Readonly<Record<string, readonly [noun: Versioned, name: string]>> = {
  putTemplate: ['template', 'template_id'],
  deleteTemplate: ['template', 'template_id'],
  putMetric: ['metric', 'metric_id'],
  deleteMetric: ['metric', 'metric_id'],
  changeSchedule: ['schedule', 'schedule_id'],
  deleteSchedule: ['schedule', 'schedule_id'],
  changeWebhook: ['webhook', 'webhook_id'],
  rotateSecret: ['webhook', 'webhook_id'],
  deleteWebhook: ['webhook', 'webhook_id'],
  changeSubscription: ['webhook', 'subscription_id'],
  deleteSubscription: ['webhook', 'subscription_id'],
  changeConnection: ['connection', 'name'],
  deleteConnection: ['connection', 'name'],
}

const READ: readonly string[] = [
  'getTemplate',
  'getMetric',
  'createSchedule',
  'getSchedule',
  'createWebhook',
  'getWebhook',
  'createSubscription',
  'getSubscription',
  'createConnection',
  'getConnection',
]

/** Tells whether the operation changes something with an entity tag. */
export const isConditional = (name: string): boolean => Object.hasOwn(CHANGED, name)

/** Tells whether answers of the operation have an entity tag. */
export const isTagged = (name: string): boolean =>
  READ.includes(name) || (isConditional(name) && !name.startsWith('delete'))

export function conditionsOf(headers: IncomingHttpHeaders): Conditions {
  return { match: headers['if-match'] ?? null, noneMatch: headers['if-none-match'] ?? null }
}

interface Changing {
  principal: { workspace_id: string }
  params: unknown
  query: unknown
  request: { headers: IncomingHttpHeaders }
}

/** Returns the condition that the request sets on the thing it changes. Null if it sets none. */
export function expectedOf(name: string, { principal, params, query, request }: Changing): Expected | null {
  const changed = CHANGED[name]
  const conditions = conditionsOf(request.headers)
  if (!changed || (conditions.match === null && conditions.noneMatch === null)) return null
  const [noun, named] = changed
  // An admin may change the connections of another workspace.
  const { workspace_id = principal.workspace_id } = query as { workspace_id?: string }
  return { noun, workspace_id, id: (params as Record<string, string>)[named]!, ...conditions }
}
