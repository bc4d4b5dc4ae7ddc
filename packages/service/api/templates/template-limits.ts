/**
 * Enforces tokens that are limited to templates. They run these templates, read their insights, and do nothing else:
 * an operation that is not in `ALLOWED` is refused. Objects of another template are answered as if they did not
 * exist.
 */
import { AppError, notFound } from '@assay/model/errors'
import type { Principal } from '@assay/model/token'
import type { Store } from '@assay/store/store'

/** How an operation names a template. `self` means that it shows only the allowed templates, or none. */
type Subject = 'template' | 'job' | 'batch' | 'insight' | 'list' | 'self'

const ALLOWED: Readonly<Record<string, Subject>> = {
  listTemplates: 'self',
  getTemplate: 'template',
  listChoices: 'template',
  createJob: 'template',
  createJobs: 'template',
  checkJobs: 'template',
  readBatch: 'batch',
  listJobs: 'list',
  runJob: 'job',
  jobStatus: 'job',
  getJobTemplate: 'job',
  jobEvents: 'job',
  cancelJob: 'job',
  readResult: 'insight',
  listInsights: 'list',
  earlierInsights: 'insight',
  whoAmI: 'self',
  logout: 'self',
  // The tools of agents make requests of their own with the same token.
  mcp: 'self',
}

interface LimitedCall {
  principal: Principal
  services: { store: Pick<Store, 'getJob' | 'listJobs' | 'getInsightHead'> }
  params: unknown
  query: unknown
  body: unknown
}

type Fields = Record<string, unknown>

/** Returns the text of this name from the path, the query or the body; "" if none has it. */
function valueOf({ params, query, body }: LimitedCall, name: string): string {
  const payload = (body as Fields | null)?.payload
  const found = [params, query, body, payload].map((part) => (part as Fields | null | undefined)?.[name])
  const value = found.find((one) => typeof one === 'string')
  return typeof value === 'string' ? value : ''
}

/** Returns the object that the call names, with its template; undefined if it does not exist. */
async function templateOf(
  call: LimitedCall,
  subject: Subject,
): Promise<{ noun: string; id: string; template_id: string | undefined }> {
  const { store } = call.services
  const { workspace_id } = call.principal
  const [assignment_id, batch_id, insight_id] = ['assignment_id', 'batch_id', 'insight_id'].map((name) =>
    valueOf(call, name),
  ) as [string, string, string]
  if (subject === 'job') {
    const job = await store.getJob({ workspace_id, assignment_id })
    return { noun: 'job', id: assignment_id, template_id: job?.template_id }
  }
  if (subject === 'batch') {
    const { items } = await store.listJobs({ workspace_id, batch_id, limit: 1 })
    return { noun: 'batch', id: batch_id, template_id: items[0]?.template_id }
  }
  if (subject === 'insight') {
    const insight = await store.getInsightHead({ workspace_id, insight_id })
    return { noun: 'insight', id: insight_id, template_id: insight?.template_id }
  }
  const template_id = valueOf(call, 'template_id')
  return { noun: 'template', id: template_id, template_id }
}

/** Throws `forbidden` if a limited token may not use the operation of this name at all. */
export function refuseBeyondLimit(name: string, { templates }: Pick<Principal, 'templates'>): void {
  if (templates === null || Object.hasOwn(ALLOWED, name)) return
  throw new AppError(
    'forbidden',
    `This token is limited to templates (${templates.join(', ')}): it runs them and reads their insights.`,
  )
}

/**
 * Returns the call with its lists narrowed to the allowed templates. Throws `forbidden` for another operation, and
 * `not_found` for an object of another template.
 */
export async function limitToTemplates<Call extends LimitedCall>(name: string, call: Call): Promise<Call> {
  refuseBeyondLimit(name, call.principal)
  const { templates } = call.principal
  const subject = ALLOWED[name]
  if (templates === null || subject === undefined || subject === 'self') return call
  if (subject === 'list') return { ...call, query: { ...(call.query as Fields), template_ids: templates } }
  const { noun, id, template_id } = await templateOf(call, subject)
  if (template_id === undefined || !templates.includes(template_id)) throw notFound(noun, id)
  return call
}
