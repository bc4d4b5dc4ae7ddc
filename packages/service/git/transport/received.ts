/**
 * Collects bytes that arrive in parts. The buffer doubles when it is full, so each byte is copied only a few times
 * however many parts arrive.
 */
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

  /** The bytes of memory that it holds. */
  get room(): number {
    return this.#room.length
  }

  /** The bytes that the caller has not taken yet. */
  get bytes(): Buffer {
    return this.#room.subarray(this.#from, this.#to)
  }

  take(length: number): Buffer {
    const taken = this.bytes.subarray(0, length)
    this.#from += length
    return taken
  }
}
