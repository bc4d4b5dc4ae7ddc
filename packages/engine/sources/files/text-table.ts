/**
 * Where a table in text begins, and the wording of its faults. Without these DuckDB skips rows that are shorter than those
 * below them, takes names such as 2024 for values, and keeps the quotes of a first name after a byte order mark.
 */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import { isPacked } from '@assay/model/file'
import type { Column } from '@assay/model/insight'
import { SourceError } from '../source.ts'
import type { Beginning, SourceFile } from './source-file.ts'

const HEAD_BYTES = 65_536

/** The first bytes of the text, decompressed. */
async function headOf({ path, real }: SourceFile): Promise<Buffer> {
  if (isPacked(path)) {
    const file = createReadStream(real)
    const unpacked = createGunzip()
    file.on('error', (error) => unpacked.destroy(error)).pipe(unpacked)
    try {
      for await (const bytes of unpacked) return (bytes as Buffer).subarray(0, HEAD_BYTES)
    } catch {
      throw new SourceError(`${JSON.stringify(path)} cannot be read: it is no whole gzip file.`)
    } finally {
      file.destroy()
    }
    return Buffer.alloc(0)
  }
  const handle = await open(real)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

/** The common beginning of all files. Rejects with SourceError if they differ. */
export async function beginningOf(files: SourceFile[], file: string): Promise<Beginning> {
  const heads = (await Promise.all(files.map(headOf))).filter((head) => head.length > 0)
  if (heads.length === 0)
    throw new SourceError(
      `${JSON.stringify(file)} cannot be read: it is empty, and its first row must name the columns.`,
    )
  const beginnings = heads.map((head) => /^\uFEFF?((?:[ \t]*\r?\n)*)("?)/.exec(head.toString())!)
  const counts = new Set(beginnings.map(([, lines]) => lines!.split('\n').length - 1))
  if (counts.size === 1)
    return { blank: [...counts][0]!, quoted: beginnings.every(([, , quote]) => quote === '"') }
  throw new SourceError(
    `The files that ${JSON.stringify(file)} names begin with more and fewer blank lines: let each begin with its row of names.`,
  )
}

const UNEVEN = 'its rows do not have the same number of columns, or a quote is not closed'

/** DuckDB reads a table with rows of different lengths as one column of whole lines. */
export function columnsFault(columns: Column[]): string | null {
  const names = columns.map(({ name }) => name)
  if (names.length === 1 && /[,;|\t]/.test(names[0]!)) return UNEVEN
  return names.every((name) => !Number.isNaN(Number(name.replace(',', '.'))))
    ? 'its first row must name the columns, and holds numbers only'
    : null
}

/** DuckDB's message without the quoted line, which can be megabytes long, and without its hints. */
export function tableFault(error: Error): string | null {
  if (error.message.includes('Error when sniffing file'))
    return `${UNEVEN}, or its lines do not all end in the same way.`
  const place = /CSV Error on Line: (\d+)\nOriginal Line: [^]*?\n([^\n]+)(?:\n\s*\n|$)/.exec(error.message)
  return place && `line ${place[1]}: ${place[2]}`
}
