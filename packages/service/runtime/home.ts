/** The home: the folder that holds a service's state, and the key that seals its secrets. */
import { randomBytes } from 'node:crypto'
import {
  access,
  constants,
  link,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
} from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'
import { parseKeys } from './secrets.ts'

/** Makes the folder of the home. Throws if this process cannot write to it. */
export async function makeHome(home: string): Promise<void> {
  await makeFolder(home)
  await access(home, constants.W_OK | constants.X_OK)
}

/**
 * Makes the folder and its parents, one by one. Node's recursive mkdir never ends in a folder such as /proc that
 * allows no new folder.
 */
export async function makeFolder(folder: string): Promise<void> {
  const about = async (file: string) => stat(file).catch(() => null)
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await about(folder))?.isDirectory()) return
    const parent = path.dirname(folder)
    if (code !== 'ENOENT' || (await about(parent)) !== null) throw error
    await makeFolder(parent)
    await makeFolder(folder)
  }
}

/** Returns the path of the file that holds the keys of the secrets, one a line. The first key seals. */
export const keyFileOf = (home: string): string => path.join(home, 'secret.key')

/**
 * Returns the keys in `secret.key`. The first start makes one. The file is written and synced under another name and
 * then linked. So nobody reads half a key, and one of two processes that start at once wins.
 */
export async function homeKeys(home: string): Promise<Buffer[]> {
  const file = keyFileOf(home)
  const kept = await readKeys(file)
  if (kept) return kept
  const draft = `${file}.${randomBytes(8).toString('hex')}`
  const handle = await open(draft, 'wx', 0o600)
  try {
    await handle.writeFile(`${randomBytes(32).toString('hex')}\n`)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await link(draft, file).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(draft)
  const made = await readKeys(file)
  if (!made) throw new Error(`${file} vanished while it was made.`)
  return made
}

/** Replaces the keys of the home. A killed process leaves either all old keys or all new ones. */
export async function writeKeys(home: string, keys: readonly Buffer[]): Promise<void> {
  const file = keyFileOf(home)
  const draft = `${file}.${randomBytes(8).toString('hex')}`
  const handle = await open(draft, 'wx', 0o600)
  try {
    await handle.writeFile(keys.map((key) => `${key.toString('hex')}\n`).join(''))
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(draft, file)
  const folder = await open(home, 'r')
  await folder.sync().catch(() => undefined)
  await folder.close()
}

/** Reads the keys of a file. Returns null if there is no such file. */
export async function readKeys(file: string): Promise<Buffer[] | null> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  try {
    return parseKeys(text)
  } catch (error) {
    throw new Error(`${file} does not hold 64 hex digits (a key a line): put the right file back.`, {
      cause: error,
    })
  }
}

/** Returns the folder for what analyses spill. Each process below the same `root` has one. */
export function workFolder(root: string): Promise<string> {
  return processFolder(root)
}

const OLD_MS = 86_400_000

/**
 * Makes a folder of this process below `root`, and deletes those of killed processes of this machine. `shared`: also deletes
 * folders unchanged for a day, which a lost machine may have left; a process that uses its folder after a pause makes it again.
 */
export async function processFolder(root: string, { shared = false } = {}): Promise<string> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  for (const name of await readdir(root)) {
    const folder = path.join(root, name)
    const [, host, pid] = /^(.+)-(\d+)-[^-]+$/.exec(name) ?? []
    const left = host === hostname() ? !isAnother(Number(pid)) : shared && (await isOld(folder))
    if (left) await rm(folder, { recursive: true, force: true })
  }
  return mkdtemp(path.join(root, `${hostname()}-${process.pid}-`))
}

async function isOld(folder: string): Promise<boolean> {
  const about = await stat(folder).catch(() => null)
  return about !== null && Date.now() - about.mtimeMs > OLD_MS
}

/** Tells whether another process has this id now. A folder with our own id is that of an earlier process. */
function isAnother(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
