/** Starts the program of an analysis process, with its heap, its priority and, if the pool has walls, its view of the files. */
import { type ChildProcess, fork, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { getCompileCacheDir } from 'node:module'
import { constants, getPriority, setPriority, tmpdir } from 'node:os'
import path from 'node:path'
import { View } from '../jail/folders.ts'
import { type Folder, NICENESS, walled } from '../jail/jail.ts'
import { COLD } from '../protocol.ts'
import { fillCompileCache } from './compile-cache.ts'

/** The entry: TypeScript in the repository, JavaScript in the package that other projects install. */
const ENTRY = path.join(import.meta.dirname, `../child/child${path.extname(import.meta.filename)}`)
/** The JavaScript heap in MB. The rest of the 600 MB for Node itself is code, buffers and DuckDB's library. */
const HEAP_MB = 400
/**
 * Sets fewer threads and memory arenas, which saves 10 % of the work and 15 MB in a process that does one thing at a
 * time (measured).
 */
const ALLOCATION = { UV_THREADPOOL_SIZE: '1', MALLOC_ARENA_MAX: '2' }
/**
 * The size of a semi-space in MB, of which V8 keeps three. With 8 MB the report "brief" takes 2.9 s in place of 3.5 s
 * with 2 MB; 16 MB gain nothing more.
 */
const SEMI_SPACE_MB = 8

function environment() {
  // Node appends a subfolder to the folder that it is given.
  const own = getCompileCacheDir()
  const cache = own === undefined ? path.join(tmpdir(), 'node-compile-cache') : path.dirname(own)
  const system = process.platform === 'win32' ? { SystemRoot: process.env.SystemRoot } : {}
  return { TZ: 'UTC', NODE_COMPILE_CACHE: cache, ...ALLOCATION, ...system }
}

const FLAGS = [`--max-old-space-size=${HEAP_MB}`, `--max-semi-space-size=${SEMI_SPACE_MB}`, '--no-warnings']
/** True once this process has filled the compile cache of walled processes. */
let filled = false

/** Fills the compile cache of walled processes, which takes a second or two after a change of the program. */
export function fillOnce(tempRoot: string): void {
  if (!filled) fillCompileCache(environment(), FLAGS, path.join(tempRoot, 'fill-cache'))
  filled = true
}

export interface Launched {
  process: ChildProcess
  /** The folders that the process sees; null without walls. */
  view: View | null
  /** The folder for the temporary files of the process. */
  temp: string
}

/** Starts the program. Throws if the system has no room for another process or for its folder. */
export function launch({
  cold,
  folders,
  tempRoot,
}: {
  cold: boolean
  folders: readonly Folder[] | null
  tempRoot: string
}): Launched {
  const given = cold ? [COLD] : []
  const stdio: ('ignore' | 'pipe' | 'ipc')[] = ['ignore', 'pipe', 'pipe', 'ipc']
  const env = environment()
  if (folders === null) {
    const forked = fork(ENTRY, given, { env, execArgv: FLAGS, stdio })
    goBehind(forked.pid)
    return { process: forked, view: null, temp: tempRoot }
  }
  fillOnce(tempRoot)
  const temp = path.join(tempRoot, `process-${randomUUID()}`)
  const view = new View(folders)
  const [file, args] = walled([process.execPath, ...FLAGS, ENTRY, ...given], {
    folders: view.folders,
    temp,
    cache: env.NODE_COMPILE_CACHE,
  })
  return { process: spawn(file, args, { env, stdio }), view, temp }
}

/** Lowers the priority of a process. Its other threads start later and inherit the priority of the first. */
function goBehind(pid: number | undefined): void {
  try {
    if (pid !== undefined)
      setPriority(pid, Math.min(getPriority() + NICENESS, constants.priority.PRIORITY_LOW))
  } catch {
    // The process has ended, or the system has no priorities.
  }
}
