/**
 * Makes fingerprints, which show whether two runs read the same data. That of a text is the SHA-256 of its bytes. That
 * of Parquet is the SHA-256 of its footer, which holds the offset, size and statistics of every part and takes a few
 * kilobytes of reading.
 */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { SourceError } from '../source.ts'
import type { SourceFile } from './source-file.ts'

/**
 * Returns the fingerprint of a text. `onZero` gets the offset of the first zero byte, which no text but UTF-16 has.
 */
export async function fingerprintText(file: SourceFile, onZero?: (at: number) => void): Promise<string> {
  const hash = createHash('sha256')
  let passed = 0
  let told = onZero === undefined
  const watched = async function* (pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const piece of pieces) {
      const at = told ? -1 : piece.indexOf(0)
      if (at >= 0) {
        told = true
        onZero!(passed + at)
      }
      passed += piece.length
      yield piece
    }
  }
  await pipeline(createReadStream(file.real, { highWaterMark: 1 << 18 }), watched, hash)
  return `sha256:${hash.digest('hex')}`
}

const TRAILER_BYTES = 8

export async function fingerprintParquet(file: SourceFile): Promise<string> {
  const handle = await open(file.real)
  try {
    const trailer = Buffer.alloc(TRAILER_BYTES)
    await handle.read(trailer, 0, TRAILER_BYTES, Math.max(0, file.bytes - TRAILER_BYTES))
    const length = trailer.readUInt32LE(0)
    if (trailer.toString('latin1', 4) !== 'PAR1' || length + TRAILER_BYTES > file.bytes) {
      throw new SourceError(`${JSON.stringify(file.path)} is not a whole Parquet file: write it again.`)
    }
    const footer = Buffer.alloc(length)
    await handle.read(footer, 0, length, file.bytes - TRAILER_BYTES - length)
    return `footer-sha256:${createHash('sha256').update(footer).digest('hex')}`
  } finally {
    await handle.close()
  }
}
