/**
 * Takes a file in as it comes: counted, hashed and checked piece by piece, written under a name of its own and synced.
 * Whatever goes wrong on the way (the client goes, nothing comes any more, a fault, too many bytes) leaves nothing.
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

/** A packed file may be this many times the largest file when it is unpacked. */
const UNPACKED_TIMES = 10

export interface ReceiveOptions {
  /** Where the file is to be: its ending says what it must be. */
  path: string
  folder: string
  /** Told how many bytes have come; throws where they are too many. */
  arrival: Arrival
  /** Bytes: of the largest file, by which that of an unpacked one is told. */
  most: number
  /** Milliseconds without a byte after which it is given up. */
  idleMs: number
}

export function badFile(file: string, { message, line, column }: CheckFault): AppError {
  const where =
    line === undefined ? '' : column === undefined ? ` (line ${line})` : ` (line ${line}, column ${column})`
  return new AppError('invalid', `${JSON.stringify(file)} ${message}${where}.`, {
    errors: [
      {
        path: 'body',
        message: `${message}${where}`,
        ...(line === undefined ? {} : { line }),
        ...(column === undefined ? {} : { column }),
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

/** The ending with what packs it, so that the staged file reads as what it is. */
function endingOf(file: string): string {
  return /(\.[a-z]+)(\.gz)?$/i.exec(file)?.[0].toLowerCase() ?? ''
}

export async function receive(stream: Readable, options: ReceiveOptions): Promise<Staged> {
  const file = path.join(options.folder, `${uuidv7()}${endingOf(options.path)}`)
  const handle = await open(file, 'wx', 0o600)
  const check = checkOf(options.path, options.most * UNPACKED_TIMES)
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
    // Where a fault is found the stream stays open: the answer is still to be sent on its connection.
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

/** What the disk says, as an error of the table where it is one. */
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
