/**
 * An uploaded file: its name, its format and what is said of it. Templates name an upload as `uploads/PATH`, so that it
 * can never be taken for a file of the operator's data folder.
 */
import Type, { type Static } from 'typebox'

/** What `file:` begins with where it names an upload. */
export const UPLOADS = 'uploads/'

export const StoredFile = Type.Object(
  {
    path: Type.String({ description: 'Below the uploads of the workspace' }),
    file: Type.String({ description: 'How a template names it: uploads/PATH' }),
    bytes: Type.Integer({ minimum: 0 }),
    media_type: Type.String(),
    updated_at: Type.String({ format: 'date-time' }),
    etag: Type.String({ description: 'Another one for each content; for If-Match and If-None-Match' }),
  },
  { title: 'File' },
)
export type StoredFile = Static<typeof StoredFile>

export type FormatName = 'csv' | 'tsv' | 'json' | 'ndjson' | 'parquet'

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

/** The formats that can be read, each by the ending of the name. Text may be packed with gzip. */
export const FILE_FORMATS: readonly FileFormat[] = [
  row('csv', /\.csv(\.gz)?$/i, 'text/csv; charset=utf-8'),
  row('tsv', /\.tsv(\.gz)?$/i, 'text/tab-separated-values; charset=utf-8'),
  row('json', /\.json(\.gz)?$/i, 'application/json'),
  row('ndjson', /\.(ndjson|jsonl)(\.gz)?$/i, 'application/x-ndjson'),
  row('parquet', /\.parquet$/i, 'application/vnd.apache.parquet'),
]

export const ENDINGS_SHOWN = `${FILE_FORMATS.map(({ name }) => `.${name}`).join(', ')}, text also in .gz`

export function fileFormat(path: string): FileFormat | undefined {
  return FILE_FORMATS.find(({ endings }) => endings.test(path))
}

export const isPacked = (path: string): boolean => /\.gz$/i.test(path)

/** Of the bytes as they are: a packed file is sent as a packed file. */
export function mediaTypeOf(path: string): string {
  return isPacked(path) ? 'application/gzip' : (fileFormat(path)?.media_type ?? 'application/octet-stream')
}

const DEPTH_MOST = 8
const PATH_BYTES = 512
const NAME_BYTES = 200

/** The path in its one form: names that look alike on every system are the same file. */
export function normalPath(path: string): string {
  return path.normalize('NFC')
}

/** Null where an upload may bear the path (in its normal form), else a clause that says why not. */
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

/** An upload in a bucket, with an address under which it can be read for a while. */
export interface OfferedFile {
  path: string
  url: string
  bytes: number
}

/** What a job of a workspace may read as `uploads/...`: what lies in a folder, or what is offered from a bucket. */
export interface Uploads {
  /** Absolute path, where it may not be there yet; null: they lie in a bucket. */
  folder: string | null
  offered: OfferedFile[]
  /** Where the bucket is reached. */
  targets: readonly string[]
  /** Why nothing is offered, in a sentence. */
  fault?: string
}

/** How sources read what lies elsewhere. */
export interface RemoteRoots {
  /** The folder of the copies, and how many bytes they may take up. */
  cache: string
  cache_bytes: number
  /** Of one file without a connection. */
  file_bytes: number
  /** Where plain addresses may go; empty: nowhere. */
  targets: readonly string[]
}

/** What of a workspace's files a task is given. */
export interface FileRoots {
  uploads: Uploads
  remote: RemoteRoots
}

/** What whoever runs tasks needs of the files. */
export interface FileGiver {
  /** `needed`: whether the task may name uploads at all. Does not reject for want of a bucket. */
  roots(workspace_id: string, needed: boolean): Promise<FileRoots>
}
