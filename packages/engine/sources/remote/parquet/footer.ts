/**
 * Rewrites the footer of a Parquet file without some row groups, so that a reader never looks for their bytes. The
 * footer is a struct of Thrift's compact protocol; fields are passed over by their types and copied as they are.
 */

/** These are fields of FileMetaData. */
const NUM_ROWS = 3
const ROW_GROUPS = 4
/** This is a field of RowGroup. */
const GROUP_ROWS = 3
const I64 = 6
const DEPTH_MAX = 32

/** Says that the footer is not as the format requires. */
export class BadFooter extends Error {}

class Walk {
  readonly #bytes: Buffer
  at = 0

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes
    this.at = at
  }

  byte(): number {
    if (this.at >= this.#bytes.length) throw new BadFooter('The footer ends early.')
    const value = this.#bytes[this.at]!
    this.at += 1
    return value
  }

  varint(): bigint {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = this.byte()
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    throw new BadFooter('A number of the footer is too long.')
  }

  count(): number {
    const value = Number(this.varint())
    if (value > this.#bytes.length) throw new BadFooter('A length of the footer is too large.')
    return value
  }

  pass(bytes: number): void {
    this.at += bytes
    if (this.at > this.#bytes.length) throw new BadFooter('The footer ends early.')
  }

  /** Reads the head of a list: the number of its elements, and their type. */
  list(): { size: number; type: number } {
    const head = this.byte()
    const size = head >> 4
    return { size: size === 15 ? this.count() : size, type: head & 15 }
  }

  /** Passes over a value. The type itself holds true and false of a struct; in a list they have a byte. */
  skip(type: number, isElement: boolean, depth = 0): void {
    if (depth > DEPTH_MAX) throw new BadFooter('The footer is nested too deeply.')
    switch (type) {
      case 1:
      case 2:
        if (isElement) this.pass(1)
        return
      case 3:
        return this.pass(1)
      case 4:
      case 5:
      case 6:
        this.varint()
        return
      case 7:
        return this.pass(8)
      case 8:
        return this.pass(this.count())
      case 9:
      case 10: {
        const { size, type: of } = this.list()
        for (let index = 0; index < size; index += 1) this.skip(of, true, depth + 1)
        return
      }
      case 11: {
        const size = this.count()
        const kinds = size === 0 ? 0 : this.byte()
        for (let index = 0; index < size; index += 1) {
          this.skip(kinds >> 4, true, depth + 1)
          this.skip(kinds & 15, true, depth + 1)
        }
        return
      }
      case 12:
        for (const field of this.fields()) this.skip(field.type, false, depth + 1)
        return
      default:
        throw new BadFooter(`The footer has a value of the type ${type}.`)
    }
  }

  /** Gives the fields of a struct. The caller must pass over the value of each field. */
  *fields(): Generator<{ id: number; type: number }> {
    let id = 0
    for (;;) {
      const head = this.byte()
      if (head === 0) return
      const delta = head >> 4
      if (delta === 0) {
        const raw = this.varint()
        id = Number((raw >> 1n) ^ -(raw & 1n))
      } else id += delta
      yield { id, type: head & 15 }
    }
  }
}

function varint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = value
  do {
    const low = Number(rest & 0x7fn)
    rest >>= 7n
    bytes.push(rest > 0n ? low | 0x80 : low)
  } while (rest > 0n)
  return Buffer.from(bytes)
}

const zigzag = (value: bigint): bigint => value * 2n
const unzigzag = (value: bigint): bigint => (value >> 1n) ^ -(value & 1n)

const listHead = (size: number, type: number): Buffer =>
  size < 15
    ? Buffer.from([(size << 4) | type])
    : Buffer.concat([Buffer.from([0xf0 | type]), varint(BigInt(size))])

interface Part {
  from: number
  until: number
}

/** Returns the rows of the row group that stands there. */
function rowsOf(footer: Buffer, { from }: Part): bigint {
  const walk = new Walk(footer, from)
  for (const { id, type } of walk.fields()) {
    if (id === GROUP_ROWS && type === I64) return unzigzag(walk.varint())
    walk.skip(type, false)
  }
  throw new BadFooter('A row group does not tell its rows.')
}

/** Returns the footer with only the row groups of these numbers, and their rows. Throws BadFooter. */
export function keepRowGroups(footer: Buffer, kept: ReadonlySet<number>): Buffer {
  const walk = new Walk(footer)
  let rows: Part | null = null
  let groups: (Part & { parts: Part[]; type: number }) | null = null
  for (const { id, type } of walk.fields()) {
    const from = walk.at
    if (id === ROW_GROUPS && type === 9) {
      const { size, type: of } = walk.list()
      const parts: Part[] = []
      for (let index = 0; index < size; index += 1) {
        const start = walk.at
        walk.skip(of, true)
        parts.push({ from: start, until: walk.at })
      }
      groups = { from, until: walk.at, parts, type: of }
    } else {
      walk.skip(type, false)
      if (id === NUM_ROWS && type === I64) rows = { from, until: walk.at }
    }
  }
  if (!rows || !groups || rows.from > groups.from) throw new BadFooter('The footer has no row groups.')
  const parts = groups.parts.filter((_, index) => kept.has(index))
  const sum = parts.reduce((all, part) => all + rowsOf(footer, part), 0n)
  return Buffer.concat([
    footer.subarray(0, rows.from),
    varint(zigzag(sum)),
    footer.subarray(rows.until, groups.from),
    listHead(parts.length, groups.type),
    ...parts.map(({ from, until }) => footer.subarray(from, until)),
    footer.subarray(groups.until),
  ])
}
