/** The ledger in the store: the counts of what left each workspace by day, and the rules of what may leave. */
import type { OutgoingCount, OutgoingRules } from '@assay/model/outgoing'

export interface OutgoingNow {
  workspace_id: string
  rules: OutgoingRules
  /** One count for each kind of which something left or was refused on the day. */
  counts: OutgoingCount[]
}

export interface OutgoingStore {
  /** Adds to the counts. Ignores workspaces that are gone. */
  countOutgoing(counts: (OutgoingCount & { workspace_id: string })[]): Promise<void>
  /** Returns the rules, and the counts of one day. Leaves out workspaces that do not exist. */
  readOutgoing(input: { workspace_ids: string[]; day: string }): Promise<OutgoingNow[]>
  /** Returns the counts from that day on, newest day first. */
  listOutgoing(input: { workspace_id: string; since: string }): Promise<OutgoingCount[]>
  /**
   * Replaces the rules. Deliveries that were held back are due again: those of 1,000 receivers now, the rest within a
   * minute. Returns null if there is no such workspace.
   */
  changeOutgoing(input: {
    workspace_id: string
    patch: Partial<OutgoingRules>
  }): Promise<OutgoingRules | null>
}
