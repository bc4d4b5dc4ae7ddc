/** Tokens, users, workspaces, and what the service says of itself. */
import type { AuditAction, AuditRecord } from '@assay/model/audit'
import type { JobStatus } from '@assay/model/job'
import type {
  Principal,
  Scope,
  Token,
  User,
  Workspace,
  WorkspaceCaps,
  WorkspacePatch,
} from '@assay/model/token'
import {
  type CreateOptions,
  createKey,
  type Json,
  type OfWorkspace,
  type Page,
  type PageInput,
  type Send,
  segment,
} from './http.ts'

export interface NodeView {
  node_id: string
  name: string
  roles: string[]
  version: string
  started_at: string
  lease_until: string
}

/** Unfinished jobs by workspace and state, and the deliveries to be sent now or later. */
export interface QueueView {
  jobs: { workspace_id: string; job_status: JobStatus; count: number; oldest_at: string | null }[]
  deliveries: { due: number; waiting: number; oldest_at: string | null }
  webhooks: { failing: number; disabled: number }
  /** Of the node that answered. */
  disk: { free_bytes: number; total_bytes: number } | null
}

export interface AuditFilter extends PageInput, OfWorkspace {
  action?: AuditAction
  user_id?: string
  object_id?: string
  created_after?: string
  created_before?: string
}

export function adminCalls(send: Send, json: Json) {
  const remove = async (path: string, of: OfWorkspace = {}): Promise<void> => {
    await send('DELETE', path, { query: { ...of } })
  }
  const create = <T>(path: string, input: unknown, options?: CreateOptions) =>
    json<T>('POST', path, { json: input, idempotencyKey: createKey(options) })
  return {
    tokens: {
      list: (query: PageInput & OfWorkspace = {}) =>
        json<Page<Token>>('GET', '/tokens', { query: { ...query } }),
      /** `token` is shown here and never again. */
      create: (
        input: {
          name: string
          scopes: Scope[]
          expires_at?: string
          workspace_id?: string
          user_id?: string
        },
        options?: CreateOptions,
      ) => create<Token & { token: string }>('/tokens', input, options),
      delete: (token_id: string, of: OfWorkspace = {}) => remove(`/tokens/${segment(token_id)}`, of),
    },
    users: {
      list: (query: PageInput & OfWorkspace = {}) =>
        json<Page<User>>('GET', '/users', { query: { ...query } }),
      create: (
        input: { username: string; password: string; scopes: Scope[]; workspace_id?: string },
        options?: CreateOptions,
      ) => create<User>('/users', input, options),
      delete: (user_id: string, of: OfWorkspace = {}) => remove(`/users/${segment(user_id)}`, of),
      /** One step: ask again with `next_cursor` until it is null. */
      eraseJobs: (user_id: string, query: OfWorkspace & { cursor?: string } = {}) =>
        json<{ jobs: number; events: number; next_cursor: string | null }>(
          'DELETE',
          `/users/${segment(user_id)}/jobs`,
          { query: { ...query } },
        ),
    },
    workspaces: {
      list: (query: PageInput = {}) => json<Page<Workspace>>('GET', '/workspaces', { query: { ...query } }),
      create: (
        input: { workspace_id: string; name: string; data_folder?: string | null } & Partial<WorkspaceCaps>,
        options?: CreateOptions,
      ) => create<Workspace>('/workspaces', input, options),
      change: (workspace_id: string, patch: WorkspacePatch) =>
        json<Workspace>('PATCH', `/workspaces/${segment(workspace_id)}`, { json: patch }),
      delete: (workspace_id: string) => remove(`/workspaces/${segment(workspace_id)}`),
    },
    logout: async (): Promise<void> => {
      await send('POST', '/auth/logout')
    },
    me: () => json<Principal & { username: string | null; version: string }>('GET', '/auth/me'),
    /** Who did what, newest first. */
    audit: (query: AuditFilter = {}) => json<Page<AuditRecord>>('GET', '/audit', { query: { ...query } }),
    nodes: () => json<Page<NodeView>>('GET', '/nodes'),
    queue: () => json<QueueView>('GET', '/queue'),
    settings: () =>
      json<Page<{ name: string; env: string; value: string; origin: string; doc: string }>>(
        'GET',
        '/settings',
      ),
  }
}
