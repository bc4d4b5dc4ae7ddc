/**
 * Refuses a file whose first bytes belong to something else than its name says: a page of a web server in place of a
 * download, a workbook or a packed file that was renamed, or an empty file. Each refusal says what the file is and
 * what to do. The reader of its format would report another fault, or read it without one.
 */
import { open } from 'node:fs/promises'
import { type FormatName, packingOf } from '@assay/model/file'
import { SourceError } from '../source.ts'
import { headOf } from '../text/encoding.ts'
import type { SourceFile } from './source-file.ts'

const HEAD_BYTES = 512
const TEXTS: readonly FormatName[] = ['csv', 'tsv', 'json', 'ndjson']

interface Kind {
  /** What the file is, as the text after "it is". */
  is: string
  remedy: string
  begins: (bytes: Buffer, text: string) => boolean
  /** The formats whose files begin with these bytes. */
  of: readonly FormatName[]
}

const magic =
  (...values: number[]) =>
  (bytes: Buffer): boolean =>
    values.every((value, at) => bytes[at] === value)

const KINDS: readonly Kind[] = [
  {
    is: 'a page of a web server (HTML)',
    remedy:
      'It may be a sign-in or an error in place of the download: fetch the table again, and look at the file before',
    begins: (_, text) => /^\s*<(?:!doctype html|html|head|body|table)\b/i.test(text),
    of: [],
  },
  {
    is: 'XML',
    remedy: 'Save the table as CSV, JSON or a workbook',
    begins: (_, text) => /^\s*<\?xml\b/i.test(text),
    of: [],
  },
  {
    is: 'a PDF',
    remedy: 'Save the table as CSV or a workbook',
    begins: (_, text) => text.startsWith('%PDF-'),
    of: [],
  },
  {
    is: 'a zip or a workbook',
    remedy: 'Call a workbook .xlsx or .ods, and unpack a zip',
    begins: magic(0x50, 0x4b, 0x03, 0x04),
    of: ['xlsx', 'ods'],
  },
  {
    is: 'an old .xls or a file with a password',
    remedy: 'Save it as .xlsx without a password',
    begins: magic(0xd0, 0xcf, 0x11, 0xe0),
    of: ['xlsx', 'ods'],
  },
  { is: 'packed by gzip', remedy: 'Let its name end in .gz', begins: magic(0x1f, 0x8b), of: [] },
  {
    is: 'packed by Zstandard',
    remedy: 'Let its name end in .zst',
    begins: magic(0x28, 0xb5, 0x2f, 0xfd),
    of: [],
  },
  {
    is: 'Parquet',
    remedy: 'Let its name end in .parquet',
    begins: magic(0x50, 0x41, 0x52, 0x31),
    of: ['parquet'],
  },
  {
    is: 'JSON',
    remedy: 'Let its name end in .json, or in .ndjson where each line is a value of its own',
    begins: (_, text) => /^\s*(?:\[\s*[[{]|\{\s*"[^"]*"\s*:)/.test(text),
    of: ['json', 'ndjson'],
  },
]

const NO_JSON: Kind = {
  is: 'no JSON',
  remedy: 'If it is a table in text, let its name end in .csv or .tsv',
  begins: (_, text) => /^\s*(?!(?:true|false|null)\b)[A-Za-z]/.test(text),
  of: ['csv', 'tsv', 'parquet', 'avro', 'arrow', 'xlsx', 'ods'],
}

/**
 * Throws SourceError for a misnamed file. `files`: those of one source. An empty file among others holds no row, and
 * is accepted.
 */
export async function refuseMisnamed(files: readonly SourceFile[], format: FormatName): Promise<void> {
  const text = TEXTS.includes(format)
  if (files.every(({ bytes }) => bytes === 0))
    throw refusal(
      files[0]!,
      `it is empty${format === 'csv' || format === 'tsv' ? ', and its first row must name the columns' : ': it has no bytes: write it again'}`,
    )
  for (const file of files) {
    const packed = text && packingOf(file.path) !== null
    const raw = await beginOf(file)
    const found = packed ? null : kindOf(raw, format)
    if (found) throw refusal(file, `it is ${found.is}. ${found.remedy}`)
    if (!packed) continue
    const inner = kindOf((await headOf(file, HEAD_BYTES)).bytes, format)
    if (inner) throw refusal(file, `unpacked it is ${inner.is}. ${inner.remedy}`)
  }
}

const refusal = ({ path }: SourceFile, reason: string): SourceError =>
  new SourceError(`${JSON.stringify(path)} cannot be read: ${reason}.`)

function kindOf(bytes: Buffer, format: FormatName): Kind | null {
  const text = bytes.toString('latin1').replace(/^ï»¿/, '')
  return [...KINDS, NO_JSON].find(({ of, begins }) => !of.includes(format) && begins(bytes, text)) ?? null
}

async function beginOf({ real }: SourceFile): Promise<Buffer> {
  const handle = await open(real)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0)
    return buffer.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}
