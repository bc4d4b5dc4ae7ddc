/** Connections in the store. Their secrets arrive sealed. */
import type { Connection, ConnectionPatch } from '@assay/model/connection'
import type { Page, PageQuery } from '../page.ts'

export interface ConnectionStore {
  /** Makes a connection. Throws `name_taken` if the workspace has one of this name. */
  createConnection(input: Omit<Connection, 'created_at' | 'updated_at'>): Promise<Connection>
  getConnection(input: { workspace_id: string; name: string }): Promise<Connection | null>
  /** Lists connections, newest first. */
  listConnections(query: PageQuery & { workspace_id: string }): Promise<Page<Connection>>
  /** Changes a connection. Returns null if it does not exist. */
  updateConnection(input: {
    workspace_id: string
    name: string
    patch: ConnectionPatch
  }): Promise<Connection | null>
  /** Deletes the connection. Jobs that read over it fail from then on. Returns false if there is no such connection. */
  deleteConnection(input: { workspace_id: string; name: string }): Promise<boolean>
}
