/**
 * Operations on kept drafts: texts that their authors have not published. Authors see their own; users who may
 * publish see all.
 */
import { tagOfSource } from '@assay/model/entity-tag'
import { AppError, notFound } from '@assay/model/errors'
import { DRAFT_KINDS, DRAFT_NAMES, KeptDraft, KeptDraftWithSource } from '@assay/model/kept-draft'
import { Type } from '@assay/model/schema'
import { includesScope, type Principal } from '@assay/model/token'
import { Id, LIMIT_DEFAULT, Name, pageOf, pageQuery } from '../http/fields.ts'
import { type Call, operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'

const DraftPath = Type.Object({ draft_id: Id })
const Kind = Type.Enum([...DRAFT_KINDS])

const mayPublish = ({ scopes }: Principal): boolean => includesScope(scopes, 'publisher')

/** Returns the draft. Throws a 404 if there is none that the caller may see. */
async function requireDraft(
  { services: { store }, principal }: Call,
  draft_id: string,
): Promise<KeptDraftWithSource> {
  const { workspace_id, user_id } = principal
  const found = await store.getKeptDraft({ workspace_id, draft_id })
  if (found && (found.user_id === user_id || mayPublish(principal))) return found
  throw notFound('draft', draft_id)
}

/**
 * Throws if nobody can ever publish a draft under this name. Shipped files and those of folders change on the disk
 * alone.
 */
function vetName({ catalog }: Call['services'], { kind, name }: Pick<KeptDraft, 'kind' | 'name'>): void {
  if (!new RegExp(DRAFT_NAMES[kind]).test(name))
    throw invalid([{ path: 'name', message: `must match ${DRAFT_NAMES[kind]}: it is the id of the ${kind}` }])
  const entry =
    kind === 'template'
      ? catalog.get(name)
      : catalog.metrics().find(({ view: { metric_id } }) => metric_id === name)
  if (!entry || entry.origin === 'git') return
  throw new AppError(
    kind === 'template' ? 'template_read_only' : 'metric_read_only',
    `${name} is a ${entry.origin} ${kind}: keep the draft under another id.`,
  )
}

export const keepDraft = operation({
  name: 'keepDraft',
  tag: 'Templates',
  audit: 'draft.keep',
  summary: 'Keep your draft of a template or a metric',
  description:
    'Replaces your earlier draft of the same name. The text may have faults. Only you and those who may publish see it, and nobody is told. It is deleted once its text is put as the template or the metric.',
  scope: 'analyst',
  params: Type.Object({ kind: Kind, name: Name }),
  body: Type.Object({ source: Type.String({ minLength: 1 }) }),
  replies: { 200: { description: 'The draft', schema: KeptDraft } },
  errors: ['conflict', 'template_read_only', 'metric_read_only'],
  async handle({ services, principal: { workspace_id, user_id }, params, body: { source }, id, reply }) {
    vetName(services, params)
    const { store } = services
    const kept = await store.keepDraft({ draft_id: id, workspace_id, user_id, ...params, source })
    void reply.header('etag', tagOfSource(source))
    return kept
  },
})

export const listKeptDrafts = operation({
  name: 'listKeptDrafts',
  tag: 'Templates',
  summary: 'List kept drafts, newest first',
  description: 'Yours; to those who may publish, those of all.',
  scope: 'analyst',
  query: pageQuery({
    kind: Type.Optional(Kind),
    name: Type.Optional(Name),
    user_id: Type.Optional(Type.String({ maxLength: 255, description: 'Its author; `me` for your own' })),
  }),
  replies: { 200: { description: 'A page of drafts', schema: pageOf(KeptDraft) } },
  async handle({ services, principal, query }) {
    const { workspace_id, user_id } = principal
    const asked = query.user_id === 'me' ? user_id : query.user_id
    const author = mayPublish(principal) ? asked : user_id
    return services.store.listKeptDrafts({
      limit: LIMIT_DEFAULT,
      ...query,
      workspace_id,
      user_id: author,
    })
  },
})

export const getKeptDraft = operation({
  name: 'getKeptDraft',
  tag: 'Templates',
  summary: 'Read a kept draft with its text',
  scope: 'analyst',
  params: DraftPath,
  replies: { 200: { description: 'The draft', schema: KeptDraftWithSource } },
  errors: ['not_found'],
  async handle(call) {
    const found = await requireDraft(call, call.params.draft_id)
    void call.reply.header('etag', tagOfSource(found.source))
    return found
  },
})

export const deleteKeptDraft = operation({
  name: 'deleteKeptDraft',
  tag: 'Templates',
  audit: 'draft.delete',
  summary: 'Delete a kept draft',
  scope: 'analyst',
  params: DraftPath,
  replies: { 204: { description: 'The draft is deleted' } },
  errors: ['not_found'],
  async handle(call) {
    const { services, principal, params, reply } = call
    await requireDraft(call, params.draft_id)
    const key = { workspace_id: principal.workspace_id, ...params }
    if (!(await services.store.deleteKeptDraft(key))) throw notFound('draft', params.draft_id)
    return reply.code(204).send()
  },
})
