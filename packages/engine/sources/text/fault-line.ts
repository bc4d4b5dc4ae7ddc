/**
 * The line on which a record of a text begins. The engine names a broken row by the number of its record; where a quoted value above
 * holds a line break, that is not its line.
 */
import type { SourceFile } from '../files/source-file.ts'
import { piecesOf } from './encoding.ts'
import type { Marks } from './records.ts'

/** From 1; null: there is no such record. */
export async function lineOfRecord(file: SourceFile, record: number, marks: Marks): Promise<number | null> {
  const counter = new LineCounter(record, marks)
  for await (const piece of piecesOf(file)) if (counter.passes(piece.toString('latin1'))) break
  return counter.found
}

/** Sees the bytes as characters; those of the marks, too. */
class LineCounter {
  readonly #record: number
  readonly #quote: string
  readonly #escape: string
  readonly #separator: string
  #records = 1
  #line = 1
  /** Within a quoted value. */
  #quoted = false
  /** Where a value begins, or has ended with a quote. */
  #begins = true
  /** Behind a carriage return. */
  #returned = false
  /** Behind an escape within a quoted value. */
  #escaped = false
  found: number | null = null

  constructor(record: number, { separator, quote, escape }: Marks) {
    this.#record = record
    this.#quote = asBytes(quote)
    this.#escape = escape === quote ? '' : asBytes(escape)
    this.#separator = asBytes(separator).at(-1)!
  }

  /** Whether the record was reached. */
  passes(text: string): boolean {
    for (let at = 0; at < text.length && this.found === null; at += 1) this.#next(text[at]!)
    return this.found !== null
  }

  #next(character: string): void {
    const breaks = character === '\n' || character === '\r'
    // The second half of a line break ends nothing.
    const second = character === '\n' && this.#returned
    this.#returned = character === '\r'
    if (breaks && !second) this.#line += 1
    if (this.#escaped) this.#escaped = false
    else if (this.#quoted && character === this.#escape) this.#escaped = true
    // A doubled quote ends the value and begins it again.
    else if (character === this.#quote && (this.#quoted || this.#begins)) this.#quoted = !this.#quoted
    else if (!this.#quoted) {
      if (breaks && !second) this.#records += 1
      this.#begins = breaks || character === this.#separator
      if (this.#records === this.#record) this.found = this.#line
    }
  }
}

const asBytes = (mark: string): string => Buffer.from(mark).toString('latin1')
