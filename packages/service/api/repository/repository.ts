/** Operations on the git repository of templates: its state, a pull now, and the webhook of the git server. */
import { iso } from '@assay/model/clock'
import { AppError, notFound } from '@assay/model/errors'
import { REPOSITORY_ID, RepositoryView } from '@assay/model/repository'
import { nullable, Type } from '@assay/model/schema'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import type { Layer } from '../../git/layer.ts'
import { isSigned, LongBodyError } from '../../git/push-signature.ts'
import { repositoryView } from '../../git/repository.ts'
import { withPartials } from '../../git/tree.ts'
import { requireOperator } from '../accounts/administration.ts'
import { linkRecord } from '../admin/audit-trail.ts'
import type { Services } from '../dependencies.ts'
import { ANY_TYPE, type Call, operation } from '../http/operation.ts'
import { readSource } from '../templates/template-lookup.ts'

/** The most bytes of a push notice of a git server. GitHub sends at most 25 MB. */
const PUSH_MOST = 26_000_000

function none(): AppError {
  return new AppError(
    'not_found',
    'There is no repository: an operator can set ASSAY_TEMPLATES to the address of one.',
  )
}

/** Returns the templates and metrics of the workspace that the API has put under an id that the commit has too. */
async function conflictsOf(
  { store }: Services,
  workspace_id: string,
  layer: Layer | null,
): Promise<RepositoryView['conflicts']> {
  if (!layer) return []
  const templates = await store.listTemplates(workspace_id)
  const metric_ids = [...layer.metrics.keys()]
  const metrics = metric_ids.length === 0 ? [] : await store.findMetrics({ workspace_id, metric_ids })
  const of = (kind: 'template' | 'metric', id: string, file: string | undefined) =>
    file === undefined ? [] : [{ kind, id, file }]
  return [
    ...templates.flatMap(({ template_id: id }) => of('template', id, layer.templates.get(id)?.file)),
    ...metrics.flatMap(({ metric_id: id }) => of('metric', id, layer.metrics.get(id)?.file)),
  ]
}

async function viewOf({
  services,
  principal,
}: Pick<Call, 'services' | 'principal'>): Promise<RepositoryView | null> {
  const { repository, store, clock } = services
  const head = repository && (await store.getRepository(REPOSITORY_ID))
  if (!repository || !head) return null
  const conflicts = await conflictsOf(services, principal.workspace_id, repository.layer())
  return repositoryView(head, { now: iso(clock.now()), conflicts })
}

export const getRepository = operation({
  name: 'getRepository',
  tag: 'Templates',
  summary: 'Read the state of the git repository of templates',
  description:
    'Says which commit is served, and of the newest one whether it was taken, and if not, why: each fault with file, line and column.',
  scope: 'viewer',
  replies: {
    200: {
      description: 'Null: the templates come from no repository',
      schema: Type.Object({ repository: nullable(RepositoryView) }),
    },
  },
  handle: async (call) => ({ repository: await viewOf(call) }),
})

export const pullRepository = operation({
  name: 'pullRepository',
  tag: 'Templates',
  audit: 'repository.pull',
  summary: 'Have the repository looked at now',
  description: 'Also judges a commit again that was refused. Read the repository until `looking` is false.',
  scope: 'admin',
  replies: { 202: { description: 'A node will look soon', schema: RepositoryView } },
  errors: ['not_found'],
  async handle(call) {
    const { services, principal, reply } = call
    requireOperator(principal)
    if (!services.repository || !(await services.store.askRepository(REPOSITORY_ID))) throw none()
    const view = await viewOf(call)
    if (!view) throw none()
    return reply.code(202).send(view)
  },
})

export const proposeChange = operation({
  name: 'proposeChange',
  tag: 'Templates',
  audit: 'repository.propose',
  summary: 'Push a change of a template of the repository as a branch',
  description:
    'Answers faults with line and column. The branch begins at the newest commit; nothing is served of it until it is merged. The token of the repository must be allowed to write.',
  scope: 'publisher',
  body: Type.Object({
    template_id: Type.String({ minLength: 1, maxLength: 200 }),
    source: Type.String({ minLength: 1, description: 'The Markdown of the template' }),
    message: Type.Optional(Type.String({ minLength: 1, maxLength: 1000, description: 'Of the commit' })),
  }),
  replies: {
    201: {
      description: 'The branch',
      schema: Type.Object({ branch: Type.String(), commit_id: Type.String(), based_on: Type.String() }),
    },
  },
  errors: ['not_found', 'conflict'],
  async handle({ services, principal, body, id, signal, reply }) {
    requireOperator(principal)
    const { template_id, source, message = `Change ${template_id}` } = body
    const { repository } = services
    const layer = repository?.layer()
    const entry = layer?.templates.get(template_id)
    if (!repository || !layer || !entry) throw notFound('template of the repository', template_id)
    await readSource(services, principal, withPartials(template_id, source, layer.partials))
    const branch = `assay/${template_id}-${id.slice(-8)}`
    const author = principal.user_id
    const change = { file: entry.file, before: entry.source.source, after: source, branch, message, author }
    const found = await repository.propose(change, signal())
    if ('unreached' in found) throw new AppError('conflict', `No branch was pushed. ${found.unreached}`)
    return reply.code(201).send({ branch, ...found })
  },
})

export const repositoryPushed = operation({
  name: 'repositoryPushed',
  tag: 'Templates',
  summary: 'Tell of a push, as a webhook of the git server',
  description:
    'Takes no token: the secret of ASSAY_TEMPLATES_HOOK_SECRET signs the request, as GitHub (`X-Hub-Signature-256`), Gitea and Forgejo (`X-Gitea-Signature`), GitLab (`webhook-signature` or `X-Gitlab-Token`) and Bitbucket (`X-Hub-Signature`) send it. The body is not read for anything else.',
  // The handler records the call itself, because its caller has no token.
  audit: null,
  scope: null,
  bodyType: ANY_TYPE,
  bodyBytes: PUSH_MOST,
  body: Type.Unknown(),
  replies: {
    202: {
      description: 'A node will look soon',
      schema: Type.Object({ asked: Type.Boolean() }),
    },
  },
  errors: ['not_found', 'unauthorized', 'payload_too_large'],
  async handle({ services, request, reply }) {
    const { repository, store, clock } = services
    if (!repository) throw none()
    if (repository.hookSecret === null)
      throw new AppError(
        'not_found',
        'There is no webhook here: an operator sets ASSAY_TEMPLATES_HOOK_SECRET.',
      )
    const { headers, raw: body } = request
    const signed = await isSigned({ headers, body }, repository.hookSecret, {
      now: clock.now(),
      most: PUSH_MOST,
    }).catch((error: unknown) => {
      if (!(error instanceof LongBodyError)) throw error
      throw new AppError('payload_too_large', `The body has more than ${PUSH_MOST} bytes.`)
    })
    if (!signed)
      throw new AppError(
        'unauthorized',
        'The request is not signed with the secret of ASSAY_TEMPLATES_HOOK_SECRET: give the git server the same.',
      )
    const record = linkRecord('repository.pull', request, {
      workspace_id: DEFAULT_WORKSPACE,
      object_id: REPOSITORY_ID,
    })
    await store.audited(record).askRepository(REPOSITORY_ID)
    return reply.code(202).send({ asked: true })
  },
})
