/** Measures the room on disk of one task, which its texts, its sheets and the engine share. */
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { SourceError } from './source.ts'

/** Says that a source needs more room on disk than its task has. The job ends as `limit_exceeded`. */
export class NoRoom extends SourceError {}

/** The bytes of the blocks in which the system counts the room of a file. */
const BLOCK_BYTES = 512

/**
 * Returns the bytes that the task may still write to its folder. The folder need not exist. Only the written part of a
 * file with holes counts.
 */
export function roomLeft(bytes: number, folder: string): number {
  let used = 0
  try {
    for (const name of readdirSync(folder, { encoding: 'utf8', recursive: true })) {
      const { size, blocks } = statSync(path.join(folder, name))
      used += Math.min(size, blocks * BLOCK_BYTES)
    }
  } catch {
    // The folder or the file is missing: nothing was written yet, or the engine has just removed a file.
  }
  return Math.max(0, bytes - used)
}
