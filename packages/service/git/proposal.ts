/** A change of the repository, proposed through the API. */
import type { Proposed } from './propose-change.ts'

/** A change of one file, for a branch of its own. */
export interface Proposal {
  /** The path of the file below the folder of the templates. */
  file: string
  before: string
  after: string
  branch: string
  message: string
  author: string
}

/** Pushes a branch. `unreached` is a sentence on why the push failed. */
export type Propose = (proposal: Proposal, signal: AbortSignal) => Promise<Proposed | { unreached: string }>
