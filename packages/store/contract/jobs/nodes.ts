/** Nodes in the store: their leases, and the jobs and deliveries that they hold. */
import type { Progress } from '@assay/model/job'
import type { Lease } from './jobs.ts'

export interface NodeInfo {
  node_id: string
  /** The name for people: host and process. */
  name: string
  roles: string[]
  version: string
  started_at: string
  lease_until: string
}

export interface Renewal {
  /** The time of the store. */
  now: string
  /** Attempts that this node must stop: canceled, taken over, or unknown. */
  stop: { assignment_id: string; attempt: number }[]
}

/**
 * Everything of a kind that the node holds: running, or ended and not yet written. A kind that is absent is not
 * compared.
 */
export interface Known {
  node_id: string
  jobs?: readonly { assignment_id: string; attempt: number }[]
  /** The ids of the deliveries. */
  deliveries?: readonly string[]
}

export interface NodeStore {
  /** Registers the node. Returns the time of the store. */
  registerNode(input: {
    node_id: string
    name: string
    roles: string[]
    version: string
    lease_ms: number
  }): Promise<{ now: string }>
  /**
   * Renews the node's lease, writes the progress of its jobs, and returns which attempts to stop, in one statement.
   * Throws `conflict` if the node's row is gone: the node was reaped, must stop everything and register again.
   */
  renewNode(input: {
    node_id: string
    lease_ms: number
    held: { assignment_id: string; attempt: number; progress: Progress | null }[]
  }): Promise<Renewal>
  /** Writes progress between renewals, at most once a second for each job. Writes nothing for a lost lease. */
  reportProgress(input: Lease & { progress: Progress }): Promise<void>
  listNodes(): Promise<NodeInfo[]>
  /** Deletes the node's row. Jobs and deliveries that it still holds go back without a loss. */
  removeNode(node_id: string): Promise<void>
  /**
   * Deletes expired nodes. Their jobs go back with a loss (the third loss ends the job with `worker_lost`), their deliveries
   * are due again. `all`: every node, at a start on SQLite, where one process holds the home. `but`: the node that calls; it
   * is alive, even if a clock that was set forward says that its lease has ended.
   */
  reapNodes(input: {
    all: boolean
    but?: string
  }): Promise<{ nodes: number; jobs: number; deliveries: number }>
  /**
   * Gives back without a loss what the store assigns to the node and the node does not know. Nobody else does this,
   * because a living node's lease never ends. Waits for a claim of the node that is under way.
   */
  giveBackUnknown(known: Known): Promise<{ jobs: number; deliveries: number }>
}
