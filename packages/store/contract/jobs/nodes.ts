/** What the store promises of nodes: their leases, and what they hold. */
import type { Progress } from '@assay/model/job'
import type { Lease } from './jobs.ts'

export interface NodeInfo {
  node_id: string
  /** A name for people: host and process. */
  name: string
  roles: string[]
  version: string
  started_at: string
  lease_until: string
}

export interface Renewal {
  /** Attempts that this node must stop: canceled, taken over, or unknown. */
  stop: { assignment_id: string; attempt: number }[]
}

/** All that the node does know of one kind, run or not yet written; a kind that is not given is left as it is. */
export interface Known {
  node_id: string
  jobs?: readonly { assignment_id: string; attempt: number }[]
  /** Their ids. */
  deliveries?: readonly string[]
}

export interface NodeStore {
  registerNode(input: {
    node_id: string
    name: string
    roles: string[]
    version: string
    lease_ms: number
  }): Promise<void>
  /**
   * One statement for all that a node holds: renews its lease, writes progress, says what to stop. Throws `conflict`
   * where the node's row is gone (it was reaped: stop everything, register anew).
   */
  renewNode(input: {
    node_id: string
    lease_ms: number
    held: { assignment_id: string; attempt: number; progress: Progress | null }[]
  }): Promise<Renewal>
  /** Progress between renewals, at most once a second a job. Writes nothing for a lost lease. */
  reportProgress(input: Lease & { progress: Progress }): Promise<void>
  listNodes(): Promise<NodeInfo[]>
  /** Takes the node's row away; what it still holds is given back without a loss. */
  removeNode(node_id: string): Promise<void>
  /**
   * Takes expired nodes: their jobs go back with a loss (the third ends the job: `worker_lost`), their deliveries are
   * due again. On SQLite, at start, `all` takes every node at once: one process holds the home. `but`: who asks is alive,
   * even where a clock that was set forward says that its lease has ended.
   */
  reapNodes(input: {
    all: boolean
    but?: string
  }): Promise<{ nodes: number; jobs: number; deliveries: number }>
  /**
   * Gives the rest back without a loss: a living node's lease never ends, so nobody else would. Waits for a claim of the
   * node that is still under way.
   */
  giveBackUnknown(known: Known): Promise<{ jobs: number; deliveries: number }>
}
