/** The processor time of workspaces, counted by hour (UTC). */
import type { WorkspaceCaps } from '@assay/model/token'

export interface ProcessorUse {
  workspace_id: string
  /** hourOf (caps.ts): "2026-03-04T05". */
  hour: string
  /** Milliseconds. */
  ms: number
}

/** The processor time that a workspace took in an hour, what its jobs and insights take, and its own caps. */
export type WorkspaceUse = Omit<ProcessorUse, 'hour'> & { stored_bytes: number } & Pick<
    WorkspaceCaps,
    'max_processor_seconds' | 'max_spill_bytes'
  >

export interface ProcessorUseStore {
  /** Adds to the counts. Ignores workspaces that are gone. */
  countProcessorUse(counts: ProcessorUse[]): Promise<void>
  /** The counts of one hour. Leaves out workspaces that do not exist. */
  readProcessorUse(input: { workspace_ids: string[]; hour: string }): Promise<WorkspaceUse[]>
}
