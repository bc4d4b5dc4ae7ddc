/** What the store promises of the ledger: what left each workspace by day, and the rules of what may. */
import type { OutgoingCount, OutgoingRules } from '@assay/model/outgoing'

export interface OutgoingNow {
  workspace_id: string
  rules: OutgoingRules
  /** Of the day that was asked for, one for each kind of which something left or was refused. */
  counts: OutgoingCount[]
}

export interface OutgoingStore {
  /** Adds to what was counted before; workspaces that are gone are passed over. */
  countOutgoing(counts: (OutgoingCount & { workspace_id: string })[]): Promise<void>
  /** The rules and the counts of one day; workspaces that are not there are left out. */
  readOutgoing(input: { workspace_ids: string[]; day: string }): Promise<OutgoingNow[]>
  /** The counts since a day, that day included: newest day first. */
  listOutgoing(input: { workspace_id: string; since: string }): Promise<OutgoingCount[]>
  /** Replaces rules. What was held back is due again (as far as 1,000 receivers; the rest within a minute). Null: not there. */
  changeOutgoing(input: {
    workspace_id: string
    patch: Partial<OutgoingRules>
  }): Promise<OutgoingRules | null>
}
