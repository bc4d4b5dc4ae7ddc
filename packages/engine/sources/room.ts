/** The room on disk of one task, which its texts, its sheets and the engine share. */
import { readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { SourceError } from './source.ts'

/** A source needs more room on disk than its task has: the job ends as `limit_exceeded`. */
export class NoRoom extends SourceError {}

/** Bytes that the task may still write to its folder, in which there are no others; the folder need not exist. */
export function roomLeft(bytes: number, folder: string): number {
  let used = 0
  try {
    for (const name of readdirSync(folder)) used += statSync(path.join(folder, name)).size
  } catch {
    // Nothing was written yet, or the engine has just removed a file.
  }
  return Math.max(0, bytes - used)
}
