/** The types that the readers of files share. */
import type { FormatName } from '@assay/model/file'

/** A file to read, resolved. */
export interface SourceFile {
  /** As written in the template, or as the pattern found it below the data folder. */
  path: string
  /** Absolute, without links. */
  real: string
  bytes: number
  modified_at: string
  /** Null for the job's own copy, which cannot change. */
  modified_ns: bigint | null
  /** Set if the server gave one. */
  etag?: string
  /** Set if it is already known. */
  sha256?: string
  /** Set if the name does not show it. */
  format?: FormatName
  /** Of a part of a Parquet file: that of the whole file. */
  fingerprint?: string
  /** The columns that the names of all files of the source tell, and their types. */
  partition_types?: Readonly<Record<string, string>>
}
