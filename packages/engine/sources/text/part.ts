/**
 * Reads how one file of a table in text is encoded and divided, and makes a copy if the engine must not read the
 * original.
 */
import { randomUUID } from 'node:crypto'
import { chmod, copyFile, mkdir, open, rm, stat, truncate } from 'node:fs/promises'
import path from 'node:path'
import type { Dialect } from '@assay/model/dialect'
import { packingOf } from '@assay/model/file'
import type { SourceFile } from '../files/source-file.ts'
import { roomLeft } from '../room.ts'
import {
  decoderOf,
  encodingOf,
  type FoundEncoding,
  headOf,
  tooLarge,
  writeAsUtf8,
  writeWithOneEnd,
} from './encoding.ts'
import { unreadable } from './misplaced.ts'
import { type Shape, shapeOf } from './shape.ts'

const HEAD_BYTES = 262_144
/** The most bytes of the head that are read for a table of many columns, whose rows are long. */
const HEAD_MOST = 16_777_216
const TAIL_BYTES = 65_536

export interface Part {
  file: SourceFile
  encoding: FoundEncoding
  shape: Shape
}

export interface PartSource {
  /** The file as written in the template. */
  file: string
  dialect: Dialect
  /** A folder for this job alone; not created yet. */
  temp_folder: string
  /** The most bytes of all that the job writes to its folder. */
  most_bytes: number
}

/**
 * Returns the part, or null for an empty file. `known`: its encoding, if reading it has shown that. Throws
 * SourceError.
 */
export async function partOf(
  file: SourceFile,
  source: PartSource,
  known: FoundEncoding | null,
): Promise<Part | null> {
  const { file: shown, dialect, temp_folder, most_bytes } = source
  let head = await headOf(file, HEAD_BYTES)
  if (head.bytes.length === 0) return null
  const lines = head.bytes.toString('latin1').split('\n').length
  if (!head.whole && lines < 10) head = await headOf(file, HEAD_MOST)
  const declared = dialect.encoding
  const encoding: FoundEncoding =
    declared === undefined
      ? (known ?? encodingOf(head.bytes, head.whole))
      : { is: decoderOf(declared).encoding, sure: 'declared' }
  refuseZeros(head.bytes, encoding.is, shown)
  const text = decoderOf(encoding.is).decode(head.bytes, { stream: !head.whole })
  const tabs = /\.tsv(\.(gz|zst))?$/i.test(file.path) || file.format === 'tsv'
  const tail = head.whole ? null : await tailOf(file, encoding.is)
  const shape = shapeOf({ text, whole: head.whole, tail }, dialect, tabs, shown)
  const plain = encoding.is === 'utf-8'
  if (plain && shape.totals === '') return { file, encoding, shape }
  await mkdir(temp_folder, { recursive: true, mode: 0o700 })
  const real = path.join(temp_folder, `${randomUUID()}.utf8`)
  const most = roomLeft(most_bytes, temp_folder)
  // The copy keeps all bytes, so that bytes beyond the head that are no UTF-8 still end the reading.
  if (plain && packingOf(file.path) === null) await copyOf(file, real, most)
  else await writeAsUtf8(file, encoding.is, real, most)
  const bytes = (await stat(real)).size - Buffer.byteLength(shape.totals)
  if (shape.totals !== '') await truncate(real, bytes)
  return { file: { ...file, real, bytes, modified_ns: null }, encoding, shape }
}

/** Replaces parts whose lines end in several ways by copies with one way. Resolves to false if there is no such part. */
export async function evenEnds(parts: readonly Part[], source: PartSource): Promise<boolean> {
  const { temp_folder, most_bytes } = source
  await mkdir(temp_folder, { recursive: true, mode: 0o700 })
  let found = false
  for (const part of parts) {
    const real = path.join(temp_folder, `${randomUUID()}.utf8`)
    if (await writeWithOneEnd(part.file, real, roomLeft(most_bytes, temp_folder))) {
      part.file = { ...part.file, real, bytes: (await stat(real)).size, modified_ns: null }
      found = true
    } else await rm(real)
  }
  return found
}

/** Throws SourceError for zero bytes, because the engine would keep them within values. Only UTF-16 has such bytes. */
function refuseZeros(bytes: Buffer, encoding: string, shown: string): void {
  const at = encoding.startsWith('utf-16') ? -1 : bytes.indexOf(0)
  if (at < 0) return
  const lines = bytes.subarray(0, at).toString('latin1').split('\n')
  throw unreadable(
    shown,
    `line ${lines.length}, column ${lines.at(-1)!.length + 1} holds a zero byte, which no text has: the file is damaged, or is not a table in text. Write it again.`,
  )
}

async function copyOf(file: SourceFile, into: string, most: number): Promise<void> {
  if (file.bytes > most) throw tooLarge(file, 'utf-8', most)
  await copyFile(file.real, into)
  // The copy is made writable, because the original may be read-only.
  await chmod(into, 0o600)
}

/** Resolves to whole lines at the end of a text; null for a packed one, whose end is not known without reading all. */
async function tailOf(file: SourceFile, encoding: string): Promise<string | null> {
  if (packingOf(file.path) !== null) return null
  const handle = await open(file.real)
  try {
    // The offset is even, so that no character of two bytes is cut.
    const from = 2 * Math.floor(Math.max(0, file.bytes - TAIL_BYTES) / 2)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(TAIL_BYTES + 1), 0, TAIL_BYTES + 1, from)
    const text = decoderOf(encoding).decode(buffer.subarray(0, bytesRead), { stream: true })
    return text.slice(text.indexOf('\n') + 1)
  } finally {
    await handle.close()
  }
}
