/** Connections. */
import type { ConnectionView } from '@assay/model/connection'
import type { ConnectionKind, ConnectionLimits } from '@assay/model/connection-kinds'
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

export interface ConnectionChange {
  description?: string | null
  /** By name; null removes one. */
  options?: Record<string, unknown>
  /** By name; null removes one. */
  secrets?: Record<string, string | null>
  limits?: Partial<ConnectionLimits>
}

export interface ConnectionInput extends ConnectionChange {
  name: string
  kind: ConnectionKind
  options: Record<string, unknown>
  workspace_id?: string
}

export interface ConnectionTest {
  ok: boolean
  server: string | null
  read_only: string | null
  detail: string | null
  elapsed_ms: number
}

export function connectionCalls(send: Send, json: Json) {
  const at = (name: string): string => `/connections/${segment(name)}`
  return {
    list: (query: PageInput & OfWorkspace = {}) =>
      json<Page<ConnectionView>>('GET', '/connections', { query: { ...query } }),
    create: (input: ConnectionInput, options?: CreateOptions) =>
      json<ConnectionView>('POST', '/connections', { json: input, idempotencyKey: createKey(options) }),
    change: (name: string, change: ConnectionChange, of: OfWorkspace = {}) =>
      json<ConnectionView>('PATCH', at(name), { json: change, query: { ...of } }),
    delete: async (name: string, of: OfWorkspace = {}): Promise<void> => {
      await send('DELETE', at(name), { query: { ...of } })
    },
    test: (name: string, of: OfWorkspace = {}) =>
      json<ConnectionTest>('POST', `${at(name)}/test`, { query: { ...of } }),
  }
}
