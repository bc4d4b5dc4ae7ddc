/** The columns of nodes. */
import type { NodeInfo } from '../../contract/jobs/nodes.ts'
import { Table } from '../table.ts'

export const NODES = new Table<NodeInfo>('nodes', ['node_id'], {
  node_id: 'text',
  name: 'text',
  roles: 'json',
  version: 'text',
  started_at: 'time',
  lease_until: 'time',
})
