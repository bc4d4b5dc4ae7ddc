/** The processor time of workspaces, counted by hour (UTC). */
import type { WorkspaceCaps } from '@assay/model/token'

export interface ProcessorUse {
  workspace_id: string
  /** The hour as `hourOf` (caps.ts) gives it: "2026-03-04T05". */
  hour: string
  /** The processor time in milliseconds. */
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
  /** Returns the counts of one hour. Leaves out workspaces that do not exist. */
  readProcessorUse(input: { workspace_ids: string[]; hour: string }): Promise<WorkspaceUse[]>
}
