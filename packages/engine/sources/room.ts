/** The room on disk of one task, which its texts, its sheets and the engine share. */
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { SourceError } from './source.ts'

/** A source needs more room on disk than its task has: the job ends as `limit_exceeded`. */
export class NoRoom extends SourceError {}

/** What the system counts the room of a file in. */
const BLOCK_BYTES = 512

/**
 * Bytes that the task may still write to its folder; the folder need not exist. Of a file with holes only what is written counts.
 */
export function roomLeft(bytes: number, folder: string): number {
  let used = 0
  try {
    for (const name of readdirSync(folder, { encoding: 'utf8', recursive: true })) {
      const { size, blocks } = statSync(path.join(folder, name))
      used += Math.min(size, blocks * BLOCK_BYTES)
    }
  } catch {
    // Nothing was written yet, or the engine has just removed a file.
  }
  return Math.max(0, bytes - used)
}
