/**
 * Reads an Avro file block by block, by its own schema. The container is read here, so that a file that is cut off or damaged is refused
 * and never read in part; avsc decodes the values.
 */
import { type FileHandle, open } from 'node:fs/promises'
import { crc32, inflateRawSync, zstdDecompressSync } from 'node:zlib'
import avro, { type Type } from 'avsc'
import { snappyUncompress } from 'hysnappy'
import type { SourceFile } from '../files/source-file.ts'
import { SourceError } from '../source.ts'
import { AvroTypes, NoSuchType } from './avro-types.ts'
import { type OpenTyped, type Typed, type TypedTable, unreadableFile } from './typed-text.ts'

const MAGIC = Buffer.from('Obj\u0001')
const SYNC_BYTES = 16
/** The most bytes of one block, packed or not. */
const BLOCK_MOST = 256_000_000
/** The most bytes before the first block, with the schema. */
const HEAD_MOST = 16_000_000
const CUT = 'it ends within a block: it is not whole. Write it again.'

/** Reads the bytes of a file in order. */
class Bytes {
  readonly #handle: FileHandle
  #at = 0
  #held: Buffer = Buffer.alloc(0)

  constructor(handle: FileHandle) {
    this.#handle = handle
  }

  async #more(least: number): Promise<boolean> {
    const part = Buffer.alloc(Math.max(least, 1 << 16))
    const { bytesRead } = await this.#handle.read(part, 0, part.length, this.#at)
    this.#at += bytesRead
    this.#held = Buffer.concat([this.#held, part.subarray(0, bytesRead)])
    return bytesRead > 0
  }

  async isEnded(): Promise<boolean> {
    return this.#held.length === 0 && !(await this.#more(1))
  }

  /** Reads so many bytes. Resolves to null if the file ends before. */
  async take(length: number): Promise<Buffer | null> {
    while (this.#held.length < length) if (!(await this.#more(length - this.#held.length))) return null
    const taken = this.#held.subarray(0, length)
    this.#held = this.#held.subarray(length)
    return taken
  }

  /**
   * Reads a long of Avro: seven bits in each byte, the sign in the lowest bit. Resolves to null if the file ends
   * before, or the bytes are no long.
   */
  async long(): Promise<number | null> {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const [byte] = (await this.take(1)) ?? []
      if (byte === undefined) return null
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) {
        const signed = (value >> 1n) ^ -(value & 1n)
        return signed >= -BigInt(BLOCK_MOST) * 8n && signed <= BigInt(BLOCK_MOST) * 8n ? Number(signed) : null
      }
    }
    return null
  }

  async bytes(most: number): Promise<Buffer | null> {
    const length = await this.long()
    return length === null || length < 0 || length > most ? null : this.take(length)
  }
}

const long = avro.types.LongType.__with({
  fromBuffer: (buffer) => buffer.readBigInt64LE(),
  toBuffer(value) {
    const buffer = Buffer.alloc(8)
    buffer.writeBigInt64LE(value)
    return buffer
  },
  fromJSON: (value) => BigInt(value as number),
  toJSON: Number,
  isValid: (value) => typeof value === 'bigint',
  compare: (one, other) => (one === other ? 0 : one < other ? -1 : 1),
})

/**
 * Replaces types for avsc. A long with a logical type is not looked up in the registry. A map has the bytes of a list
 * of keys with values, and is read as one, because an object would lose the key `__proto__`.
 */
function typeHook(part: { type?: unknown } | string | unknown[], options: object): Type | undefined {
  if (typeof part !== 'object' || !('type' in part)) return undefined
  if (part.type === 'long') return long
  if (part.type !== 'map') return undefined
  const fields = [
    { name: 'key', type: 'string' },
    { name: 'value', type: (part as { values?: unknown }).values },
  ]
  return avro.Type.forSchema({ type: 'array', items: { type: 'record', fields } }, options)
}

const CODECS: Record<string, (bytes: Buffer) => Uint8Array> = {
  null: (bytes) => bytes,
  deflate: (bytes) => inflateRawSync(bytes, { maxOutputLength: BLOCK_MOST }),
  zstandard: (bytes) => zstdDecompressSync(bytes, { maxOutputLength: BLOCK_MOST }),
  snappy: unpackSnappy,
}

/** Unpacks Snappy. The length stands before the packed bytes, and a CRC-32 of the unpacked ones behind them. */
function unpackSnappy(bytes: Buffer): Uint8Array {
  let length = 0
  for (let at = 0; at < 5; at += 1) {
    length += (bytes[at]! & 0x7f) * 2 ** (7 * at)
    if (bytes[at]! < 0x80) break
  }
  if (!(length <= BLOCK_MOST)) throw new Error('a block is too large')
  const unpacked = snappyUncompress(bytes.subarray(0, -4), length)
  if (crc32(unpacked) !== bytes.readUInt32BE(bytes.length - 4))
    throw new Error('a block has a wrong checksum')
  return unpacked
}

interface Head {
  meta: Map<string, Buffer>
  sync: Buffer
}

async function readHead(bytes: Bytes): Promise<Head | null> {
  const meta = new Map<string, Buffer>()
  for (;;) {
    let count = await bytes.long()
    if (count === null) return null
    if (count === 0) break
    if (count < 0) {
      count = -count
      if ((await bytes.long()) === null) return null
    }
    for (; count > 0; count -= 1) {
      const key = await bytes.bytes(HEAD_MOST)
      const value = await bytes.bytes(HEAD_MOST)
      if (!key || !value) return null
      meta.set(key.toString(), Buffer.from(value))
    }
  }
  const sync = await bytes.take(SYNC_BYTES)
  return sync && { meta, sync: Buffer.from(sync) }
}

/** Opens an Avro file. Throws SourceError. */
export const openAvro: OpenTyped = async (file) => {
  const handle = await open(file.real)
  try {
    const bytes = new Bytes(handle)
    if (!(await bytes.take(MAGIC.length))?.equals(MAGIC))
      throw unreadableFile(file, 'it is not an Avro file: it does not begin with "Obj" and 1.')
    const head = await readHead(bytes)
    if (!head) throw unreadableFile(file, 'it ends before its first block: it is not whole. Write it again.')
    return tableOf(file, handle, bytes, head)
  } catch (error) {
    await handle.close()
    throw error
  }
}

function tableOf(file: SourceFile, handle: FileHandle, bytes: Bytes, { meta, sync }: Head): TypedTable {
  const codec = meta.get('avro.codec')?.toString() ?? 'null'
  const unpack = CODECS[codec]
  if (!unpack)
    throw unreadableFile(
      file,
      `its blocks are packed by ${JSON.stringify(codec)}: write it with one of ${Object.keys(CODECS).join(', ')}.`,
    )
  const { type, fields } = schemaOf(file, meta.get('avro.schema')?.toString() ?? '')
  return {
    columns: fields,
    async *rows() {
      while (!(await bytes.isEnded())) {
        const count = await bytes.long()
        const packed = await bytes.bytes(BLOCK_MOST)
        const mark = packed && (await bytes.take(SYNC_BYTES))
        if (count === null || count < 0 || !packed || !mark) throw unreadableFile(file, CUT)
        if (!mark.equals(sync))
          throw unreadableFile(file, 'a block does not end with the mark of the file: it is damaged.')
        yield rowsOf(file, { count, block: unpacked(file, unpack, packed), type, fields })
      }
    },
    close: () => handle.close(),
  }
}

function unpacked(file: SourceFile, unpack: (bytes: Buffer) => Uint8Array, packed: Buffer): Buffer {
  try {
    const block = unpack(packed)
    return Buffer.from(block.buffer, block.byteOffset, block.byteLength)
  } catch (error) {
    throw unreadableFile(file, `a block cannot be unpacked (${(error as Error).message}): it is damaged.`)
  }
}

interface Block {
  count: number
  block: Buffer
  type: Type
  fields: readonly (Typed & { name: string })[]
}

function rowsOf(file: SourceFile, { count, block, type, fields }: Block): unknown[][] {
  const rows: unknown[][] = []
  let at = 0
  try {
    for (; count > rows.length; ) {
      const { value, offset } = type.decode(block, at)
      if (offset < 0) throw new Error('a value is cut off')
      at = offset
      const record = value as Record<string, unknown>
      rows.push(fields.map(({ name, json }) => json(record[name])))
    }
  } catch (error) {
    if (error instanceof SourceError) throw error
    throw unreadableFile(
      file,
      `a block does not fit the schema (${(error as Error).message}): it is damaged.`,
    )
  }
  if (at !== block.length) throw unreadableFile(file, 'a block holds more than its rows: it is damaged.')
  return rows
}

/** The most fields, as many as a sheet has columns. Each costs time before the first row is read. */
const FIELDS_MOST = 16_384

function schemaOf(file: SourceFile, text: string): Pick<Block, 'type' | 'fields'> {
  try {
    const schema = JSON.parse(text) as { type?: unknown; name?: string; namespace?: string }
    if (schema?.type !== 'record')
      throw new NoSuchType('its values are not records with fields, which would be the columns.')
    const { fields } = schema as { fields?: unknown }
    if (Array.isArray(fields) && fields.length > FIELDS_MOST)
      throw new NoSuchType(`it has more than ${FIELDS_MOST} columns.`)
    const type = avro.Type.forSchema(schema, {
      registry: { long },
      typeHook,
      wrapUnions: true,
    })
    const types = new AvroTypes()
    const space = schema.namespace ?? /^(.*)\.[^.]*$/.exec(schema.name ?? '')?.[1] ?? ''
    return { type, fields: types.fields(schema, null, space) }
  } catch (error) {
    if (error instanceof NoSuchType) throw unreadableFile(file, error.message)
    throw unreadableFile(file, `its schema is not valid: ${(error as Error).message}.`)
  }
}
