/**
 * Receives an upload: counts, hashes and checks its bytes while they arrive, writes them to a temporary file and syncs it. An
 * upload that fails (the client disconnects, no bytes arrive, a fault, too many bytes) leaves nothing.
 */
import { createHash } from 'node:crypto'
import { type FileHandle, open, rm } from 'node:fs/promises'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { AppError } from '@assay/model/errors'
import { uuidv7 } from '@assay/model/ids'
import { type ArrivalCheck, checkOf } from './check.ts'
import type { CheckFault } from './check-fault.ts'
import type { Arrival, Staged } from './files.ts'

/** The most times by which a packed file may exceed the largest upload once it is unpacked. */
const UNPACKED_TIMES = 10

export interface ReceiveOptions {
  /** The path of the upload. Its ending names the format. */
  path: string
  folder: string
  /** Counts the bytes against the quota. */
  arrival: Arrival
  /** The most bytes of an upload. */
  most: number
  /** False if lines say how the file is read. Its first row then need not hold names. */
  named: boolean
  /** Milliseconds without a byte after which the upload fails. */
  idleMs: number
}

export function badFile(file: string, { message, line, column, write = [] }: CheckFault): AppError {
  const where =
    line === undefined || message.includes(`line ${line}`)
      ? ''
      : column === undefined
        ? ` (line ${line})`
        : ` (line ${line}, column ${column})`
  return new AppError('invalid', `${JSON.stringify(file)} ${message}${where}.`, {
    errors: [
      {
        path: 'body',
        message: `${message}${where}`,
        ...(line === undefined ? {} : { line }),
        ...(column === undefined ? {} : { column }),
        ...(write.length === 0 ? {} : { write }),
      },
    ],
  })
}

export function tooLarge(most: number): AppError {
  return new AppError(
    'payload_too_large',
    `The file is larger than ${most} bytes, the most that this workspace may upload at once: divide it.`,
  )
}

/** Returns the ending of the file with that of its packing, so that readers know the format of the staged file. */
function endingOf(file: string): string {
  return /(\.[a-z]+)(\.(?:gz|zst))?$/i.exec(file)?.[0].toLowerCase() ?? ''
}

export async function receive(stream: Readable, options: ReceiveOptions): Promise<Staged> {
  const file = path.join(options.folder, `${uuidv7()}${endingOf(options.path)}`)
  const handle = await open(file, 'wx', 0o600)
  const check = checkOf(options.path, options.most * UNPACKED_TIMES, options.named)
  try {
    const { bytes, sha256 } = await take(stream, handle, check, options)
    await handle.sync()
    await handle.close()
    return { file, bytes, sha256 }
  } catch (error) {
    await handle.close().catch(() => undefined)
    await rm(file, { force: true })
    throw storageError(error)
  } finally {
    check.close()
  }
}

async function take(
  stream: Readable,
  handle: FileHandle,
  check: ArrivalCheck,
  { path: shown, arrival, idleMs }: ReceiveOptions,
): Promise<Omit<Staged, 'file'>> {
  const hash = createHash('sha256')
  let bytes = 0
  const idle = setTimeout(() => {
    stream.destroy(
      new AppError('request_timeout', `No byte came for ${idleMs / 1000} s: send the file again.`),
    )
  }, idleMs)
  try {
    // After a fault the stream stays open, because the answer is sent on its connection.
    for await (const piece of stream.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      idle.refresh()
      bytes += piece.length
      await arrival.admit(bytes)
      hash.update(piece)
      const [fault] = await Promise.all([check.push(piece), handle.writeFile(piece)])
      if (fault) throw badFile(shown, fault)
    }
  } finally {
    clearTimeout(idle)
  }
  const fault = await check.end()
  if (fault) throw badFile(shown, fault)
  return { bytes, sha256: hash.digest('hex') }
}

const FULL = ['ENOSPC', 'EDQUOT']
const AWAY = ['EIO', 'ESTALE', 'EROFS', 'EACCES', 'EPERM', 'ETIMEDOUT']

/** Returns the error of the table for an error of the disk, and any other error as it is. */
export function storageError(error: unknown): unknown {
  const code = (error as NodeJS.ErrnoException | null)?.code ?? ''
  if (FULL.includes(code))
    return new AppError('store_unavailable', 'There is no room left for the file on the disk.', {
      cause: error,
    })
  if (AWAY.includes(code))
    return new AppError('store_unavailable', `The folder of the files cannot be written to (${code}).`, {
      cause: error,
    })
  return error
}
