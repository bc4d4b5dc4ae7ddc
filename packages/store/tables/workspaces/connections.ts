/** The columns of connections. Their secrets arrive sealed. */
import type { Connection } from '@assay/model/connection'
import { Table } from '../table.ts'

export const CONNECTIONS = new Table<Connection>('connections', ['workspace_id', 'name'], {
  workspace_id: 'text',
  name: 'text',
  kind: 'text',
  description: 'text?',
  options: 'json',
  secrets: 'json',
  limits: 'json',
  user_id: 'text',
  created_at: 'time',
  updated_at: 'time',
})
