/**
 * Uploads in a folder: of this machine, or one that all nodes share (NFS). One folder below it for each workspace, and in
 * it the files under their own names. A file comes in beside them, is synced, then renamed into its place: at any moment,
 * after any crash, a name stands for one whole file or for none. Links are never followed and never listed.
 */
import { constants } from 'node:fs'
import {
  type FileHandle,
  link,
  lstat,
  mkdir,
  open,
  readdir,
  realpath,
  rename,
  rm,
  rmdir,
  unlink,
} from 'node:fs/promises'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { AppError } from '@assay/model/errors'
import {
  type FileRoots,
  mediaTypeOf,
  type RemoteRoots,
  type StoredFile,
  UPLOADS,
  vetUploadPath,
} from '@assay/model/file'
import { KeyedSemaphore } from '@assay/net/semaphore'
import { processFolder } from '../runtime/home.ts'
import { Arrivals } from './arrivals.ts'
import {
  type Arrival,
  type ByteRange,
  type Conditions,
  FILES_MOST,
  type Files,
  type Limits,
  type OpenFile,
  type Staged,
  vetConditions,
  vetQuota,
} from './files.ts'
import { storageError } from './receive.ts'

/** No workspace can bear the name. */
const INCOMING = '.incoming'
/** Between making a folder and renaming into it another may have removed it, as it was empty. */
const TRIES = 5

interface About {
  size: bigint
  mtimeMs: bigint
  mtimeNs: bigint
  ino: bigint
}

/** Each content comes as a file of its own, so that its number and time of change tell it from every other. */
function viewOf(file: string, { size, mtimeMs, mtimeNs, ino }: About): StoredFile {
  return {
    path: file,
    file: UPLOADS + file,
    bytes: Number(size),
    media_type: mediaTypeOf(file),
    updated_at: new Date(Number(mtimeMs)).toISOString(),
    etag: `"${mtimeNs.toString(36)}-${size.toString(36)}-${ino.toString(36)}"`,
  }
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''
const byPath = (a: StoredFile, b: StoredFile): number => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)

export class FolderFiles implements Files {
  readonly #folder: string
  readonly limits: Limits
  readonly #remote: RemoteRoots
  /** Conditions and the quota hold until the file is in its place. */
  readonly #semaphore = new KeyedSemaphore()
  readonly #arrivals = new Arrivals((workspace_id) => this.list(workspace_id))
  #staging: Promise<string> | null = null

  constructor(folder: string, limits: Limits, remote: RemoteRoots) {
    this.#folder = folder
    this.#remote = remote
    this.limits = limits
  }

  async staging(): Promise<string> {
    this.#staging ??= processFolder(path.join(this.#folder, INCOMING), { shared: true }).catch(
      (error: unknown) => {
        this.#staging = null
        throw storageError(error)
      },
    )
    const folder = await this.#staging
    // Another machine may have taken it for that of a node that is gone.
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return folder
  }

  roots(workspace_id: string): Promise<FileRoots> {
    const folder = path.join(this.#folder, workspace_id)
    return Promise.resolve({ uploads: { folder, offered: [], targets: [] }, remote: this.#remote })
  }

  arrive(workspace_id: string, path: string, bytes: number, limits: Limits): Promise<Arrival> {
    return this.#arrivals.arrive(workspace_id, path, bytes, limits)
  }

  async list(workspace_id: string): Promise<StoredFile[]> {
    const root = path.join(this.#folder, workspace_id)
    const found: StoredFile[] = []
    const folders = ['']
    for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
      const entries = await readdir(path.join(root, folder), { withFileTypes: true }).catch(nothingThere)
      for (const entry of entries) {
        const file = folder === '' ? entry.name : `${folder}/${entry.name}`
        if (entry.isDirectory()) folders.push(file)
        else if (entry.isFile() && vetUploadPath(file) === null && found.length <= FILES_MOST) {
          const about = await lstat(path.join(root, file), { bigint: true }).catch(() => null)
          if (about) found.push(viewOf(file, about))
        }
      }
    }
    return found.toSorted(byPath)
  }

  async find(workspace_id: string, file: string): Promise<StoredFile | null> {
    const opened = await this.open(workspace_id, file)
    await opened?.close()
    return opened?.about ?? null
  }

  async open(workspace_id: string, file: string): Promise<OpenFile | null> {
    const target = await this.#locate(workspace_id, file)
    if (target === null) return null
    const handle = await open(target, constants.O_RDONLY | constants.O_NOFOLLOW).catch(noSuchFile)
    if (handle === null) return null
    const about = await handle.stat({ bigint: true })
    if (!about.isFile()) {
      await handle.close()
      return null
    }
    return {
      about: viewOf(file, about),
      read: (range) => Promise.resolve(streamOf(handle, range)),
      close: () => handle.close(),
    }
  }

  put(
    workspace_id: string,
    file: string,
    staged: Staged,
    conditions: Conditions,
    limits: Limits,
  ): Promise<{ file: StoredFile; isNew: boolean }> {
    return this.#semaphore.run(workspace_id, 1, async () => {
      const present = await this.list(workspace_id)
      const found = present.find((one) => one.path === file) ?? null
      vetConditions(found, conditions)
      vetQuota(present, file, staged.bytes, limits)
      await this.#locate(workspace_id, file)
      const target = path.join(this.#folder, workspace_id, file)
      await this.#move(staged.file, target, conditions.noneMatch === '*')
      await this.#syncFolders(target)
      const about = await lstat(target, { bigint: true })
      return { file: viewOf(file, about), isNew: found === null }
    })
  }

  remove(workspace_id: string, file: string, conditions: Conditions): Promise<boolean> {
    return this.#semaphore.run(workspace_id, 1, async () => {
      const found = await this.find(workspace_id, file)
      vetConditions(found, conditions)
      if (found === null) return false
      const root = path.join(this.#folder, workspace_id)
      await unlink(path.join(root, file)).catch(noSuchFile)
      for (let folder = path.dirname(file); folder !== '.'; folder = path.dirname(folder)) {
        const removed = await rmdir(path.join(root, folder)).then(
          () => true,
          () => false,
        )
        if (!removed) break
      }
      return true
    })
  }

  purge(workspace_id: string): Promise<void> {
    return this.#semaphore.run(workspace_id, 1, () =>
      rm(path.join(this.#folder, workspace_id), { recursive: true, force: true }),
    )
  }

  async close(): Promise<void> {
    const staging = await this.#staging?.catch(() => null)
    if (staging) await rm(staging, { recursive: true, force: true })
  }

  /** The absolute path, vetted: null where a link stands in the way of it or its folder is not there. */
  async #locate(workspace_id: string, file: string): Promise<string | null> {
    const root = await realpath(this.#folder).catch(noSuchFile)
    if (root === null) return null
    const own = path.join(root, workspace_id)
    const target = path.join(own, file)
    const folder = await realpath(path.dirname(target)).catch(noSuchFile)
    if (folder === null) return null
    if (folder === path.dirname(target)) return target
    throw new AppError(
      'conflict',
      `A link stands in the way of ${JSON.stringify(file)}: the operator must remove it.`,
    )
  }

  /** `exclusive`: refused where another file has come to the target, whatever node put it there. */
  async #move(from: string, target: string, exclusive: boolean): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      try {
        await mkdir(path.dirname(target), { recursive: true, mode: 0o700 })
        if (!exclusive) return await rename(from, target)
        await link(from, target)
        return await unlink(from)
      } catch (error) {
        const code = codeOf(error)
        if (code === 'ENOENT' && tries < TRIES) continue
        if (code === 'EEXIST' && exclusive && (await lstat(target).catch(() => null))?.isFile())
          throw new AppError(
            'precondition_failed',
            'The file has come to be meanwhile, and If-None-Match asks for none.',
          )
        if (['EISDIR', 'ENOTDIR', 'EEXIST', 'ENOTEMPTY'].includes(code))
          throw new AppError(
            'conflict',
            'A folder has this name, or a file has the name of one of its folders: choose another path.',
          )
        throw storageError(error)
      }
    }
  }

  /** So that the name outlives a power cut: the folder that holds it, and those above up to ours. */
  async #syncFolders(target: string): Promise<void> {
    for (
      let folder = path.dirname(target);
      folder.length >= this.#folder.length;
      folder = path.dirname(folder)
    ) {
      const handle = await open(folder, 'r')
      // Not every file system can.
      await handle.sync().catch(() => undefined)
      await handle.close()
    }
  }
}

function noSuchFile(error: unknown): null {
  if (['ENOENT', 'ENOTDIR', 'ELOOP'].includes(codeOf(error))) return null
  throw storageError(error)
}

function nothingThere(error: unknown): [] {
  noSuchFile(error)
  return []
}

function streamOf(handle: FileHandle, range: ByteRange | null): Readable {
  return handle.createReadStream({
    highWaterMark: 1 << 18,
    ...(range === null ? {} : { start: range.first, end: range.last }),
  })
}
