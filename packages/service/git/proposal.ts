/** A change of the repository, proposed through the API. */
import type { Proposed } from './propose-change.ts'

/** A change of one file, for a branch of its own. */
export interface Proposal {
  /** Below the folder of the templates. */
  file: string
  before: string
  after: string
  branch: string
  message: string
  author: string
}

/** Pushes a branch. `unreached`: why it could not, in a sentence. */
export type Propose = (proposal: Proposal, signal: AbortSignal) => Promise<Proposed | { unreached: string }>
