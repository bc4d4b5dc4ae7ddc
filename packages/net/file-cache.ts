/**
 * Copies of fetched files, for all processes of this machine that share the folder. A copy is a file, with a note beside it that
 * names it. A user of a copy makes a link to it, so that the copy may be replaced or deleted at any time. If the copies exceed
 * their bound, those used longest ago are deleted first.
 */
import { createHash, randomUUID } from 'node:crypto'
import {
  copyFile,
  link,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  utimes,
  writeFile,
} from 'node:fs/promises'
import path from 'node:path'

export interface Copy {
  bytes: number
  etag: string | null
  last_modified: string | null
  sha256: string
  modified_at: string
  media_type: string
}

export interface FileCache {
  /** Links the copy to `into` and describes it. Resolves with null if there is no copy. */
  take(identity: string, into: string): Promise<Copy | null>
  /** Makes the file at `from` the copy. */
  keep(identity: string, from: string, copy: Copy): Promise<void>
}

interface Note extends Copy {
  content: string
}

const NOTE = '.json'
const CONTENT = '.data'
/** Milliseconds after which a file without a note is deleted. The note of a newer file may still be written. */
const LEFT_MS = 3_600_000

/** Opens the cache. `most`: bytes of all copies together. */
export function createFileCache(folder: string, most: number): FileCache {
  const noteOf = (identity: string): string =>
    path.join(folder, `${createHash('sha256').update(identity).digest('hex')}${NOTE}`)

  async function readNote(file: string): Promise<Note | null> {
    try {
      return JSON.parse(await readFile(file, 'utf8')) as Note
    } catch {
      return null
    }
  }

  return {
    async take(identity, into) {
      const note = await readNote(noteOf(identity))
      if (!note) return null
      try {
        await linked(path.join(folder, note.content), into)
        if ((await stat(into)).size === note.bytes) {
          const now = new Date()
          await utimes(noteOf(identity), now, now).catch(() => undefined)
          const { content: _, ...copy } = note
          return copy
        }
      } catch {
        // The copy was deleted meanwhile, so it is fetched again.
      }
      await rm(into, { force: true })
      return null
    },

    async keep(identity, from, copy) {
      if (copy.bytes > most) return
      await mkdir(folder, { recursive: true, mode: 0o700 })
      const { bytes, etag, last_modified, sha256, modified_at, media_type } = copy
      const content = `${randomUUID()}${CONTENT}`
      await linked(from, path.join(folder, content))
      const note: Note = { bytes, etag, last_modified, sha256, modified_at, media_type, content }
      const before = await readNote(noteOf(identity))
      const draft = path.join(folder, `${randomUUID()}.draft`)
      await writeFile(draft, JSON.stringify(note), { mode: 0o600 })
      await rename(draft, noteOf(identity))
      if (before) await rm(path.join(folder, before.content), { force: true })
      await sweep(folder, most, readNote)
    },
  }
}

/** Links the file, or copies it if the file system cannot link between the two folders. */
async function linked(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EXDEV' && code !== 'EPERM' && code !== 'ENOTSUP') throw error
    await copyFile(from, to)
  }
}

/** Deletes the copies used longest ago until the rest fits, and old files without a note. */
async function sweep(
  folder: string,
  most: number,
  readNote: (file: string) => Promise<Note | null>,
): Promise<void> {
  const names = await readdir(folder)
  const notes: { file: string; note: Note; used: number }[] = []
  for (const name of names.filter((one) => one.endsWith(NOTE))) {
    const file = path.join(folder, name)
    const [note, about] = [await readNote(file), await stat(file).catch(() => null)]
    if (note && about) notes.push({ file, note, used: about.mtimeMs })
  }
  let bytes = 0
  const named = new Set<string>()
  for (const { file, note } of notes.toSorted((a, b) => b.used - a.used)) {
    bytes += note.bytes
    if (bytes > most) await rm(file, { force: true })
    else named.add(note.content)
  }
  const gone = new Set(notes.map(({ note }) => note.content).filter((content) => !named.has(content)))
  for (const name of names.filter((one) => !one.endsWith(NOTE) && !named.has(one))) {
    const file = path.join(folder, name)
    const about = await stat(file).catch(() => null)
    if (about && (gone.has(name) || Date.now() - about.mtimeMs > LEFT_MS)) await rm(file, { force: true })
  }
}
