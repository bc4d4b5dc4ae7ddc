/**
 * Decides who sees what belongs to a reader: admins, and the user who is this reader. For everyone else it does not
 * exist. Operations on it answer 404, and lists leave it out.
 */
import { notFound } from '@assay/model/errors'
import { includesScope, type Principal } from '@assay/model/token'
import type { Store } from '@assay/store/store'

/**
 * How an operation names something that may belong to a reader. `jobStatus`, `jobEvents` and `getJobTemplate` check
 * after they have read the job.
 */
type Subject = 'job' | 'insight' | 'delivery' | 'list'

const SUBJECTS: Readonly<Record<string, Subject>> = {
  listJobs: 'list',
  runJob: 'job',
  cancelJob: 'job',
  deleteJob: 'job',
  readResult: 'insight',
  listInsights: 'list',
  earlierInsights: 'insight',
  pinInsight: 'insight',
  unpinInsight: 'insight',
  // A caller who does not see an insight does not learn which collections hold it.
  listCollections: 'insight',
  addToCollection: 'insight',
  removeFromCollection: 'insight',
  listReadings: 'insight',
  // The operation checks the earlier insight itself.
  overlayCharts: 'insight',
  createLink: 'insight',
  listLinks: 'insight',
  deleteLink: 'insight',
  // The answer shows the mail that was sent.
  getDelivery: 'delivery',
  redeliver: 'delivery',
}

type Viewer = Pick<Principal, 'scopes' | 'reader_id'>

interface HiddenCall {
  principal: Principal
  services: { store: Pick<Store, 'getJob' | 'insightReader' | 'getDelivery' | 'getWebhook'> }
  params: unknown
  query: unknown
  body: unknown
}

type Fields = Record<string, unknown>

/** Tells whether the caller sees what belongs to this reader. `null` belongs to no reader. */
export function mayRead(
  { scopes, reader_id: own }: Viewer,
  { reader_id }: { reader_id: string | null },
): boolean {
  return reader_id === null || reader_id === own || includesScope(scopes, 'admin')
}

/** Returns the text of this name from the path, the query or the body; "" if none has it. */
function valueOf({ params, query, body }: HiddenCall, name: string): string {
  const payload = (body as Fields | null | undefined)?.payload
  const found = [params, query, body, payload].map((part) => (part as Fields | null | undefined)?.[name])
  const value = found.find((one) => typeof one === 'string')
  return typeof value === 'string' ? value : ''
}

/** Returns what the call names, with its reader; undefined if it does not exist, which the operation reports. */
async function readerOf(
  call: HiddenCall,
  subject: Exclude<Subject, 'list'>,
): Promise<{ id: string; of: { reader_id: string | null } | null | undefined }> {
  const { store } = call.services
  const { workspace_id } = call.principal
  if (subject === 'insight') {
    const insight_id = valueOf(call, 'insight_id')
    return { id: insight_id, of: await store.insightReader({ workspace_id, insight_id }) }
  }
  const jobOf = (assignment_id: string) => store.getJob({ workspace_id, assignment_id })
  if (subject === 'job') {
    const assignment_id = valueOf(call, 'assignment_id')
    return { id: assignment_id, of: await jobOf(assignment_id) }
  }
  const delivery_id = valueOf(call, 'delivery_id')
  const delivery = await store.getDelivery({ workspace_id, delivery_id })
  if (!delivery) return { id: delivery_id, of: undefined }
  const { assignment_id, webhook_id } = delivery
  if (assignment_id !== null) return { id: delivery_id, of: await jobOf(assignment_id) }
  // A delivery without a job may ask a reader whether she wants the mail.
  const webhook = await store.getWebhook({ workspace_id, webhook_id })
  return { id: delivery_id, of: webhook?.kind === 'reader' ? { reader_id: webhook.user_id } : undefined }
}

/** Tells whether `hideFromOthers` can change or refuse the call. */
export function mayBeHidden(name: string, { scopes }: Viewer): boolean {
  return Object.hasOwn(SUBJECTS, name) && !includesScope(scopes, 'admin')
}

/**
 * Returns the call with its lists narrowed to what the caller sees. Throws `not_found` for what belongs to another
 * reader.
 */
export async function hideFromOthers<Call extends HiddenCall>(name: string, call: Call): Promise<Call> {
  const subject = SUBJECTS[name]
  if (subject === undefined || !mayBeHidden(name, call.principal)) return call
  if (subject === 'list')
    return { ...call, query: { ...(call.query as Fields), seen_by: call.principal.reader_id ?? '' } }
  const { id, of } = await readerOf(call, subject)
  if (of && !mayRead(call.principal, of)) throw notFound(subject, id)
  return call
}
