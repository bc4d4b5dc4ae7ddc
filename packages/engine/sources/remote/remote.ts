/**
 * Fetches remote files: an address, a file of a web server or bucket over a connection, or an upload in a bucket. Each
 * is downloaded into the job's folder before the engine is sealed, or linked there from the cache if its server
 * confirms that it has not changed, and is then read like a local file.
 */
import { randomUUID } from 'node:crypto'
import { mkdir, rm } from 'node:fs/promises'
import path from 'node:path'
import type { OpenConnection } from '@assay/model/connection'
import {
  FILE_FORMATS,
  fileFormat,
  type OfferedFile,
  packingOf,
  type RemoteRoots,
  UPLOADS,
} from '@assay/model/file'
import { DownloadError, download, explained, type Fetched } from '@assay/net/download'
import { createFileCache } from '@assay/net/file-cache'
import { createGuard, type Guard } from '@assay/net/guard'
import { parseTargets } from '@assay/net/target'
import { partitionNames, partitionSteps, partitionTypes } from '../files/partition-names.ts'
import type { SourceFile } from '../files/source-file.ts'
import type { Probe } from '../kind.ts'
import { openSocket } from '../sockets.ts'
import { SourceError } from '../source.ts'
import type { ParquetParts } from './parquet/parts.ts'
import type { RemoteFile } from './remote-file.ts'

export interface RemoteOptions {
  remote: RemoteRoots | undefined
  /** A folder for this job alone; not created yet. */
  temp_folder: string
  signal: AbortSignal
  /** Chooses the parts of Parquet files; whole files are fetched if null or absent. */
  parts?: ParquetParts | null
}

/** The allowed targets, time and size of downloads. */
export interface Reach {
  /** The name of the connection; null for an address of a template, or for uploads in a bucket. */
  connection: string | null
  targets: readonly string[]
  ca?: string | undefined
  /** The time limit in milliseconds; null if only that of the job applies. */
  timeout_ms: number | null
  /** The limit of bytes for all files together. */
  bytes: number
}

/** A kind of connection that holds files. */
export interface FileKind {
  /** Resolves to the files that a path or a pattern names. */
  find(
    connection: OpenConnection,
    file: string,
    guard: Guard,
    { signal, parts }: Pick<RemoteOptions, 'signal' | 'parts'>,
  ): Promise<RemoteFile[]>
  /** Checks that the server answers and accepts the secrets. Resolves to a description of it. */
  probe(connection: OpenConnection, guard: Guard, signal: AbortSignal): Promise<string>
}

export function reachOf({ name, targets, options, limits }: OpenConnection): Reach {
  const ca = typeof options.ca === 'string' ? options.ca : undefined
  return { connection: name, targets, ca, timeout_ms: limits.timeout_seconds * 1000, bytes: limits.bytes }
}

/** Calls `use` with a guard and closes the guard afterwards. */
async function withGuard<T>(
  { connection, targets, ca }: Reach,
  use: (guard: Guard) => Promise<T>,
): Promise<T> {
  const guard = createGuard({
    targets: parseTargets(targets),
    open: (host, port) => openSocket({ connection, host, port, targets }),
    ...(ca === undefined ? {} : { ca: [ca] }),
  })
  try {
    return await use(guard)
  } finally {
    await guard.close()
  }
}

/** Tests a connection that holds files. */
export async function probeFiles(
  kind: FileKind,
  connection: OpenConnection,
  signal: AbortSignal,
): Promise<Probe> {
  try {
    const server = await withGuard(reachOf(connection), (guard) => kind.probe(connection, guard, signal))
    return { server, read_only: 'Files are only ever fetched: nothing but GET and HEAD is sent.' }
  } catch (error) {
    const told = explained(error, signal)
    if (!(told instanceof DownloadError)) throw told
    throw new SourceError(`The connection "${connection.name}" ${told.message}.`)
  }
}

/** Finds the files and downloads them one after the other. */
export async function fetchFiles(
  reach: Reach,
  find: (guard: Guard, signal: AbortSignal) => Promise<RemoteFile[]>,
  options: RemoteOptions,
): Promise<SourceFile[]> {
  const timeout = reach.timeout_ms === null ? null : AbortSignal.timeout(reach.timeout_ms)
  const signal = timeout ? AbortSignal.any([options.signal, timeout]) : options.signal
  try {
    return await withGuard(reach, async (guard) => {
      const found: SourceFile[] = []
      let left = reach.bytes
      const all = await find(guard, signal)
      const types = options.parts
        ? options.parts.types
        : partitionTypes(all.map(({ shown }) => partitionNames(shown)))
      for (const file of all) {
        const fetched = await fetchOne({ ...file, most: Math.min(file.most, left) }, guard, {
          ...options,
          signal,
        })
        const { came = fetched.bytes, ...known } = fetched
        left -= came
        found.push(types ? { ...known, partition_types: types } : known)
      }
      return found
    })
  } catch (error) {
    if (timeout?.aborted && !options.signal.aborted)
      throw new SourceError(`The files could not be fetched within ${reach.timeout_ms! / 1000} s.`)
    throw error
  }
}

async function fetchOne(
  file: RemoteFile,
  guard: Guard,
  { remote, temp_folder, signal, parts }: RemoteOptions,
): Promise<SourceFile & { came?: number }> {
  const name = decodeURIComponent(new URL(file.url).pathname.split('/').at(-1) ?? '')
  const packing = packingOf(name)
  // The engine reads columns from the names of folders.
  const steps = fileFormat(name)?.name === 'parquet' ? partitionSteps(file.shown) : []
  const folder = steps.length > 0 ? path.join(temp_folder, randomUUID(), ...steps) : temp_folder
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const into = path.join(folder, `${randomUUID()}${packing === null ? '' : `.${packing}`}`)
  const cache = remote ? createFileCache(remote.cache, remote.cache_bytes) : null
  let fetched: Fetched
  try {
    const part = parts ? await parts.fetch(file, into, { guard, signal }) : null
    if (part) return part
    await rm(into, { force: true })
    fetched = await download(file, into, { guard, cache, signal })
  } catch (error) {
    if (error instanceof DownloadError)
      throw new SourceError(`${JSON.stringify(file.shown)} ${error.message}.`)
    throw error
  }
  const format =
    fileFormat(name) ?? FILE_FORMATS.find(({ media_type }) => media_type.split(';')[0] === fetched.media_type)
  return {
    path: file.shown,
    real: into,
    bytes: fetched.bytes,
    modified_at: fetched.modified_at,
    modified_ns: null,
    sha256: fetched.sha256,
    ...(fetched.etag === null ? {} : { etag: fetched.etag }),
    ...(format ? { format: format.name } : {}),
  }
}

const GLOB = /[*?[\]{}]/
const FILES_MOST = 1000

/** Returns the item with this name, else all that match the pattern, sorted by name. */
export function pick<T>(all: readonly T[], nameOf: (one: T) => string, pattern: string): T[] {
  return vetted(picked(all, nameOf, pattern), pattern)
}

/** Returns the same as `pick`, without a limit on their number. */
export function picked<T>(all: readonly T[], nameOf: (one: T) => string, pattern: string): T[] {
  const exact = all.find((one) => nameOf(one) === pattern)
  if (exact) return [exact]
  const found = GLOB.test(pattern) ? all.filter((one) => path.posix.matchesGlob(nameOf(one), pattern)) : []
  return found.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))
}

export function vetted<T>(found: T[], pattern: string): T[] {
  if (found.length > FILES_MOST)
    throw new SourceError(
      `The pattern ${JSON.stringify(pattern)} names more than ${FILES_MOST} files: narrow it.`,
    )
  return found
}

/** Returns the fixed beginning of a pattern. */
export function prefixOf(pattern: string): string {
  const at = pattern.search(GLOB)
  return at < 0 ? pattern : pattern.slice(0, at)
}

/** Returns uploads in a bucket, by their presigned addresses. */
export function offeredFiles(all: readonly OfferedFile[], file: string): RemoteFile[] {
  return pick(all, (one) => one.path, file.slice(UPLOADS.length)).map(({ path: name, url, bytes }) => ({
    url,
    shown: UPLOADS + name,
    headers: () => Promise.resolve({}),
    identity: `upload ${url.split('?')[0]}`,
    redirects: 0,
    otherOrigins: false,
    most: bytes,
  }))
}
