/**
 * Checks an upload while its bytes arrive, and keeps none of them. JSON must be UTF-8; a table may have another encoding, but no zero bytes outside UTF-16. JSON must be valid. A
 * table in text must begin with a row of names. Parquet must begin and end with its marks. A fault has line and column.
 */
import { isUtf8 } from 'node:buffer'
import { createGunzip, createZstdDecompress, type Gunzip, type ZstdDecompress } from 'node:zlib'
import { type FormatName, fileFormat, packingOf } from '@assay/model/file'
import type { Check, CheckFault } from './check-fault.ts'
import { HeaderCheck } from './header-check.ts'
import { JsonCheck } from './json-check.ts'

/** Makes several checks of the same bytes. The first fault counts. */
class Every implements Check {
  readonly #checks: Check[]

  constructor(checks: Check[]) {
    this.#checks = checks
  }

  push(bytes: Buffer): CheckFault | null {
    for (const check of this.#checks) {
      const fault = check.push(bytes)
      if (fault) return fault
    }
    return null
  }

  end(): CheckFault | null {
    return this.#checks.map((check) => check.end()).find((fault) => fault !== null) ?? null
  }
}

function newlines(bytes: Buffer): { count: number; last: number } {
  // A loop is used, because a call of indexOf for each line took a second for 8 MB of empty lines.
  let count = 0
  for (let at = 0; at < bytes.length; at += 1) if (bytes[at] === 0x0a) count += 1
  return { count, last: bytes.lastIndexOf(0x0a) }
}

/** Returns the number of bytes at the end that begin an incomplete UTF-8 character. */
function unfinished(bytes: Buffer): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back += 1) {
    const byte = bytes[bytes.length - back]!
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0
    if (byte < 0x80) return 0
  }
  return 0
}

/** Returns the index of the first byte that is not UTF-8, found by bisection. */
function firstBad(bytes: Buffer): number {
  let [good, bad] = [0, bytes.length]
  while (bad - good > 1) {
    const middle = (good + bad) >> 1
    const part = bytes.subarray(0, middle)
    if (isUtf8(part.subarray(0, middle - unfinished(part)))) good = middle
    else bad = middle
  }
  return good - unfinished(bytes.subarray(0, good))
}

class TextCheck implements Check {
  /** False for a table, whose encoding is found when it is read. */
  readonly #utf8: boolean
  #rest = Buffer.alloc(0)
  #line = 1
  /** The bytes of the current line in earlier pieces. */
  #column = 0

  constructor(utf8: boolean) {
    this.#utf8 = utf8
  }

  push(given: Buffer): CheckFault | null {
    const bytes = this.#rest.length === 0 ? given : Buffer.concat([this.#rest, given])
    const whole = bytes.subarray(0, bytes.length - unfinished(bytes))
    if (this.#utf8 && !isUtf8(whole))
      return this.#faultAt(whole, firstBad(whole), 'is not UTF-8: save it in that encoding')
    const zero = whole.indexOf(0)
    if (zero >= 0) return this.#faultAt(whole, zero, 'is not text: it holds a zero byte')
    this.#rest = Buffer.from(bytes.subarray(whole.length))
    this.#pass(whole)
    return null
  }

  end(): CheckFault | null {
    if (this.#rest.length === 0 || !this.#utf8) return null
    return this.#faultAt(this.#rest, 0, 'is not UTF-8: its last character is cut off')
  }

  #pass(bytes: Buffer): void {
    const { count, last } = newlines(bytes)
    this.#line += count
    this.#column = count === 0 ? this.#column + bytes.length : bytes.length - last - 1
  }

  #faultAt(bytes: Buffer, at: number, message: string): CheckFault {
    this.#pass(bytes.subarray(0, at))
    return { message, line: this.#line, column: this.#column + 1 }
  }
}

/** Checks a table in text. A table in UTF-16 holds zero bytes, so reading it decides whether it is sound. */
class TableCheck implements Check {
  readonly #check: Check
  #begin: Buffer | null = Buffer.alloc(0)
  #wide = false

  constructor(separator: string | null, named: boolean) {
    this.#check = new Every([new TextCheck(false), ...(named ? [new HeaderCheck(separator)] : [])])
  }

  push(bytes: Buffer): CheckFault | null {
    if (this.#begin === null) return this.#wide ? null : this.#check.push(bytes)
    this.#begin = Buffer.concat([this.#begin, bytes])
    return this.#begin.length < 4 ? null : this.#begun()
  }

  #begun(): CheckFault | null {
    const begin = this.#begin!
    this.#begin = null
    const zeros = Array.from(begin.subarray(0, 4), (byte) => byte === 0)
    const mark = begin.length > 1 ? begin.readUInt16BE(0) : 0
    const alternate = zeros[0] !== zeros[1] && zeros[0] === zeros[2] && zeros[1] === zeros[3]
    this.#wide = mark === 0xfffe || mark === 0xfeff || (begin.length > 3 && alternate)
    return this.#wide ? null : this.#check.push(begin)
  }

  end(): CheckFault | null {
    const fault = this.#begin === null ? null : this.#begun()
    return fault ?? (this.#wide ? null : this.#check.end())
  }
}

const MAGIC = Buffer.from('PAR1')
const ENCRYPTED = Buffer.from('PARE')
const TRAILER_BYTES = 8

class ParquetCheck implements Check {
  #head = Buffer.alloc(0)
  #tail = Buffer.alloc(0)
  #bytes = 0

  push(bytes: Buffer): CheckFault | null {
    this.#bytes += bytes.length
    if (this.#head.length < MAGIC.length) {
      this.#head = Buffer.concat([this.#head, bytes.subarray(0, MAGIC.length - this.#head.length)])
      if (this.#head.length === MAGIC.length) {
        if (this.#head.equals(ENCRYPTED)) return { message: 'is encrypted: send it in clear' }
        if (!this.#head.equals(MAGIC)) return { message: 'is not Parquet: it does not begin with "PAR1"' }
      }
    }
    const last = bytes.subarray(-TRAILER_BYTES)
    this.#tail = Buffer.from(Buffer.concat([this.#tail, last]).subarray(-TRAILER_BYTES))
    return null
  }

  end(): CheckFault | null {
    const cut = { message: 'is not a whole Parquet file: it does not end with a footer and "PAR1"' }
    if (this.#bytes < MAGIC.length + TRAILER_BYTES || !this.#tail.subarray(4).equals(MAGIC)) return cut
    const footer = this.#tail.readUInt32LE(0)
    return footer === 0 || footer > this.#bytes - MAGIC.length - TRAILER_BYTES ? cut : null
  }
}

const ZIP = Buffer.from('PK\u0003\u0004')
const ZIP_END = Buffer.from('PK\u0005\u0006')
/** The first bytes of old workbooks and of those with a password. */
const OLD = Buffer.from([0xd0, 0xcf, 0x11, 0xe0])
/** The most bytes of the end of a zip: 22 bytes and a comment of at most 64 KB. */
const ZIP_TAIL = 22 + 65_535

/** Checks that a workbook is a zip. Reading it checks its parts. */
class WorkbookCheck implements Check {
  readonly #ending: string
  #head = Buffer.alloc(0)
  /**
   * The last bytes of the file. The buffer has twice the length of the end of a zip, so bytes are moved to its front
   * once for each length and not for each piece.
   */
  readonly #tail = Buffer.alloc(2 * ZIP_TAIL)
  #kept = 0

  constructor(ending: string) {
    this.#ending = ending
  }

  push(bytes: Buffer): CheckFault | null {
    if (this.#head.length < ZIP.length) {
      this.#head = Buffer.concat([this.#head, bytes.subarray(0, ZIP.length - this.#head.length)])
      if (this.#head.equals(OLD))
        return {
          message: `is a workbook of the old form or has a password: save it as ${this.#ending} without one`,
        }
      if (this.#head.length === ZIP.length && !this.#head.equals(ZIP)) return { message: this.#none() }
    }
    this.#keep(bytes.subarray(-ZIP_TAIL))
    return null
  }

  #keep(last: Buffer): void {
    if (this.#kept + last.length > this.#tail.length) {
      this.#tail.copyWithin(0, this.#kept - ZIP_TAIL, this.#kept)
      this.#kept = ZIP_TAIL
    }
    this.#kept += last.copy(this.#tail, this.#kept)
  }

  end(): CheckFault | null {
    if (this.#head.length < ZIP.length) return { message: this.#none() }
    return this.#tail.subarray(Math.max(0, this.#kept - ZIP_TAIL), this.#kept).includes(ZIP_END)
      ? null
      : { message: `is not a whole ${this.#ending} workbook: its end is missing` }
  }

  #none(): string {
    return `is not an ${this.#ending} workbook`
  }
}

const AVRO = Buffer.from('Obj\u0001')

class AvroCheck implements Check {
  #head = Buffer.alloc(0)

  push(bytes: Buffer): CheckFault | null {
    if (this.#head.length === AVRO.length) return null
    this.#head = Buffer.concat([this.#head, bytes.subarray(0, AVRO.length - this.#head.length)])
    return this.#head.length === AVRO.length ? this.#fault() : null
  }

  #fault(): CheckFault | null {
    return this.#head.equals(AVRO)
      ? null
      : { message: 'is not an Avro file: it does not begin with "Obj" and 1' }
  }

  end(): CheckFault | null {
    return this.#fault()
  }
}

const ARROW = Buffer.from('ARROW1')
/** The first bytes of each message of a stream. */
const MESSAGE = Buffer.from([0xff, 0xff, 0xff, 0xff])

/** Checks Arrow. A file ends with its mark, and a stream ends with an empty message. */
class ArrowCheck implements Check {
  #head = Buffer.alloc(0)
  #tail = Buffer.alloc(0)

  push(bytes: Buffer): CheckFault | null {
    if (this.#head.length < ARROW.length) {
      this.#head = Buffer.concat([this.#head, bytes.subarray(0, ARROW.length - this.#head.length)])
      if (this.#head.length === ARROW.length && this.#kind() === null) return this.#none()
    }
    this.#tail = Buffer.from(Buffer.concat([this.#tail, bytes.subarray(-8)]).subarray(-8))
    return null
  }

  #kind(): 'file' | 'stream' | null {
    if (this.#head.equals(ARROW)) return 'file'
    return this.#head.subarray(0, 4).equals(MESSAGE) ? 'stream' : null
  }

  #none(): CheckFault {
    return { message: 'is not Arrow IPC: it begins neither with "ARROW1" nor with a message of a stream' }
  }

  end(): CheckFault | null {
    const kind = this.#kind()
    if (kind === null) return this.#none()
    const whole =
      kind === 'file'
        ? this.#tail.subarray(2).equals(ARROW)
        : this.#tail.subarray(0, 4).equals(MESSAGE) && this.#tail.readUInt32LE(4) === 0
    return whole ? null : { message: 'is not a whole Arrow IPC file: it does not end with its mark' }
  }
}

const CHECKS: Record<FormatName, (named: boolean) => Check> = {
  csv: (named) => new TableCheck(null, named),
  tsv: (named) => new TableCheck('\t', named),
  json: () => new Every([new TextCheck(true), new JsonCheck('json')]),
  ndjson: () => new Every([new TextCheck(true), new JsonCheck('ndjson')]),
  parquet: () => new ParquetCheck(),
  avro: () => new AvroCheck(),
  arrow: () => new ArrowCheck(),
  xlsx: () => new WorkbookCheck('.xlsx'),
  ods: () => new WorkbookCheck('.ods'),
}

/** The check of an upload as it arrives. It unpacks a packed file. */
export interface ArrivalCheck {
  push(bytes: Buffer): Promise<CheckFault | null>
  end(): Promise<CheckFault | null>
  /** Frees resources, at any time. */
  close(): void
}

/**
 * Returns the check for a path with a known ending. `most` is the number of bytes that a packed file may have unpacked.
 * With `named` the first row of a table in text must hold names.
 */
export function checkOf(path: string, most: number, named = true): ArrivalCheck {
  const check = CHECKS[fileFormat(path)!.name](named)
  const packing = packingOf(path)
  if (packing !== null) return new PackedCheck(check, most, packing)
  return {
    push: (bytes) => Promise.resolve(check.push(bytes)),
    end: () => Promise.resolve(check.end()),
    close: () => undefined,
  }
}

/**
 * The largest ratio of unpacked to packed bytes. Tables in text have about 10, seldom 100; only repetition reaches
 * 1,000.
 */
const RATIO_MOST = 250
/** Unpacked bytes up to which any ratio is accepted. */
const RATIO_FREE = 10_000_000

class PackedCheck implements ArrivalCheck {
  readonly #check: Check
  readonly #most: number
  readonly #unpacking: Gunzip | ZstdDecompress
  readonly #packing: 'gz' | 'zst'
  readonly #broken = Promise.withResolvers<void>()
  /** Resolves at the end of the packed data, which may come before that of the file. */
  readonly #ended: Promise<void>
  #packed = 0
  #unpacked = 0
  #fault: CheckFault | null = null

  constructor(check: Check, most: number, packing: 'gz' | 'zst') {
    this.#check = check
    this.#most = most
    this.#packing = packing
    this.#unpacking = packing === 'gz' ? createGunzip() : createZstdDecompress()
    this.#ended = new Promise((resolve) => this.#unpacking.once('end', resolve))
    this.#unpacking.on('data', (bytes: Buffer) => this.#take(bytes))
    this.#unpacking.once('error', (error) => {
      const what = packing === 'gz' ? 'gzip' : 'zstd'
      this.#fault ??= { message: `is not a whole ${what} file: ${error.message}` }
      this.#broken.resolve()
    })
  }

  #take(bytes: Buffer): void {
    if (this.#fault) return
    this.#unpacked += bytes.length
    this.#fault = this.#bound() ?? this.#check.push(bytes)
    if (!this.#fault) return
    this.#unpacking.destroy()
    this.#broken.resolve()
  }

  #bound(): CheckFault | null {
    if (this.#unpacked > this.#most)
      return { message: `is larger than ${this.#most} bytes when it is unpacked` }
    if (this.#unpacked <= RATIO_FREE || this.#unpacked <= this.#packed * RATIO_MOST) return null
    return {
      message: `is more than ${RATIO_MOST} times as large when it is unpacked, and more than ${RATIO_FREE} bytes: send it unpacked`,
    }
  }

  async push(bytes: Buffer): Promise<CheckFault | null> {
    if (this.#fault) return this.#fault
    this.#packed += bytes.length
    const taken = new Promise<void>((resolve) => {
      this.#unpacking.write(bytes, () => resolve())
    })
    await Promise.race([taken, this.#broken.promise])
    // What the unpacking leaves behind its end would be read later without a check.
    const left = this.#packed - this.#unpacking.bytesWritten
    this.#fault ??= this.#left(bytes.subarray(Math.max(0, bytes.length - left)))
    return this.#fault
  }

  /** Returns the fault of bytes after the end of the packed data. Zeros fill up the last block of a gzip file. */
  #left(rest: Buffer): CheckFault | null {
    if (rest.length === 0 || (this.#packing === 'gz' && rest.every((byte) => byte === 0))) return null
    return { message: 'goes on after the end of its packed data: pack the file anew, as one piece' }
  }

  async end(): Promise<CheckFault | null> {
    if (this.#fault) return this.#fault
    this.#unpacking.end()
    await Promise.race([this.#ended, this.#broken.promise])
    return this.#fault ?? this.#check.end()
  }

  close(): void {
    this.#unpacking.destroy()
  }
}
