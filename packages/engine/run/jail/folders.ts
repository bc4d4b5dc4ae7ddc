/** Lists the folders that a task reads and writes, and tells whether a walled process sees them. */
import { existsSync, mkdirSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import path from 'node:path'
import type { Task } from '../protocol.ts'
import { type Folder, identityOf } from './jail.ts'

/** Returns the folders of the task's roots. The folder of fetched copies is writable. */
export function foldersOf(task: Task): Folder[] {
  if (!('roots' in task)) return []
  const { data, uploads, remote, fixtures } = task.roots
  return [
    ...(data === null ? [] : [{ path: data, writable: false }]),
    ...(uploads?.folder ? [{ path: uploads.folder, writable: false }] : []),
    ...(remote ? [{ path: remote.cache, writable: true }] : []),
    ...(fixtures ? [{ path: fixtures.folder, writable: false }] : []),
  ]
}

const isWithin = (folder: string, other: string): boolean =>
  folder === other || folder.startsWith(other.endsWith('/') ? other : `${other}/`)

/** The folders that a process sees, each with the identity that it had when the process came to see it. */
export class View {
  readonly folders: readonly Folder[]
  readonly #seen: ReadonlyMap<string, string | null>

  constructor(folders: readonly Folder[]) {
    this.folders = folders.filter(({ path }) => identityOf(path) !== null)
    this.#seen = new Map(this.folders.map(({ path }) => [path, identityOf(path)]))
  }

  /** Tells whether all of `wanted` are seen, as they are now. A folder that does not exist is not missed. */
  covers(wanted: readonly Folder[]): boolean {
    return wanted.every(({ path, writable }) => {
      if (identityOf(path) === null) return true
      const holder = this.folders.find((one) => isWithin(path, one.path) && (one.writable || !writable))
      return holder !== undefined && this.#seen.get(holder.path) === identityOf(holder.path)
    })
  }

  /** Tells whether the view holds only folders that are wanted. */
  isOnly(wanted: readonly Folder[]): boolean {
    return this.folders.every(({ path }) => wanted.some((one) => one.path === path))
  }
}

/**
 * Returns the folders that a process keeps. A folder that is taken away takes those below it along, so the temporary
 * folder is kept explicitly.
 */
export function withTemp(kept: readonly Folder[], had: readonly Folder[], temp: string): readonly Folder[] {
  return had.some(({ path }) => isWithin(temp, path)) ? [...kept, { path: temp, writable: true }] : kept
}

/** Makes a folder in an existing one. */
export function makeFolder(folder: string): void {
  if (existsSync(path.dirname(folder)) && !existsSync(folder)) mkdirSync(folder, { mode: 0o700 })
}

/** Removes the folder. DuckDB creates it when it first spills and removes it with its engine, so it rarely exists. */
export async function removeFolder(folder: string): Promise<void> {
  if (existsSync(folder)) await rm(folder, { recursive: true, force: true }).catch(() => undefined)
}
