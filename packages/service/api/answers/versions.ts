/**
 * Lists the operations on things with an entity tag. Their answers have it as `ETag`, and changes check `If-Match` and
 * `If-None-Match` (RFC 9110, section 13.1) in the transaction of the change.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Conditions, Expected, Versioned } from '@assay/model/entity-tag'
import { AppError } from '@assay/model/errors'

/** By operation: the noun, and the parameter that names it. Without one the operation changes what the caller has. */
const CHANGED: Readonly<Record<string, readonly [noun: Versioned, name?: string]>> = {
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
  keepDraft: ['draft'],
  deleteKeptDraft: ['draft', 'draft_id'],
  runJob: ['job', 'assignment_id'],
  cancelJob: ['job', 'assignment_id'],
  deleteJob: ['job', 'assignment_id'],
  changeCollection: ['collection', 'collection_id'],
  deleteCollection: ['collection', 'collection_id'],
  addToCollection: ['collection', 'collection_id'],
  removeFromCollection: ['collection', 'collection_id'],
  putReader: ['reader', 'reader_id'],
  deleteReader: ['reader', 'reader_id'],
  changeUser: ['user', 'user_id'],
  deleteUser: ['user', 'user_id'],
  changeToken: ['token', 'token_id'],
  deleteToken: ['token', 'token_id'],
  changeWorkspace: ['workspace', 'workspace_id'],
  deleteWorkspace: ['workspace', 'workspace_id'],
  changeOutgoing: ['outgoing'],
}

/** Operations on files, which check the conditions themselves: a file may lie in a bucket. */
const OF_FILES: readonly string[] = ['putFile', 'deleteFile']

/** Changes of the above that answer without an object. */
const EMPTY: readonly string[] = ['addToCollection', 'removeFromCollection']

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
  'getKeptDraft',
  'jobStatus',
  'createCollection',
  'getCollection',
  'getReader',
  'createUser',
  'getUser',
  'createToken',
  'getToken',
  'createWorkspace',
  'getWorkspace',
  'readOutgoing',
]

/** Tells whether the operation changes something with an entity tag. */
export const isConditional = (name: string): boolean => Object.hasOwn(CHANGED, name)

/** Tells whether answers of the operation have an entity tag. */
export const isTagged = (name: string): boolean =>
  READ.includes(name) || (isConditional(name) && !name.startsWith('delete') && !EMPTY.includes(name))

/**
 * Throws for a condition that could never hold, because what the operation changes has no entity tag. Links, sign-ins
 * and pins are made and deleted and never changed, so nobody's change can be lost.
 */
export function refuseUntagged(name: string, { 'if-match': match }: IncomingHttpHeaders): void {
  if (match === undefined || isConditional(name) || OF_FILES.includes(name)) return
  throw new AppError(
    'precondition_failed',
    'What this request changes has no ETag, so If-Match names nothing: send the request without it.',
  )
}

export function conditionsOf(headers: IncomingHttpHeaders): Conditions {
  return { match: headers['if-match'] ?? null, noneMatch: headers['if-none-match'] ?? null }
}

interface Changing {
  principal: { workspace_id: string; user_id: string }
  params: unknown
  query: unknown
  body: unknown
  request: { headers: IncomingHttpHeaders }
}

/** Returns the condition that the request sets on the thing it changes. Null if it sets none. */
export function expectedOf(name: string, call: Changing): Expected | null {
  const { principal, query, request } = call
  const changed = CHANGED[name]
  const conditions = conditionsOf(request.headers)
  if (!changed || (conditions.match === null && conditions.noneMatch === null)) return null
  const [noun, named] = changed
  // An admin may change the connections of another workspace.
  const { workspace_id = principal.workspace_id } = query as { workspace_id?: string }
  return { noun, workspace_id, id: idOf(call, named), ...conditions }
}

/** Returns the id of what the call changes: from its path or its payload; of a draft, its name and its author. */
function idOf({ principal, params, body }: Changing, named: string | undefined): string {
  const given = params as Record<string, string>
  if (named !== undefined)
    return given[named] ?? (body as { payload: Record<string, string> }).payload[named]!
  return [given.kind, given.name, principal.user_id].join(' ')
}
