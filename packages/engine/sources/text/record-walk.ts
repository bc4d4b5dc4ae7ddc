/**
 * Walks through the records of a text of any length. It finds the line on which a record begins, because the engine
 * counts a record with line breaks as one line. It copies a text without the records that have one empty value too
 * many, because the engine ignores such a value.
 */
import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'
import type { SourceFile } from '../files/source-file.ts'
import { NoRoom } from '../room.ts'
import { piecesOf } from './encoding.ts'
import type { Marks } from './records.ts'

/** Returns the line of a record, from 1, or null if there is no such record. */
export async function lineOfRecord(file: SourceFile, record: number, marks: Marks): Promise<number | null> {
  const walk = new RecordWalk(marks)
  for await (const piece of piecesOf(file))
    for (const character of piece.toString('latin1')) {
      if (walk.records + 1 === record) return walk.line
      walk.next(character)
    }
  return null
}

export interface Kept {
  /** The number of records above the first row, which are kept. */
  above: number
  /** The number of columns. */
  width: number
  /** The path of the copy. The next field is its most bytes. */
  into: string
  most: number
}

/** Resolves to the number of records that were left out, and of all that are not blank. Throws NoRoom. */
export async function copyWithoutWider(
  file: SourceFile,
  marks: Marks,
  { above, width, into, most }: Kept,
): Promise<{ left: number; all: number }> {
  const walk = new RecordWalk(marks)
  const counts = { left: 0, all: 0 }
  const isWider = (): boolean => {
    if (walk.records <= above) return false
    const wider = walk.values === width + 1 && walk.empty
    if (walk.values > 1 || !walk.empty) counts.all += 1
    if (wider) counts.left += 1
    return wider
  }
  let bytes = 0
  const narrow = async function* (): AsyncGenerator<Buffer> {
    let record = ''
    let wider = false
    for await (const piece of piecesOf(file)) {
      bytes += piece.length
      if (bytes > most)
        throw new NoRoom(
          `${JSON.stringify(file.path)} cannot be read: it has bad rows and more than ${most} bytes, so correct it.`,
        )
      let kept = ''
      for (const character of piece.toString('latin1')) {
        const ended = walk.next(character)
        record += character
        if (ended) wider = isWider()
        // The second character of a line break follows its record.
        if (!ended && !walk.behind) continue
        if (!wider) kept += record
        record = ''
      }
      if (kept !== '') yield Buffer.from(kept, 'latin1')
    }
    if (record === '') return
    walk.next('\n')
    if (!isWider()) yield Buffer.from(record, 'latin1')
  }
  await pipeline(narrow, createWriteStream(into, { mode: 0o600 }))
  return counts
}

/** Walks over bytes as characters, and takes the marks in the same way. */
class RecordWalk {
  readonly #quote: string
  readonly #escape: string
  readonly #separator: string
  /** The number of records that have ended. */
  records = 0
  /** The line on which the present record begins, after the one before has ended. */
  line = 1
  /** The number of values of the last ended record, and whether its last value is empty. */
  values = 1
  empty = true
  /** True if the character was the second one of a line break after a record. */
  behind = false
  #count = 1
  #filled = false
  #opened = false
  #quoted = false
  /** True if a value begins here, or has ended with a quote. */
  #begins = true
  #returned = false
  #escaped = false

  constructor({ separator, quote, escape }: Marks) {
    this.#quote = asBytes(quote)
    this.#escape = escape === quote ? '' : asBytes(escape)
    this.#separator = asBytes(separator).at(-1)!
  }

  /** Takes a character. Tells whether a record ends with it. */
  next(character: string): boolean {
    const breaks = character === '\n' || character === '\r'
    const second = character === '\n' && this.#returned
    this.#returned = character === '\r'
    this.behind = second && !this.#quoted
    if (breaks && !second) this.line += 1
    if (this.behind) return false
    if (this.#isQuote(character)) return false
    if (breaks && !this.#quoted) {
      this.values = this.#count
      this.empty = !this.#filled
      this.records += 1
      this.#count = 1
      this.#value()
      return true
    }
    if (character === this.#separator && !this.#quoted) {
      this.#count += 1
      this.#value()
    } else {
      this.#filled = true
      if (!this.#quoted) this.#begins = false
    }
    return false
  }

  #value(): void {
    this.#filled = false
    this.#opened = false
    this.#begins = true
  }

  /** Tells whether the character opens or closes a value. A doubled quote closes it and opens it again. */
  #isQuote(character: string): boolean {
    if (this.#escaped) {
      this.#escaped = false
      return false
    }
    if (this.#quoted && character === this.#escape) {
      this.#escaped = true
      return true
    }
    if (character !== this.#quote || !(this.#quoted || this.#begins)) return false
    this.#quoted = !this.#quoted
    if (this.#quoted && this.#opened) this.#filled = true
    this.#opened = true
    return true
  }
}

const asBytes = (mark: string): string => Buffer.from(mark).toString('latin1')
