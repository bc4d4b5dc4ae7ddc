/**
 * Reads texts that clients wrote without delaying other requests. Cached texts are not read again, short ones are read
 * at once, and all others by an analysis process of the workspace.
 */
import { TaskError } from '@assay/engine/run/pool'
import { AppError } from '@assay/model/errors'
import type { LRUCache } from 'lru-cache'

interface Reading<Text, Head extends object> {
  kept: LRUCache<string, Head>
  /** Returns the key under which a reading is cached. */
  keyOf(text: Text): string
  /** Returns the characters of a text. */
  lengthOf(text: Text): number
  /** Returns the judge of the texts of one call, in their order. It tells whether the next text is read at once. */
  atOnce(): (text: Text) => boolean
  readHere(text: Text): Head
  /** Reads texts in an analysis process. The readings are in the order of the texts. */
  readThere(texts: Text[], workspace_id: string): Promise<Head[]>
  /** The most characters of one task. */
  most: number
}

/** Returns a function that reads texts. The readings are in their order. It rejects as `readThere` does. */
export function createReadings<Text, Head extends object>({
  kept,
  keyOf,
  lengthOf,
  atOnce,
  readHere,
  readThere,
  most,
}: Reading<Text, Head>): (texts: readonly Text[], workspace_id: string) => Promise<Head[]> {
  return async (texts, workspace_id) => {
    const isRead = atOnce()
    const heads = new Map<Text, Head>()
    const groups: Text[][] = []
    let room = 0
    const keep = (text: Text, head: Head): void => {
      kept.set(keyOf(text), head, { size: lengthOf(text) + 1 })
      heads.set(text, head)
    }
    for (const text of texts) {
      const known = kept.get(keyOf(text))
      if (known) heads.set(text, known)
      else if (isRead(text)) keep(text, readHere(text))
      else {
        room -= lengthOf(text)
        if (room < 0) {
          groups.push([])
          room = most - lengthOf(text)
        }
        groups.at(-1)!.push(text)
      }
    }
    for (const group of groups) {
      const read = await readThere(group, workspace_id)
      for (const [index, head] of read.entries()) keep(group[index]!, head)
    }
    return texts.map((text) => heads.get(text)!)
  }
}

/** A text whose author must mend it: it takes too long to read, or ends the process that reads it. */
export const unreadable =
  (noun: 'metric' | 'template') =>
  (error: unknown): never => {
    if (!(error instanceof TaskError)) throw error
    throw new AppError('preview_failed', `The ${noun} could not be read: ${error.message}`, { cause: error })
  }
