/**
 * Writes files below a folder that may have come from a stranger. A link in it must not lead a file, or what it
 * replaces, to another place of this machine.
 */
import { constants, existsSync, lstatSync, realpathSync } from 'node:fs'
import { mkdir, open } from 'node:fs/promises'
import path from 'node:path'
import { EXIT, ExitError } from '../../exit.ts'

/** Windows has no such flag. Its links need the rights of an administrator. */
const { O_CREAT, O_TRUNC, O_WRONLY } = constants
const O_NOFOLLOW = (constants as { O_NOFOLLOW?: number }).O_NOFOLLOW ?? 0

/** Returns the nearest folder above the file that exists, without links. */
function realFolderOf(file: string): string {
  const folder = path.dirname(file)
  return existsSync(folder) ? realpathSync(folder) : realFolderOf(folder)
}

const isLink = (file: string): boolean =>
  lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() ?? false

/** Tells whether the file, or a folder above it, is a link that leads out of the folder. */
export function leadsOut(folder: string, file: string): boolean {
  const own = realFolderOf(path.join(path.resolve(folder), 'any'))
  const real = existsSync(file) ? realpathSync(file) : realFolderOf(path.resolve(file))
  const relative = path.relative(own, real)
  return relative === '..' || relative.startsWith(`..${path.sep}`) || path.isAbsolute(relative)
}

/**
 * Writes a file below the folder, and makes the folders on the way. Throws ExitError for a file that is a link, and
 * for one that a link leads out of the folder.
 */
export async function writeBelow(folder: string, file: string, content: string): Promise<void> {
  if (isLink(file) || leadsOut(folder, file))
    throw new ExitError(
      EXIT.refused,
      `${file} is a link, or lies behind one that leads elsewhere, so nothing is written there: delete the link first.`,
    )
  await mkdir(path.dirname(file), { recursive: true })
  const opened = await open(file, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW)
  try {
    await opened.writeFile(content)
  } finally {
    await opened.close()
  }
}
