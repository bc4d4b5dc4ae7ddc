/**
 * The contract of where uploads lie: a folder (shared, where there are several nodes) or a bucket. Each workspace has its
 * own; a file appears whole or not at all, and whoever reads one meanwhile reads the one before.
 */
import type { Readable } from 'node:stream'
import { AppError } from '@assay/model/errors'
import type { FileAccess, StoredFile } from '@assay/model/file'

/** A file that has come in whole and was found sound: on this node's disk, under a name of its own, synced. */
export interface Staged {
  file: string
  bytes: number
  /** Hex digits. */
  sha256: string
}

/** The headers If-Match and If-None-Match, null where they were not sent. */
export interface Conditions {
  match: string | null
  noneMatch: string | null
}

export interface ByteRange {
  first: number
  last: number
}

/** A file to be read: the content that `about` tells of, even where it is replaced meanwhile. */
export interface OpenFile {
  about: StoredFile
  /** Null: all of it. */
  read(range: ByteRange | null): Promise<Readable>
  /** For what was opened and not read. */
  close(): Promise<void>
}

export interface Limits {
  /** Bytes of one file. */
  file: number
  /** Bytes of all files of a workspace together. */
  quota: number
}

/** A file on its way: it takes up room before it is there. */
export interface Arrival {
  /** So many bytes have come. Throws `payload_too_large` or `quota_exceeded`. */
  admit(bytes: number): Promise<void>
  /** It is there, or never will be. */
  end(): void
}

/** Methods throw AppError: `precondition_failed`, `conflict`, `quota_exceeded`, `store_unavailable`. */
export interface Files extends FileAccess {
  /** Where a workspace has none of its own. */
  readonly limits: Limits
  /** Throws where there is no room for the first `bytes` of a file at the path. */
  arrive(workspace_id: string, path: string, bytes: number, limits: Limits): Promise<Arrival>
  /** A folder on this machine where a file comes in; there when it is answered. */
  staging(): Promise<string>
  /** By path, in the order of code units. */
  list(workspace_id: string): Promise<StoredFile[]>
  find(workspace_id: string, path: string): Promise<StoredFile | null>
  open(workspace_id: string, path: string): Promise<OpenFile | null>
  /** Puts what was staged into its place, which takes it from the staging folder. */
  put(
    workspace_id: string,
    path: string,
    staged: Staged,
    conditions: Conditions,
    limits: Limits,
  ): Promise<{ file: StoredFile; isNew: boolean }>
  /** False: there is none. */
  remove(workspace_id: string, path: string, conditions: Conditions): Promise<boolean>
  /** Removes every file of a workspace. */
  purge(workspace_id: string): Promise<void>
  close(): Promise<void>
}

/** So many files may a workspace have: lists are made anew at each look. */
export const FILES_MOST = 10_000

function names(header: string, etag: string): boolean {
  return header.trim() === '*' || header.split(',').some((part) => part.trim() === etag)
}

/** Throws where the file that is there (null: none is) does not meet the conditions. */
export function vetConditions(found: StoredFile | null, { match, noneMatch }: Conditions): void {
  if (match !== null && (found === null || !names(match, found.etag)))
    throw new AppError(
      'precondition_failed',
      found === null
        ? 'There is no such file, and If-Match asks for one.'
        : `The file is not the one that If-Match names: it has the ETag ${found.etag} now.`,
    )
  if (noneMatch !== null && found !== null && names(noneMatch, found.etag))
    throw new AppError(
      'precondition_failed',
      `The file is there, with the ETag ${found.etag}, and If-None-Match asks for none.`,
    )
}

/** Throws where a file of so many bytes at the path would be one too many or too much; else how large it may be. */
export function vetQuota(
  present: readonly Pick<StoredFile, 'path' | 'bytes'>[],
  path: string,
  bytes: number,
  { quota }: Limits,
): number {
  const others = present.filter((file) => file.path !== path)
  if (others.length >= FILES_MOST)
    throw new AppError('quota_exceeded', `The workspace has ${FILES_MOST} files: delete some first.`)
  const used = others.reduce((sum, file) => sum + file.bytes, 0)
  if (used + bytes > quota)
    throw new AppError(
      'quota_exceeded',
      `The other files of the workspace, with those that are coming in, have ${used} bytes of ${quota}, so ${bytes} more do not fit: delete some first.`,
    )
  return quota - used
}
