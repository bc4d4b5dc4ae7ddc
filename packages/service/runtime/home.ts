/** The home: the folder that holds a service's state, and the key that seals its secrets. */
import { randomBytes } from 'node:crypto'
import { access, constants, link, mkdir, mkdtemp, open, readdir, readFile, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import path from 'node:path'

/** Throws where it cannot be written to. */
export async function makeHome(home: string): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 })
  await access(home, constants.W_OK | constants.X_OK)
}

/**
 * The key in `secret.key`, made at the first start: written whole and synced under another name, then linked, so that
 * of two processes that start at once one wins and nobody ever reads half a key.
 */
export async function homeKey(home: string): Promise<Buffer> {
  const file = path.join(home, 'secret.key')
  const kept = await readKey(file)
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
  const made = await readKey(file)
  if (!made) throw new Error(`${file} vanished while it was made.`)
  return made
}

async function readKey(file: string): Promise<Buffer | null> {
  let text: string
  try {
    text = await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
  if (!/^[0-9a-f]{64}\s*$/.test(text))
    throw new Error(`${file} does not hold 64 hex digits: put the right file back.`)
  return Buffer.from(text.trim(), 'hex')
}

/** For what analyses spill. Processes that share a home (on PostgreSQL they may) leave each other's alone. */
export function workFolder(home: string): Promise<string> {
  return processFolder(path.join(home, 'tmp'))
}

const OLD_MS = 86_400_000

/**
 * A folder of this process's own below `root`. What a killed process of this machine left behind goes. `shared`: so does
 * what nobody has touched for a day, as a machine that never comes back cannot clear up: who uses such a folder after a
 * pause makes it again.
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

/** Whether another process bears this id now. A folder that bears our own is our predecessor's. */
function isAnother(pid: number): boolean {
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
