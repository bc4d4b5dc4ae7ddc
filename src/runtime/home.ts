/** The home: the folder that holds a service's state, and the key that seals its secrets. */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readFile, rm } from 'node:fs/promises'
import path from 'node:path'

export async function makeHome(home: string): Promise<void> {
  await mkdir(home, { recursive: true, mode: 0o700 })
}

/**
 * The key in `secret.key`, made at the first start: written whole and synced under another name, then linked, so that
 * of two processes that start at once one wins and nobody ever reads half a key.
 */
export async function homeKey(home: string): Promise<Buffer> {
  const file = path.join(home, 'secret.key')
  const kept = await readKey(file)
  if (kept) return kept
  const draft = path.join(home, `secret.key.${process.pid}`)
  const handle = await open(draft, 'w', 0o600)
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
