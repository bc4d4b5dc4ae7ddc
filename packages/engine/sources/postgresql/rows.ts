/**
 * Collects rows from the socket. Fields of plain types come in binary form and texts as they are, both into packed
 * columns. All others are read from their text (docs/decisions/0040-packed-columns.md).
 */
import type { RemoteColumn } from '../kind.ts'
import { type BatchColumn, PackedColumn, ValueColumn } from '../rows/columns.ts'
import { misfit } from '../rows/misfit.ts'
import { PackedText } from '../rows/packed-text.ts'
import type { Mapped } from './types.ts'

/** Receives a message of the server: its code, and its bytes after the length. */
export type OnMessage = (code: number, from: Buffer, at: number, end: number) => void

const HEADER = 5

/** Divides the stream into messages. A message that comes in many pieces is joined once. */
export function messagesOf(onMessage: OnMessage): (piece: Buffer) => void {
  let waiting: Buffer[] = []
  let held = 0
  let wanted = HEADER
  return (piece) => {
    waiting.push(piece)
    held += piece.length
    if (held < wanted) return
    const all = waiting.length === 1 ? piece : Buffer.concat(waiting, held)
    let at = 0
    wanted = HEADER
    while (at + HEADER <= all.length) {
      const end = at + 1 + all.readUInt32BE(at + 1)
      if (end > all.length) {
        wanted = end - at
        break
      }
      onMessage(all[at]!, all, at + HEADER, end)
      at = end
    }
    waiting = at === all.length ? [] : [all.subarray(at)]
    held = all.length - at
  }
}

/** The rows of one batch, by column. */
export class RowCollector {
  readonly #columns: readonly RemoteColumn[]
  readonly #mapped: readonly Mapped[]
  #data: BatchColumn[] = []
  #room = 0
  rows = 0
  /** The bytes of the fields, as received. */
  bytes = 0

  constructor(columns: readonly RemoteColumn[], mapped: readonly Mapped[]) {
    this.#columns = columns
    this.#mapped = mapped
  }

  /** Starts a batch of at most `most` rows. */
  begin(most: number): void {
    this.rows = 0
    this.bytes = 0
    if (most > this.#room) {
      this.#room = most
      this.#data = this.#mapped.map(({ packing, plain }) => {
        if (packing) return new PackedColumn(packing.width, most)
        return plain ? new PackedText(most) : new ValueColumn()
      })
    }
    for (const data of this.#data) data.clear()
  }

  get columns(): readonly BatchColumn[] {
    return this.#data
  }

  /** Takes a DataRow: for each field its length, or -1 for null, and its bytes. Throws SourceError. */
  take(from: Buffer, start: number): void {
    let at = start + 2
    for (let index = 0; index < this.#mapped.length; index += 1) {
      const length = from.readInt32BE(at)
      at += 4
      if (length < 0) this.#data[index]!.setNull(this.rows)
      else {
        this.#put(index, from, at, length)
        this.bytes += length
        at += length
      }
    }
    this.rows += 1
  }

  #put(index: number, from: Buffer, at: number, length: number): void {
    const data = this.#data[index]!
    const { packing, read } = this.#mapped[index]!
    let text = ''
    try {
      if (data instanceof PackedColumn) packing!.put(from, at, length, data, this.rows)
      else if (data instanceof PackedText) data.setDecoded(this.rows, from, at, length)
      else {
        text = from.toString('utf8', at, at + length)
        data.set(this.rows, read(text))
      }
    } catch (error) {
      if (!(error instanceof RangeError || error instanceof SyntaxError)) throw error
      throw misfit(this.#columns[index]!, packing ? error.message : text)
    }
  }
}
