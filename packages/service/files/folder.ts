/**
 * Uploads in a folder of this machine, or in one that all nodes share (NFS). It has a folder for each workspace, with the files
 * under their own names. An upload arrives beside them, is synced, and is renamed to its path: at any moment and after any
 * crash a path holds one whole file or none. Links are never followed and never listed.
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
import { type Conditions, vetConditions } from '@assay/model/entity-tag'
import { AppError } from '@assay/model/errors'
import { type FileRoots, type RemoteRoots, type StoredFile, vetUploadPath } from '@assay/model/file'
import { KeyedSemaphore } from '@assay/net/semaphore'
import { processFolder } from '../runtime/home.ts'
import { Arrivals } from './arrivals.ts'
import {
  type Arrival,
  type ByteRange,
  byPath,
  FILES_MOST,
  type Files,
  type Limits,
  type OpenFile,
  removeStaging,
  type Staged,
  storedFile,
  vetPut,
} from './files.ts'
import { ownCache } from './own-cache.ts'
import { storageError } from './receive.ts'

/** The folder of uploads under way. No workspace can have this name. */
const INCOMING = '.incoming'
/** Tries of a move. Another request may remove an empty folder between its creation and the rename into it. */
const TRIES = 5

interface About {
  size: bigint
  mtimeMs: bigint
  mtimeNs: bigint
  ino: bigint
}

/** Describes a file. Each content is a file of its own, so inode and time of change identify it. */
function viewOf(file: string, { size, mtimeMs, mtimeNs, ino }: About): StoredFile {
  return storedFile(file, {
    bytes: Number(size),
    updated_at: new Date(Number(mtimeMs)).toISOString(),
    etag: `"${mtimeNs.toString(36)}-${size.toString(36)}-${ino.toString(36)}"`,
  })
}

const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? ''

export class FolderFiles implements Files {
  readonly #folder: string
  readonly limits: Limits
  readonly #remote: RemoteRoots
  /** Holds the path while the conditions and the quota are checked and the file is moved. */
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
    // Another machine may have removed the folder as that of a lost node.
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return folder
  }

  roots(workspace_id: string): Promise<FileRoots> {
    const folder = path.join(this.#folder, workspace_id)
    return Promise.resolve({
      uploads: { folder, offered: [], targets: [] },
      remote: ownCache(this.#remote, workspace_id),
    })
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
      const found = vetPut(present, file, staged, conditions, limits)
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
      vetConditions('file', found?.etag ?? null, conditions)
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
    await removeStaging(this.#staging)
  }

  /**
   * The absolute path of a file. Returns null if its folder does not exist. Throws `conflict` if a link is part of the
   * path.
   */
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
      `A link is part of the path ${JSON.stringify(file)}: the operator must remove it.`,
    )
  }

  /** Moves a file to its path. `exclusive`: throws `precondition_failed` if a file is there, whichever node put it there. */
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
            'The file was created meanwhile, and If-None-Match requires that it does not exist.',
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

  /** Syncs the folder of a file and its parents up to ours, so that the name survives a power cut. */
  async #syncFolders(target: string): Promise<void> {
    for (
      let folder = path.dirname(target);
      folder.length >= this.#folder.length;
      folder = path.dirname(folder)
    ) {
      const handle = await open(folder, 'r')
      // Some file systems cannot sync a folder.
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
