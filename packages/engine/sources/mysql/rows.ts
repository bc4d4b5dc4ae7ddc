/**
 * Collects the rows of a prepared query. A parser of ours takes the place of the library's and writes each row from its
 * packet into packed columns (docs/decisions/0040-packed-columns.md). The socket pauses while a batch waits.
 */
import type { EventEmitter } from 'node:events'
import type { RemoteColumn } from '../kind.ts'
import { roomFor } from '../rows/columns.ts'
import { misfit } from '../rows/misfit.ts'
import { type Column, type Field, mapField, type Packet } from './types.ts'

/** The capacity of a batch. Half of it completes a batch, since more rows can arrive with the same piece. */
const ROWS_MOST = 16_384
const BATCH_BYTES = 2_000_000

/** The private parts of the library's connection that are used here. */
export interface Wire extends EventEmitter {
  readonly stream: { pause(): void }
  /** Stops the stream and also holds back packets that have already arrived. */
  pause(): void
  resume(): void
}

/** The private parts of a command of the library. The command asks for a parser when it knows the columns. */
export interface Command extends EventEmitter {
  buildParserFromFields(fields: Field[]): new () => { next(packet: Packet): void }
}

export class Rows {
  readonly #wire: Wire
  #columns: Column[] | null = null
  #room = ROWS_MOST
  #rows = 0
  #bytes = 0
  #ended = false
  #failure: Error | null = null
  #wake: () => void = () => undefined

  /** Makes the collector. `zoned`: whether moments arrive as times of another zone than UTC. */
  constructor(wire: Wire, command: Command, zoned = false) {
    this.#wire = wire
    const take = (packet: Packet): void => this.#take(packet)
    command.buildParserFromFields = (fields) => {
      this.#room = roomFor(fields.length, ROWS_MOST)
      this.#columns = fields.map((field) => mapField(field, this.#room, zoned))
      this.#wake()
      return class {
        next(packet: Packet): void {
          take(packet)
        }
      }
    }
    const fail = (error: Error): void => {
      if (!this.#ended) this.#failure ??= error
      this.#wake()
    }
    command.on('error', fail)
    // The command is not told of a lost connection.
    wire.on('error', fail)
    command.on('end', () => {
      this.#ended = true
      this.#wake()
    })
  }

  /** Resolves to the columns when the server has sent them. */
  async columns(): Promise<readonly RemoteColumn[]> {
    await this.#until(() => this.#columns !== null)
    return this.#columns!
  }

  /** Resolves to the next batch, in the same columns every time; null after the last. */
  async next(): Promise<{ rows: number; bytes: number; columns: Column['data'][] } | null> {
    await this.#until(() => this.#enough() || this.#ended)
    if (this.#rows === 0) return null
    return { rows: this.#rows, bytes: this.#bytes, columns: this.#columns!.map(({ data }) => data) }
  }

  /** Releases the batch for the next one. */
  clear(): void {
    for (const { data } of this.#columns!) data.clear()
    this.#rows = 0
    this.#bytes = 0
    if (!this.#ended) this.#wire.resume()
  }

  async #until(holds: () => boolean): Promise<void> {
    while (!this.#failure && !holds())
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    if (this.#failure) throw this.#failure
  }

  #enough(): boolean {
    return this.#rows >= this.#room / 2 || this.#bytes >= BATCH_BYTES
  }

  /** Takes a row: a zero byte, a bitmap of nulls whose first two bits are unused, and the values. */
  #take(packet: Packet): void {
    if (this.#failure) return
    const columns = this.#columns!
    const { buffer } = packet
    const bitmap = packet.offset + 1
    const from = bitmap + ((columns.length + 9) >>> 3)
    packet.offset = from
    for (let index = 0; index < columns.length; index += 1) {
      const column = columns[index]!
      const bit = index + 2
      if (buffer[bitmap + (bit >>> 3)]! & (1 << (bit & 7))) column.data.setNull(this.#rows)
      else {
        try {
          column.put(packet, this.#rows)
        } catch (error) {
          this.#failure = error instanceof RangeError ? misfit(column, error.message) : (error as Error)
          this.#wake()
          return
        }
      }
    }
    this.#rows += 1
    this.#bytes += packet.end - from
    if (this.#rows === this.#room) this.#wire.pause()
    else if (this.#enough()) this.#wire.stream.pause()
    if (this.#enough()) this.#wake()
  }
}
