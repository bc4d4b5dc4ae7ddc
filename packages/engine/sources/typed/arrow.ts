/** Reads an Arrow IPC file or stream (also Feather 2) batch by batch, by its own schema. apache-arrow divides it; values are read here, exactly. */
import { type FileHandle, open } from 'node:fs/promises'
import { zstdDecompressSync } from 'node:zlib'
import { CompressionType, compressionRegistry, RecordBatchReader } from 'apache-arrow'
import lz4 from 'lz4js'
import type { SourceFile } from '../files/source-file.ts'
import { SourceError } from '../source.ts'
import { ArrowColumn, NoArrowType, typeOf } from './arrow-types.ts'
import { type OpenTyped, unreadableFile } from './typed-text.ts'

/** The most rows that are made at once. A batch may hold all rows of the file. */
const ROWS_AT_ONCE = 10_000
const UNPACKED_MOST = 1_000_000_000

compressionRegistry.set(CompressionType.LZ4_FRAME, { decode: (bytes) => lz4.decompress(bytes) })
compressionRegistry.set(CompressionType.ZSTD, {
  decode: (bytes) => zstdDecompressSync(bytes, { maxOutputLength: UNPACKED_MOST }),
})

const MAGIC = 'ARROW1'
const FEATHER_1 = 'FEA1'
/** The bytes with which a message of a stream begins. */
const CONTINUED = 0xffffffff

/** Throws SourceError if a file does not end with its mark, or a stream does not begin with a message. */
async function vetMarks(file: SourceFile, handle: FileHandle): Promise<void> {
  const head = Buffer.alloc(8)
  await handle.read(head, 0, 8, 0)
  if (head.toString('latin1', 0, 4) === FEATHER_1)
    throw unreadableFile(file, 'it is Feather of the first version: write it in the second, or as Parquet.')
  if (head.toString('latin1', 0, 6) === MAGIC) {
    const tail = Buffer.alloc(6)
    await handle.read(tail, 0, 6, Math.max(0, file.bytes - 6))
    if (tail.toString('latin1') === MAGIC && file.bytes > 20) return
    throw unreadableFile(file, `it does not end with "${MAGIC}": it is not whole. Write it again.`)
  }
  if (head.readUInt32LE(0) !== CONTINUED)
    throw unreadableFile(
      file,
      `it is not Arrow IPC: it begins neither with "${MAGIC}" nor with a message of a stream.`,
    )
  const end = Buffer.alloc(8)
  await handle.read(end, 0, 8, Math.max(0, file.bytes - 8))
  if (end.readUInt32LE(0) !== CONTINUED || end.readUInt32LE(4) !== 0)
    throw unreadableFile(file, 'the stream does not end with its mark: it is not whole. Write it again.')
}

/** Opens an Arrow file. Throws SourceError. */
export const openArrow: OpenTyped = async (file) => {
  const handle = await open(file.real)
  try {
    await vetMarks(file, handle)
    const reader = await (await RecordBatchReader.from(handle)).open()
    const { fields } = reader.schema
    const columns = fields.map(({ name, type }) => ({ name, type: typeOf(type, name) }))
    return {
      columns,
      async *rows() {
        try {
          for await (const { numRows, data } of reader) {
            const read = data.children.map((child) => new ArrowColumn(child))
            for (let from = 0; from < numRows; from += ROWS_AT_ONCE) {
              const length = Math.min(ROWS_AT_ONCE, numRows - from)
              yield Array.from({ length }, (_, row) => read.map((column) => column.json(from + row)))
            }
          }
        } catch (error) {
          throw explained(file, error)
        }
      },
      async close() {
        await reader.cancel().catch(() => undefined)
        await handle.close().catch(() => undefined)
      },
    }
  } catch (error) {
    await handle.close().catch(() => undefined)
    throw explained(file, error)
  }
}

function explained(file: SourceFile, error: unknown): unknown {
  if (error instanceof SourceError) return error
  if (error instanceof NoArrowType) return unreadableFile(file, error.message)
  return unreadableFile(file, `it is not a whole Arrow IPC file (${(error as Error).message}).`)
}
