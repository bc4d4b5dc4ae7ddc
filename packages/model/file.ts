/**
 * A file: an upload of a workspace, with its path, format and size. Templates name it as `uploads/PATH`, so it cannot be
 * confused with a file of the operator's data folder.
 */
import type { Static } from 'typebox'
import { Type } from './schema.ts'

/** The prefix of an upload in a template's `file:`. */
export const UPLOADS = 'uploads/'

export const StoredFile = Type.Object(
  {
    path: Type.String({ description: 'The path within the uploads of the workspace' }),
    file: Type.String({ description: 'How a template names it: uploads/PATH' }),
    bytes: Type.Integer({ minimum: 0 }),
    media_type: Type.String(),
    updated_at: Type.String({ format: 'date-time' }),
    etag: Type.String({ description: 'Identifies the content; for If-Match and If-None-Match' }),
  },
  { title: 'File' },
)
export type StoredFile = Static<typeof StoredFile>

export type FormatName = 'csv' | 'tsv' | 'json' | 'ndjson' | 'parquet' | 'avro' | 'arrow' | 'xlsx' | 'ods'

export interface FileFormat {
  name: FormatName
  endings: RegExp
  media_type: string
}

const row = (name: FormatName, endings: RegExp, media_type: string): FileFormat => ({
  name,
  endings,
  media_type,
})

/** The formats that can be read, recognized by the file's ending. Text formats may be packed by gzip or Zstandard. */
export const FILE_FORMATS: readonly FileFormat[] = [
  row('csv', /\.csv(\.(gz|zst))?$/i, 'text/csv; charset=utf-8'),
  row('tsv', /\.tsv(\.(gz|zst))?$/i, 'text/tab-separated-values; charset=utf-8'),
  row('json', /\.json(\.(gz|zst))?$/i, 'application/json'),
  row('ndjson', /\.(ndjson|jsonl)(\.(gz|zst))?$/i, 'application/x-ndjson'),
  row('parquet', /\.parquet$/i, 'application/vnd.apache.parquet'),
  row('avro', /\.avro$/i, 'application/vnd.apache.avro'),
  row('arrow', /\.(arrow|arrows|feather|ipc)$/i, 'application/vnd.apache.arrow.file'),
  row('xlsx', /\.xlsx$/i, 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet'),
  row('ods', /\.ods$/i, 'application/vnd.oasis.opendocument.spreadsheet'),
]

export const ENDINGS_SHOWN = `${FILE_FORMATS.map(({ name }) => `.${name}`).join(', ')}, text also in .gz and .zst`

export function fileFormat(path: string): FileFormat | undefined {
  return FILE_FORMATS.find(({ endings }) => endings.test(path))
}

export function packingOf(path: string): 'gz' | 'zst' | null {
  const [, ending] = /\.(gz|zst)$/i.exec(path) ?? []
  return (ending?.toLowerCase() as 'gz' | 'zst' | undefined) ?? null
}

/** Returns the media type of the stored bytes. A compressed file is sent compressed. */
export function mediaTypeOf(path: string): string {
  const packing = packingOf(path)
  if (packing !== null) return packing === 'gz' ? 'application/gzip' : 'application/zstd'
  return fileFormat(path)?.media_type ?? 'application/octet-stream'
}

const DEPTH_MOST = 8
const PATH_BYTES = 512
const NAME_BYTES = 200

/** Returns the path in the Unicode form NFC, so that names that look alike are the same file on every system. */
export function normalPath(path: string): string {
  return path.normalize('NFC')
}

/** Names that stand for a device on Windows, whatever their ending. */
const DEVICE = /^(con|prn|aux|nul|com\d|lpt\d)(\.|$)/i

/**
 * Returns null if a new upload may have this path, else a clause that says why not. Uploads of earlier versions may
 * have more paths.
 */
export function vetNewPath(path: string): string | null {
  const device = path.split('/').find((name) => DEVICE.test(name))
  if (device !== undefined) return `must not hold "${device.slice(0, 20)}", which Windows takes for a device`
  return vetUploadPath(path)
}

/**
 * Returns the file or folder of `present` whose path differs from `path` in capitals alone, because some disks
 * confuse the two. Null if there is none.
 */
export function otherCapitals(present: readonly string[], path: string): string | null {
  const names = path.split('/')
  for (const other of present) {
    const others = other.split('/')
    const at = names.findIndex((name, index) => name !== others[index])
    if (at >= 0 && names[at]!.toLowerCase() === others[at]?.toLowerCase())
      return others.slice(0, at + 1).join('/')
  }
  return null
}

/** Returns null if an upload may have this path (in normal form), else a clause that says why not. */
export function vetUploadPath(path: string): string | null {
  if (Buffer.byteLength(path) > PATH_BYTES) return `must have at most ${PATH_BYTES} bytes`
  if (/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\uFFFD]/u.test(path))
    return 'must not hold control or invisible characters'
  if (/[\\:*?"<>|]/.test(path)) return 'must not hold any of \\ : * ? " < > |'
  const names = path.split('/')
  if (names.length > DEPTH_MOST) return `must lie at most ${DEPTH_MOST - 1} folders deep`
  for (const name of names) {
    if (name === '') return 'must not begin or end with "/" or hold an empty name'
    if (name.startsWith('.')) return 'must not hold a name that begins with a dot'
    if (name.trim() !== name || name.endsWith('.'))
      return 'must not hold a name with blanks or dots at its end'
    if (Buffer.byteLength(name) > NAME_BYTES) return `must hold names of at most ${NAME_BYTES} bytes`
  }
  return fileFormat(path) ? null : `must end in ${ENDINGS_SHOWN}`
}

/** An upload in a bucket, with a presigned URL that expires. */
export interface OfferedFile {
  path: string
  url: string
  bytes: number
}

/** The files that a job may read as `uploads/...`: a folder, or files offered from a bucket. */
export interface Uploads {
  /** The absolute path of the folder, which may not exist yet; null if the uploads are in a bucket. */
  folder: string | null
  offered: OfferedFile[]
  /** The address of the bucket. */
  targets: readonly string[]
  /** The reason why no file is offered, as a sentence. */
  fault?: string
}

/** How sources fetch files from other hosts. */
export interface RemoteRoots {
  /** The folder of the cached copies, and the most bytes they may use. */
  cache: string
  cache_bytes: number
  /** The most bytes of one file that is read without a connection. */
  file_bytes: number
  /** The addresses that URLs without a connection may reach; empty for none. */
  targets: readonly string[]
}

/** The files that an analysis task may read. */
export interface FileRoots {
  uploads: Uploads
  remote: RemoteRoots
}

/** Gives a task access to its workspace's files. */
export interface FileAccess {
  /**
   * Resolves with the files that a task may read. `needed`: the task may name uploads. An unreachable bucket is
   * reported in `uploads.fault`, not thrown.
   */
  roots(workspace_id: string, needed: boolean): Promise<FileRoots>
}
