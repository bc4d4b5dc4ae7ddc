/**
 * The compile cache of processes behind walls. They may only read it, because a process would run what another one
 * wrote there. So a process with the same walls and flags fills it, without a task and without data, before the first
 * of them starts. It does so once for each change of the program, and takes about a second.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { walled } from '../jail/jail.ts'

const FILLER = path.join(import.meta.dirname, `../child/fill-cache${path.extname(import.meta.filename)}`)
const ENGINE = path.join(import.meta.dirname, '../..')
const MOST_MS = 30_000

/** Returns when the program (the engine and the packages that it imports) last changed, in milliseconds. */
function changed(): number {
  const folders = ['.', '../model', '../net', '../shared']
    .map((name) => path.join(ENGINE, name))
    .filter(existsSync)
  const files = folders.flatMap((folder) =>
    readdirSync(folder, { encoding: 'utf8', recursive: true }).map((file) => path.join(folder, file)),
  )
  return files.reduce((latest, file) => Math.max(latest, statSync(file).mtimeMs), 0)
}

/** Returns the file that notes for which change of the program the cache is filled with these flags. */
function noteOf(cache: string, flags: readonly string[]): string {
  const key = [process.version, FILLER, ...flags].join('\n')
  return path.join(cache, `assay-${createHash('sha256').update(key).digest('hex').slice(0, 16)}`)
}

/** Tells whether the folder exists and this process may write to it. */
function canWrite(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true })
    accessSync(folder, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/**
 * Fills the cache for walled processes with these flags of Node, unless it is filled. A cache that cannot be written stays
 * as it is: processes then compile what they load. Returns whether it started a process.
 */
export function fillCompileCache(
  env: NodeJS.ProcessEnv & { NODE_COMPILE_CACHE: string },
  flags: readonly string[],
  temp: string,
): boolean {
  const cache = env.NODE_COMPILE_CACHE
  const note = noteOf(cache, flags)
  const filledUntil = statSync(note, { throwIfNoEntry: false })?.mtimeMs ?? 0
  if (filledUntil >= changed() || !canWrite(cache)) return false
  const folders = [{ path: cache, writable: true }]
  const [file, args] = walled([process.execPath, ...flags, FILLER], { folders, temp, cache })
  const { signal } = spawnSync(file, args, { env, stdio: 'ignore', timeout: MOST_MS, killSignal: 'SIGKILL' })
  // A process that failed would fail again, so only a killed one is tried again.
  if (signal === null) writeFileSync(note, '')
  rmSync(temp, { recursive: true, force: true })
  return true
}
