/** Bytes that come in parts, however many. A byte is copied a few times at most, because the room doubles. */
export class Received {
  #room = Buffer.alloc(65_536)
  #from = 0
  #to = 0

  add(part: Buffer): void {
    if (this.#to + part.length > this.#room.length) {
      const larger = Buffer.alloc(2 * (this.#to + part.length))
      this.#room.copy(larger, 0, 0, this.#to)
      this.#room = larger
    }
    part.copy(this.#room, this.#to)
    this.#to += part.length
  }

  /** Bytes of memory. */
  get room(): number {
    return this.#room.length
  }

  /** The bytes that were not taken yet. */
  get bytes(): Buffer {
    return this.#room.subarray(this.#from, this.#to)
  }

  take(length: number): Buffer {
    const taken = this.bytes.subarray(0, length)
    this.#from += length
    return taken
  }
}
