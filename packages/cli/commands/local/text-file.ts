/**
 * Reads a file of the user as text. It is separate from local-template.ts, which loads the parser, because light
 * commands read files too.
 */
import { readFile } from 'node:fs/promises'
import { EXIT, ExitError } from '../../exit.ts'

/** Returns the text. Throws ExitError if the file cannot be read. */
export async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT')
      throw new ExitError(EXIT.notFound, `${file} cannot be read: there is no such file.`)
    const reason = code === 'EISDIR' ? 'it is a folder' : message
    throw new ExitError(EXIT.failed, `${file} cannot be read: ${reason}.`)
  }
}
