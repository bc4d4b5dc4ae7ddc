/**
 * The contract of the storage of uploads: a folder (shared by several nodes) or a bucket. Each workspace has its own files. A
 * file appears whole or not at all. A reader of a file that is being replaced reads the earlier content.
 */
import { rm } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { type Conditions, vetConditions } from '@assay/model/entity-tag'
import { AppError } from '@assay/model/errors'
import { type FileAccess, mediaTypeOf, otherCapitals, type StoredFile, UPLOADS } from '@assay/model/file'

/** A whole and sound upload on this node's disk, synced, under a temporary name. */
export interface Staged {
  file: string
  bytes: number
  /** The hash in hex digits. */
  sha256: string
}

export interface ByteRange {
  first: number
  last: number
}

/** An open file. Reads give the content that `about` describes, even if the file is replaced meanwhile. */
export interface OpenFile {
  about: StoredFile
  /** Streams a range; null: the whole file. */
  read(range: ByteRange | null): Promise<Readable>
  /** Closes a file that is not read. */
  close(): Promise<void>
}

export interface Limits {
  /** The most bytes of one file. */
  file: number
  /** The most bytes of all files of a workspace together. */
  quota: number
}

/** An upload under way. It counts against the quota before it is stored. */
export interface Arrival {
  /** Reports the bytes that have arrived. Throws `payload_too_large` or `quota_exceeded`. */
  admit(bytes: number): Promise<void>
  /** Ends the upload, whether it was stored or not. */
  end(): void
}

/** Methods throw AppError: `precondition_failed`, `conflict`, `quota_exceeded`, `store_unavailable`. */
export interface Files extends FileAccess {
  /** The limits of workspaces without limits of their own. */
  readonly limits: Limits
  /** Begins an upload. Throws if there is no room for the first `bytes` of a file at the path. */
  arrive(workspace_id: string, path: string, bytes: number, limits: Limits): Promise<Arrival>
  /** The folder on this machine for uploads under way. It exists when the promise resolves. */
  staging(): Promise<string>
  /** Lists all files, by path in the order of code units. */
  list(workspace_id: string): Promise<StoredFile[]>
  find(workspace_id: string, path: string): Promise<StoredFile | null>
  open(workspace_id: string, path: string): Promise<OpenFile | null>
  /** Moves the staged file to its path. Throws `precondition_failed`, `conflict` or `quota_exceeded`. */
  put(
    workspace_id: string,
    path: string,
    staged: Staged,
    conditions: Conditions,
    limits: Limits,
  ): Promise<{ file: StoredFile; isNew: boolean }>
  /** Deletes a file. Returns false if it does not exist. */
  remove(workspace_id: string, path: string, conditions: Conditions): Promise<boolean>
  /** Removes every file of a workspace. */
  purge(workspace_id: string): Promise<void>
  close(): Promise<void>
}

export const byPath = (a: StoredFile, b: StoredFile): number =>
  a.path < b.path ? -1 : a.path > b.path ? 1 : 0

/** Describes a file of a workspace as the API and templates name it. */
export function storedFile(
  path: string,
  about: Pick<StoredFile, 'bytes' | 'updated_at' | 'etag'>,
): StoredFile {
  return { path, file: UPLOADS + path, media_type: mediaTypeOf(path), ...about }
}

/** The most files of a workspace. Each list reads all of them. */
export const FILES_MOST = 10_000

/** Throws `quota_exceeded` if a file of `bytes` bytes at the path exceeds the quota. Returns the largest size it may have. */
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
      `The other files of the workspace, with its uploads under way, have ${used} of ${quota} bytes, so ${bytes} more do not fit: delete some first.`,
    )
  return quota - used
}

/** Throws if the conditions, the quota or a file with other capitals do not allow the staged file at the path. Returns the file that it replaces. */
export function vetPut(
  present: readonly StoredFile[],
  path: string,
  staged: Staged,
  conditions: Conditions,
  limits: Limits,
): StoredFile | null {
  const found = present.find((file) => file.path === path) ?? null
  vetConditions('file', found?.etag ?? null, conditions)
  const other =
    found === null
      ? otherCapitals(
          present.map((one) => one.path),
          path,
        )
      : null
  if (other !== null)
    throw new AppError(
      'conflict',
      `"${other}" is there, which some disks take for the same: write its capitals, or choose another name.`,
    )
  vetQuota(present, path, staged.bytes, limits)
  return found
}

/** Removes the folder of uploads under way, if it was made. */
export async function removeStaging(staging: Promise<string> | null): Promise<void> {
  const folder = await staging?.catch(() => null)
  if (folder) await rm(folder, { recursive: true, force: true })
}
