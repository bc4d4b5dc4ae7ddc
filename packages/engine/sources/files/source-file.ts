/** The types that the readers of files share. */
import type { FormatName } from '@assay/model/file'

/** A resolved file to read. */
export interface SourceFile {
  /** The path as written in the template, or as the pattern found it below the data folder. */
  path: string
  /** The absolute path, without links. */
  real: string
  bytes: number
  modified_at: string
  /** The time of change in nanoseconds; null for the job's own copy, which cannot change. */
  modified_ns: bigint | null
  /** The ETag, if the server gave one. */
  etag?: string
  /** The SHA-256, if it is already known. */
  sha256?: string
  /** The format, if the name does not show it. */
  format?: FormatName
  /** The fingerprint of the whole file, for a part of a Parquet file. */
  fingerprint?: string
  /** The columns that stand in the names of all files of the source, with their types. */
  partition_types?: Readonly<Record<string, string>>
}
