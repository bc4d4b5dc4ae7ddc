/**
 * Finds the service that holds a home, by a file with its address and an admin token that is valid for this run of
 * the service. The file lies in a folder of the user, not in the home, because a home may come with a stranger's
 * folder. A file counts only if it belongs to this user and nobody else can read or write it. Its address must be on
 * this machine.
 */
import { createHash } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import path from 'node:path'
import { EXIT, ExitError } from './exit.ts'

export interface RunningServer {
  url: string
  pid: number
  token: string
}

const OTHERS = 0o077

/**
 * Returns the folders in which the file may lie, the best first. A reader tries all of them, because a service may have
 * another environment than its user.
 */
function foldersOf(environment: NodeJS.ProcessEnv): string[] {
  const { homedir, uid, username } = userInfo()
  const given = environment.XDG_RUNTIME_DIR
  return [
    ...(given && path.isAbsolute(given) ? [path.join(given, 'assay')] : []),
    path.join(homedir, '.local', 'state', 'assay'),
    path.join(tmpdir(), `assay-${uid < 0 ? username : uid}`),
  ]
}

/**
 * Tells whether this user owns the file or folder, and others have no rights to it. Windows gives no owner; its
 * folders are the user's own.
 */
function isOurs(target: string, kind: 'file' | 'folder'): boolean {
  const found = lstatSync(target, { throwIfNoEntry: false })
  if (!found || !(kind === 'file' ? found.isFile() : found.isDirectory())) return false
  return process.getuid === undefined || (found.uid === process.getuid() && (found.mode & OTHERS) === 0)
}

function nameOf(home: string): string {
  const name = createHash('sha256').update(realpathSync(home)).digest('hex').slice(0, 32)
  return `${name}.json`
}

/** Makes the folder. Returns true if it exists afterwards and is this user's alone. */
function prepare(folder: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    return isOurs(folder, 'folder')
  } catch {
    return false
  }
}

function readFile(file: string): RunningServer | null {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as RunningServer
  } catch {
    return null
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Removes the files of services that were killed. */
function removeDead(folder: string): void {
  for (const name of readdirSync(folder).filter((one) => one.endsWith('.json'))) {
    const file = path.join(folder, name)
    const server = readFile(file)
    if (!server || !isAlive(server.pid)) rmSync(file, { force: true })
  }
}

/** Returns the address on this machine of a service that listens on every address. */
function localUrl(url: string): string {
  const local = new URL(url)
  if (local.hostname === '0.0.0.0') local.hostname = '127.0.0.1'
  if (local.hostname === '[::]') local.hostname = '[::1]'
  return local.origin
}

/** Returns the file's path; null if the user has no folder to write to. */
export async function writeServerFile(
  home: string,
  server: RunningServer,
  environment: NodeJS.ProcessEnv,
): Promise<string | null> {
  const folder = foldersOf(environment).find(prepare)
  if (folder === undefined) return null
  removeDead(folder)
  const file = path.join(folder, nameOf(home))
  const draft = `${file}.${process.pid}`
  await writeFile(draft, `${JSON.stringify({ ...server, url: localUrl(server.url) })}\n`, { mode: 0o600 })
  await rename(draft, file)
  return file
}

/** Removes a file of this process. */
export async function removeServerFile(file: string): Promise<void> {
  if (readFile(file)?.pid === process.pid) await rm(file, { force: true })
}

function isLoopback(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  const local = hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
  return local && (protocol === 'http:' || protocol === 'https:')
}

/** Returns what the file of a home says. Null if it cannot be trusted or its process has ended. */
export function readServerFile(home: string, environment: NodeJS.ProcessEnv): RunningServer | null {
  if (!lstatSync(home, { throwIfNoEntry: false })) return null
  const name = nameOf(home)
  for (const folder of foldersOf(environment)) {
    const file = path.join(folder, name)
    if (!isOurs(folder, 'folder') || !isOurs(file, 'file')) continue
    const server = readFile(file)
    if (server && isAlive(server.pid)) return server
  }
  return null
}

/**
 * Returns the service that holds the home, if it is alive and answers. Throws ExitError if it does not listen on this
 * machine alone.
 */
export async function findServer(
  home: string,
  environment: NodeJS.ProcessEnv,
): Promise<RunningServer | null> {
  const server = readServerFile(home, environment)
  if (!server) return null
  if (!isLoopback(server.url))
    throw new ExitError(
      EXIT.unavailable,
      `The service on ${home} listens on ${server.url}, not on 127.0.0.1: set ASSAY_URL to that address, and ASSAY_TOKEN.`,
    )
  const health = await fetch(new URL('/healthz', server.url), { signal: AbortSignal.timeout(5000) }).catch(
    () => null,
  )
  return health?.ok ? server : null
}
