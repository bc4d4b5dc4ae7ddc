/** What the store promises of the processor time of workspaces, counted by hour (UTC). */
import type { WorkspaceCaps } from '@assay/model/token'

export interface ProcessorUse {
  workspace_id: string
  /** hourOf (caps.ts): "2026-03-04T05". */
  hour: string
  /** Milliseconds. */
  ms: number
}

/** What a workspace took in an hour, and its own caps. */
export type WorkspaceUse = Omit<ProcessorUse, 'hour'> &
  Pick<WorkspaceCaps, 'max_processor_seconds' | 'max_spill_bytes'>

export interface ProcessorUseStore {
  /** Adds to what was counted before; workspaces that are gone are passed over. */
  countProcessorUse(counts: ProcessorUse[]): Promise<void>
  /** Of one hour; workspaces that are not there are left out. */
  readProcessorUse(input: { workspace_ids: string[]; hour: string }): Promise<WorkspaceUse[]>
}
