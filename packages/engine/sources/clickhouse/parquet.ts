/**
 * Saves the rows of a query as the Parquet file that ClickHouse writes itself, on the job's disk. No value passes
 * through this process (measured: docs/decisions/0141-rows-of-clickhouse-are-a-parquet-file.md).
 */
import { createWriteStream } from 'node:fs'
import { pipeline } from 'node:stream/promises'

/**
 * The settings of the file, chosen so that it is quick to write and to read: values as they are, a dictionary for few
 * distinct ones, packed by LZ4. Older servers lack some of these settings and refuse an unknown one.
 */
export const PARQUET_SETTINGS: Readonly<Record<string, string>> = {
  output_format_parquet_string_as_string: '1',
  output_format_parquet_fixed_string_as_fixed_byte_array: '0',
  output_format_parquet_compression_method: 'lz4',
  output_format_parquet_max_dictionary_size: '4096',
  output_format_parquet_write_page_index: '0',
  output_format_parquet_write_bloom_filter: '0',
}

const MARK = 'PAR1'
const WRITE_BYTES = 4_000_000
/** The most bytes of an exception after the rows. */
const TAIL_BYTES = 8000

export interface Saved {
  bytes: number
  /** The end of an incomplete file, where a server reports a fault after the first rows; null for a complete file. */
  tail: string | null
  /** The reason if the body ended too early; null if it did not. */
  broken: Error | null
}

/** Writes a body to a file. `vet` is called with the bytes so far; if it throws, the writing ends with that error. */
export async function saveBody(
  body: AsyncIterable<Buffer>,
  file: string,
  vet: (bytes: number) => void | Promise<void>,
): Promise<Saved> {
  let bytes = 0
  let end: Buffer = Buffer.alloc(0)
  let broken: Error | null = null
  const received = async function* (): AsyncGenerator<Buffer> {
    const pieces = body[Symbol.asyncIterator]()
    for (;;) {
      const next = await pieces.next().catch((error: unknown) => {
        broken = error as Error
        return null
      })
      if (!next || next.done) return
      const piece = next.value
      bytes += piece.length
      await vet(bytes)
      end = (piece.length < TAIL_BYTES ? Buffer.concat([end, piece]) : piece).subarray(-TAIL_BYTES)
      yield piece
    }
  }
  await pipeline(received, createWriteStream(file, { flags: 'wx', mode: 0o600, highWaterMark: WRITE_BYTES }))
  const whole = broken === null && end.toString('latin1').endsWith(MARK)
  return { bytes, tail: whole ? null : end.toString('utf8'), broken }
}
