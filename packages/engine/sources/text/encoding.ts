/**
 * Finds the encoding of a text by its first bytes: a byte order mark, the zero bytes of UTF-16, or bytes that are no
 * UTF-8. A file that is not UTF-8 is written again as UTF-8 into the folder of the job, because the engine reads
 * nothing else in the same way.
 */
import { isUtf8 } from 'node:buffer'
import { createReadStream, createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import type { Sureness } from '@assay/model/dialect'
import { packingOf } from '@assay/model/file'
import type { SourceFile } from '../files/source-file.ts'
import { NoRoom } from '../room.ts'
import { SourceError } from '../source.ts'

export interface FoundEncoding {
  /** A label of the WHATWG encoding standard. */
  is: string
  sure: Sureness
}

const UTF8: FoundEncoding = { is: 'utf-8', sure: 'settled' }
/** The encoding of old Windows programs. Its first 128 characters and its letters equal those of Latin-1. */
export const WINDOWS: FoundEncoding = { is: 'windows-1252', sure: 'likely' }

/** Finds the encoding. `whole`: whether the bytes are the whole text; otherwise the last character may be cut. */
export function encodingOf(bytes: Buffer, whole: boolean): FoundEncoding {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return { is: 'utf-16le', sure: 'settled' }
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return { is: 'utf-16be', sure: 'settled' }
  const zeros = zeroBytes(bytes)
  if (zeros.odd > bytes.length / 8 && zeros.even === 0) return { is: 'utf-16le', sure: 'settled' }
  if (zeros.even > bytes.length / 8 && zeros.odd === 0) return { is: 'utf-16be', sure: 'settled' }
  for (let cut = 0; cut <= (whole ? 0 : Math.min(3, bytes.length)); cut += 1)
    if (isUtf8(bytes.subarray(0, bytes.length - cut))) return UTF8
  return WINDOWS
}

function zeroBytes(bytes: Buffer): { odd: number; even: number } {
  const found = { odd: 0, even: 0 }
  for (let at = 0; at < bytes.length; at += 1)
    if (bytes[at] === 0) {
      if (at % 2 === 1) found.odd += 1
      else found.even += 1
    }
  return found
}

/** Returns a decoder. Throws SourceError for an encoding that is not known. */
export function decoderOf(encoding: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(encoding)
  } catch {
    throw new SourceError(
      `There is no encoding ${JSON.stringify(encoding)}: write a name of the WHATWG encoding standard, such as utf-8, utf-16le or windows-1252.`,
    )
  }
}

/** Matches copies in the folder of a job. They are not packed, whatever the name of the file says. */
const COPY = /\.(?:utf8|narrow)$/

function unpacking({ path, real }: SourceFile): Transform | null {
  const packing = COPY.test(real) ? null : packingOf(path)
  return packing === 'gz' ? createGunzip() : packing === 'zst' ? createZstdDecompress() : null
}

/** Resolves to the first bytes of the text, unpacked. `whole`: whether these are all. */
export async function headOf(file: SourceFile, most: number): Promise<{ bytes: Buffer; whole: boolean }> {
  const unpacked = unpacking(file)
  if (unpacked) return headOfPacked(file, unpacked, most)
  const handle = await open(file.real)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(most), 0, most, 0)
    return { bytes: buffer.subarray(0, bytesRead), whole: bytesRead >= file.bytes }
  } finally {
    await handle.close()
  }
}

async function headOfPacked(
  { path, real }: SourceFile,
  unpacked: Transform,
  most: number,
): Promise<{ bytes: Buffer; whole: boolean }> {
  const file = createReadStream(real)
  file.on('error', (error) => unpacked.destroy(error)).pipe(unpacked)
  const parts: Buffer[] = []
  let length = 0
  try {
    for await (const bytes of unpacked as Readable) {
      parts.push(bytes as Buffer)
      length += (bytes as Buffer).length
      if (length > most) return { bytes: Buffer.concat(parts).subarray(0, most), whole: false }
    }
  } catch {
    throw new SourceError(
      `${JSON.stringify(path)} cannot be read: it is not a whole ${packingOf(path) === 'gz' ? 'gzip' : 'zstd'} file.`,
    )
  } finally {
    file.destroy()
  }
  return { bytes: Buffer.concat(parts), whole: true }
}

/** Gives the bytes of the text in order, unpacked. */
export async function* piecesOf(file: SourceFile): AsyncGenerator<Buffer> {
  const unpacked = unpacking(file)
  const from = createReadStream(file.real, { highWaterMark: 1 << 18 })
  try {
    yield* (unpacked ? from.on('error', (error) => unpacked.destroy(error)).pipe(unpacked) : from) as Readable
  } finally {
    from.destroy()
  }
}

/**
 * Returns the error for a text that is too large to be written again. A text in UTF-8 is written again only to leave
 * out its rows of totals.
 */
export const tooLarge = ({ path }: SourceFile, encoding: string, most: number): NoRoom =>
  new NoRoom(
    `${JSON.stringify(path)} cannot be read: it is ${encoding} and larger than ${most} bytes, so ${encoding === 'utf-8' ? 'take its rows of totals out' : 'save it as UTF-8'}.`,
  )

/** Writes the text again as UTF-8, unpacked. Throws SourceError beyond `most` bytes. */
export async function writeAsUtf8(
  file: SourceFile,
  encoding: string,
  into: string,
  most: number,
): Promise<void> {
  const decoder = decoderOf(encoding)
  const unpacked = unpacking(file)
  let bytes = 0
  const decoded = async function* (pieces: AsyncIterable<Buffer>): AsyncGenerator<string> {
    for await (const piece of pieces) {
      bytes += piece.length
      if (bytes > most) throw tooLarge(file, encoding, most)
      yield decoder.decode(piece, { stream: true })
    }
    yield decoder.decode()
  }
  const out = createWriteStream(into, { mode: 0o600 })
  const from = createReadStream(file.real, { highWaterMark: 1 << 18 })
  if (unpacked) await pipeline(from, unpacked, decoded, out)
  else await pipeline(from, decoded, out)
}

/**
 * Writes the text again with one kind of line end, also within quotes. Resolves to false if it has one kind already.
 * Throws SourceError beyond `most` bytes.
 */
export async function writeWithOneEnd(file: SourceFile, into: string, most: number): Promise<boolean> {
  const kinds = new Set<string>()
  const note = (text: string, kind: string, pattern: RegExp): void => {
    if (!kinds.has(kind) && pattern.test(text)) kinds.add(kind)
  }
  const even = async function* (pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let bytes = 0
    let held = ''
    for await (const piece of pieces) {
      bytes += piece.length
      if (bytes > most)
        throw new NoRoom(
          `${JSON.stringify(file.path)} cannot be read: its lines end in several ways and it is larger than ${most} bytes, so save it with one kind of line end.`,
        )
      const text = held + piece.toString('latin1')
      held = text.endsWith('\r') ? '\r' : ''
      const whole = text.slice(0, text.length - held.length)
      note(whole, 'crlf', /\r\n/)
      note(whole, 'cr', /\r(?!\n)/)
      note(whole, 'lf', /(?<!\r)\n/)
      yield Buffer.from(whole.replaceAll(/\r\n?/g, '\n'), 'latin1')
    }
    if (held !== '') kinds.add('cr')
    yield Buffer.from(held === '' ? '' : '\n')
  }
  await pipeline(piecesOf(file), even, createWriteStream(into, { mode: 0o600 }))
  return kinds.size > 1
}
