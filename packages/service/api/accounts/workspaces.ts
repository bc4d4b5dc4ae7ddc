/** Operations on workspaces. Only the operator, an admin of the default workspace, creates, changes and deletes them. */
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { iso } from '@assay/model/clock'
import { tagOfWorkspace } from '@assay/model/entity-tag'
import { notFound } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { DEFAULT_WORKSPACE, Workspace, WorkspaceCaps } from '@assay/model/token'
import { hourOf } from '@assay/store/caps'
import type { Static } from 'typebox'
import type { Services } from '../dependencies.ts'
import { LIMIT_DEFAULT, pageOf, pageQuery, whole } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { administered, requireOperator, WorkspaceId } from './administration.ts'

const WorkspaceView = Type.Object(
  {
    ...Workspace.properties,
    processor_seconds: Type.Number({
      minimum: 0,
      description:
        'Processor seconds that its analyses have taken in this hour (UTC), which max_processor_seconds bounds',
    }),
    stored_bytes: Type.Integer({
      minimum: 0,
      description: 'What its stored jobs and insights take, which max_stored_bytes bounds',
    }),
  },
  { title: 'Workspace' },
)

/** Returns the workspaces with what they use. */
async function viewsOf(
  { store, clock }: Pick<Services, 'store' | 'clock'>,
  workspaces: Workspace[],
): Promise<Static<typeof WorkspaceView>[]> {
  const workspace_ids = workspaces.map(({ workspace_id }) => workspace_id)
  const used = await store.readProcessorUse({ workspace_ids, hour: hourOf(iso(clock.now())) })
  const uses = new Map(used.map((one) => [one.workspace_id, one]))
  return workspaces.map((one) => {
    const { ms = 0, stored_bytes = 0 } = uses.get(one.workspace_id) ?? {}
    return { ...one, processor_seconds: ms / 1000, stored_bytes }
  })
}

export const listWorkspaces = operation({
  name: 'listWorkspaces',
  tag: 'Administration',
  summary: 'List workspaces, newest first',
  description: 'An admin of the default workspace sees all, any other admin only its own.',
  scope: 'admin',
  query: pageQuery({}),
  replies: { 200: { description: 'A page of workspaces', schema: pageOf(WorkspaceView) } },
  async handle({ services, principal, query }) {
    const { store } = services
    if (principal.workspace_id === DEFAULT_WORKSPACE) {
      const page = await store.listWorkspaces({ limit: LIMIT_DEFAULT, ...query })
      return { ...page, items: await viewsOf(services, page.items) }
    }
    const own = await store.getWorkspace(principal.workspace_id)
    return whole(await viewsOf(services, own ? [own] : []))
  },
})

export const getWorkspace = operation({
  name: 'getWorkspace',
  tag: 'Administration',
  summary: 'Read a workspace',
  description: 'An admin of the default workspace reads any, any other admin only its own.',
  scope: 'admin',
  params: Type.Object({ workspace_id: WorkspaceId }),
  replies: { 200: { description: 'The workspace', schema: WorkspaceView } },
  errors: ['not_found'],
  async handle({ services, principal, params, reply }) {
    const found = await services.store.getWorkspace(
      await administered(services, principal, params.workspace_id),
    )
    if (!found) throw notFound('workspace', params.workspace_id)
    void reply.header('etag', tagOfWorkspace(found))
    return (await viewsOf(services, [found]))[0]!
  },
})

/** Returns the normalized path of a folder. Throws a 422 if the path is not absolute or no folder exists there. */
async function requireFolder(folder: string): Promise<string> {
  const found = path.isAbsolute(folder) ? await stat(folder).catch(() => null) : null
  if (!found?.isDirectory())
    throw invalid([{ path: 'data_folder', message: 'must be the absolute path of a folder that exists' }])
  return path.resolve(folder)
}

const DataFolder = Type.Union([Type.String({ minLength: 1, maxLength: 4096 }), Type.Null()], {
  description: 'The folder that file: sources read; an absolute path that exists on every node',
})
const OwnCaps = Type.Partial(WorkspaceCaps).properties

export const createWorkspace = operation({
  name: 'createWorkspace',
  tag: 'Administration',
  audit: 'workspace.create',
  summary: 'Create a workspace',
  scope: 'admin',
  body: Type.Object({
    workspace_id: WorkspaceId,
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 255, description: 'Default: the id' })),
    data_folder: Type.Optional(DataFolder),
    ...OwnCaps,
  }),
  replies: { 201: { description: 'The workspace', schema: WorkspaceView } },
  errors: ['name_taken'],
  async handle({ services, principal, body, reply }) {
    requireOperator(principal)
    const { workspace_id, name, data_folder = null, ...caps } = body
    // An interrupted deletion of an earlier workspace may have left files.
    if (!(await services.store.getWorkspace(workspace_id))) await services.files.purge(workspace_id)
    const workspace = await services.store.createWorkspace({
      workspace_id,
      name: name ?? workspace_id,
      data_folder: data_folder === null ? null : await requireFolder(data_folder),
      ...caps,
    })
    const [view] = await viewsOf(services, [workspace])
    const headers = { location: `/v1alpha/workspaces/${workspace_id}`, etag: tagOfWorkspace(workspace) }
    return reply.code(201).headers(headers).send(view)
  },
})

export const changeWorkspace = operation({
  name: 'changeWorkspace',
  audit: 'workspace.change',
  tag: 'Administration',
  summary: 'Change a workspace',
  description:
    'Changes its name, its folder and its caps: jobs queued and running at a time, processor seconds an hour, bytes that analyses write to disk, requests a second, bytes of one upload and of all. Fields that are left out stay; null applies the setting of the service. Other nodes follow within two seconds.',
  scope: 'admin',
  params: Type.Object({ workspace_id: WorkspaceId }),
  body: Type.Object({
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    data_folder: Type.Optional(DataFolder),
    ...OwnCaps,
  }),
  replies: { 200: { description: 'The workspace', schema: WorkspaceView } },
  errors: ['not_found'],
  async handle({ services, principal, params, body, reply }) {
    requireOperator(principal)
    const { data_folder, ...rest } = body
    const folder = typeof data_folder === 'string' ? await requireFolder(data_folder) : data_folder
    const workspace = await services.store.updateWorkspace({
      ...params,
      patch: { ...rest, ...(folder === undefined ? {} : { data_folder: folder }) },
    })
    services.tokens.forget()
    if (!workspace) throw notFound('workspace', params.workspace_id)
    void reply.header('etag', tagOfWorkspace(workspace))
    return (await viewsOf(services, [workspace]))[0]!
  },
})

export const deleteWorkspace = operation({
  name: 'deleteWorkspace',
  tag: 'Administration',
  audit: 'workspace.delete',
  summary: 'Delete a workspace with all that is in it',
  scope: 'admin',
  params: Type.Object({ workspace_id: WorkspaceId }),
  replies: { 204: { description: 'The workspace is deleted' } },
  errors: ['not_found', 'conflict'],
  async handle({ services, principal, params, reply }) {
    requireOperator(principal)
    const deleted = await services.store.deleteWorkspace(params.workspace_id)
    services.tokens.forget()
    if (!deleted) throw notFound('workspace', params.workspace_id)
    await services.files.purge(params.workspace_id)
    return reply.code(204).send()
  },
})
