/**
 * What a kind of source is. `attach` runs while the engine is still open, in trusted statements: afterwards the rows
 * are there under the source's name, as a table or as a view over the paths that it asks to keep readable.
 */
import type { Column, SourceLineage } from '@assay/model/insight'
import type { Roots } from '../run/protocol.ts'

export interface Attachment {
  name: string
  /** The line of the source in the template. */
  line: number
  /** Liquid over `vars` already filled in. */
  file: string
  /** Types declared for columns. */
  columns: Record<string, string>
  roots: Roots
  /** How many blocks read it: what is read once and large is scanned, all else is loaded. */
  readers: number
  /** True to learn the columns only: nothing is loaded, hashed or counted. */
  peek: boolean
}

export interface Attached {
  columns: Column[]
  lineage: SourceLineage
  /** The paths that its view reads. */
  paths: string[]
  /** Rejects with SourceError where a file that is read as the blocks run has changed since. */
  verify(): Promise<void>
}

/** The source cannot be read: the job ends as `source_unavailable` with this sentence. It holds no absolute path. */
export class SourceError extends Error {}

/** The parent asked to stop. */
export class Stopped extends Error {}
