/**
 * Operations on uploads. A file is checked while it arrives and then read once as an analysis reads it. Only a sound file
 * replaces an earlier one. Files are read with ranges, and changed under the conditions that the client sets.
 */
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { readLines } from '@assay/engine/drafting/draft'
import { sourceOf } from '@assay/engine/reading/lookup'
import { TaskError } from '@assay/engine/run/pool'
import { matchesTag, vetConditions } from '@assay/model/entity-tag'
import { AppError, notFound } from '@assay/model/errors'
import { mediaTypeOf, normalPath, StoredFile, vetNewPath, vetUploadPath } from '@assay/model/file'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { type Arrival, type ByteRange, type Limits, type Staged } from '../../files/files.ts'
import { badFile, receive } from '../../files/receive.ts'
import { conditionsOf } from '../answers/versions.ts'
import { LIMIT_DEFAULT, pageOf, pageQuery } from '../http/fields.ts'
import { ANY_TYPE, type Call, operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { foundOf, foundProperties } from './found.ts'
import { keepLines, keysOfLines, LinesText, offeredLines } from './lines.ts'

/** The time in milliseconds without a byte after which an upload ends. */
const IDLE_MS = 60_000

const FilePath = Type.Object({
  path: Type.String({ minLength: 1, maxLength: 1000, description: 'Folders divided by "/", at most 7 deep' }),
})

const PutFile = Type.Object(
  {
    ...StoredFile.properties,
    sha256: Type.String({ description: 'Of the bytes as they were sent, in hex' }),
    columns: Type.Array(Type.Object({ name: Type.String(), type: Type.String() }), {
      description: 'As an analysis reads it',
    }),
    ...foundProperties,
  },
  { title: 'NewFile' },
)
type AsRead = Pick<Static<typeof PutFile>, 'columns' | 'dialect' | 'list' | 'readings'>

/** Returns the normalized path. Throws a 422 for a path that no new upload may have. */
function requirePath(given: string): string {
  const file = normalPath(given)
  const fault = vetNewPath(file)
  if (fault !== null) throw invalid([{ path: 'path', message: fault }])
  return file
}

/** Returns the normalized path of a read. Throws a 404 for a path that no upload may have. */
function pathOf(given: string): string {
  const file = normalPath(given)
  if (vetUploadPath(file) !== null) throw notFound('file', given)
  return file
}

/** Returns the caps of the workspace, or those of the settings if it has none. */
async function limitsOf({ services, principal }: Call): Promise<Limits> {
  const { files, store } = services
  const own = await store.getWorkspace(principal.workspace_id)
  return {
    file: own?.max_file_bytes ?? files.limits.file,
    quota: (own?.max_files_bytes ?? files.limits.quota) - (await store.keptBytes(principal)),
  }
}

/** Makes all checks that need no byte of the body, and begins the upload. */
async function arrive(call: Call, file: string, limits: Limits): Promise<Arrival> {
  const { services, principal, request } = call
  const { files } = services
  const coding = request.headers['content-encoding'] ?? 'identity'
  if (coding.toLowerCase() !== 'identity')
    throw new AppError('unsupported_media_type', 'Send the file as it is, without Content-Encoding.')
  const found = await files.find(principal.workspace_id, file)
  vetConditions('file', found?.etag ?? null, conditionsOf(request.headers))
  const length = Number(request.headers['content-length'] ?? 0)
  return files.arrive(principal.workspace_id, file, length, limits)
}

interface Declared {
  file: string
  /** The lines of the request; null if it has none. */
  given: string[] | null
  /** The lines that are kept with an earlier file of the path; null if there are none. */
  kept: string[] | null
}

/**
 * Reads the file in the sandbox with the reader of analyses. Throws a 422 with the reason if the file cannot be read.
 */
async function readingOf(call: Call, { file, given, kept }: Declared, staged: Staged): Promise<AsRead> {
  if (given !== null) return readingBy(call, file, staged, keysOfLines(given))
  const keys = kept === null ? 0 : readLines(kept)
  if (typeof keys === 'number') return readingBy(call, file, staged, {})
  // The lines of an earlier file may not fit the new one. It is then read without them.
  return readingBy(call, file, staged, keys).catch((error: unknown) => {
    if (error instanceof AppError && error.code === 'stopping') throw error
    return readingBy(call, file, staged, {})
  })
}

/** Reads the file with the given keys of a source. `keys` has every key of the source except the name of the file. */
async function readingBy(
  call: Call,
  file: string,
  staged: Staged,
  keys: Record<string, unknown>,
): Promise<AsRead> {
  const { services, principal, signal } = call
  const name = path.basename(staged.file)
  const source = JSON.stringify({ file: name, ...keys })
  const template = sourceOf('upload', `---\nsources:\n  upload: ${source}\n---\n`)
  const roots = { sample: {}, data: path.dirname(staged.file) }
  const { workspace_id } = principal
  const { sources } = await services.pool
    .describe({ kind: 'describe', template, roots }, { workspace_id, signal: signal() })
    .catch((error: unknown) => {
      if (!(error instanceof TaskError)) throw error
      if (error.isTooLarge)
        throw badFile(file, {
          message:
            'takes more time or memory to read than an upload may (30 s): divide it, save it as CSV or Parquet, or send it again where the service has much to do',
        })
      throw new AppError('stopping', 'The file could not be read in time: send it again.', { cause: error })
    })
  const found = sources.upload
  if (found && 'columns' in found) {
    const columns = found.columns.map((column) => ({ name: column.name, type: column.database_type }))
    return { columns, ...foundOf(found) }
  }
  const reason = (found?.error ?? '').replace(/^.*? cannot be read: /s, '').replaceAll(name, file)
  const [, line, column] = /\bline (\d+)(?:, column (\d+))?/.exec(reason) ?? []
  throw badFile(file, {
    message: `cannot be read: ${reason.replace(/[.\s]+$/, '')}`,
    ...(line === undefined ? {} : { line: Number(line) }),
    ...(column === undefined ? {} : { column: Number(column) }),
    write: offeredLines(reason),
  })
}

export const putFile = operation({
  name: 'putFile',
  audit: 'file.put',
  tag: 'Files',
  summary: 'Upload a file, or replace one',
  description:
    'The body is the file itself: CSV, TSV, JSON, NDJSON (text also packed with gzip or Zstandard), Parquet, Avro, Arrow IPC, .xlsx or .ods, by the ending of the path. ' +
    'The file is checked while it arrives. A fault is answered with its line and column, and an interrupted upload leaves nothing. ' +
    'The answer tells how it was read, and which columns can be read in two ways. ' +
    '`dialect` says how it is read, such as `bad_rows: skip` where a row is broken; a refusal names the lines that would help in `write`. ' +
    'Templates name the file `uploads/PATH`. `If-Match` and `If-None-Match: *` apply.',
  scope: 'analyst',
  params: FilePath,
  query: Type.Object({
    dialect: Type.Optional({
      ...LinesText,
      description:
        'Lines of a source that say how the file is read, such as `bad_rows: skip` or `header: false`, divided by line ends. They are kept with the upload, and drafts write them into their template; empty: those that were kept are forgotten',
    }),
  }),
  bodyType: ANY_TYPE,
  replies: {
    200: { description: 'The file was replaced', schema: PutFile },
    201: { description: 'The file is new', schema: PutFile },
  },
  errors: [
    'conflict',
    'payload_too_large',
    'precondition_failed',
    'quota_exceeded',
    'request_timeout',
    'stopping',
    'unsupported_media_type',
    'workspace_busy',
  ],
  async handle(call) {
    const { services, principal, params, query, request, reply } = call
    const { files } = services
    const { workspace_id } = principal
    const file = requirePath(params.path)
    const given = query.dialect?.split('\n').filter(Boolean) ?? null
    if (given !== null) keysOfLines(given)
    const kept = await services.store.getFileDialect({ workspace_id, path: file })
    const limits = await limitsOf(call)
    const arrival = await arrive(call, file, limits)
    try {
      const staged = await receive(request.raw, {
        path: file,
        folder: await files.staging(),
        arrival,
        most: limits.file,
        named: (given ?? kept ?? []).length === 0,
        idleMs: IDLE_MS,
      })
      try {
        const read = await readingOf(call, { file, given, kept }, staged)
        const put = await files.put(workspace_id, file, staged, conditionsOf(request.headers), limits)
        if (given !== null && given.join() !== (kept ?? []).join()) await keepLines(call, file, given)
        reply.header('etag', put.file.etag)
        if (put.isNew) reply.code(201).header('location', addressOf(file))
        return { ...put.file, sha256: staged.sha256, ...read }
      } finally {
        await rm(staged.file, { force: true })
      }
    } finally {
      arrival.end()
    }
  },
})

function addressOf(file: string): string {
  return `/v1alpha/files/${file.split('/').map(encodeURIComponent).join('/')}`
}

export const listFiles = operation({
  name: 'listFiles',
  tag: 'Files',
  summary: 'List the uploads of the workspace',
  description: 'Lists uploads by path. Files of the data folder are not listed.',
  scope: 'viewer',
  query: pageQuery({
    prefix: Type.Optional(Type.String({ maxLength: 1000, description: 'What the path begins with' })),
  }),
  replies: { 200: { description: 'A page of files', schema: pageOf(StoredFile) } },
  async handle({ services, principal, query }) {
    const { prefix = '', limit = LIMIT_DEFAULT, cursor } = query
    const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString('utf8')
    if (cursor !== undefined && vetUploadPath(after) !== null)
      throw invalid([{ path: 'cursor', message: 'must be a next_cursor of this list' }])
    const all = await services.files.list(principal.workspace_id)
    const rest = all.filter((file) => file.path.startsWith(prefix) && file.path > after)
    const items = rest.slice(0, limit)
    const last = rest.length > items.length ? items.at(-1) : undefined
    return { items, next_cursor: last ? Buffer.from(last.path).toString('base64url') : null }
  },
})

/**
 * Returns the requested range. Null means the whole file, also for a request of several ranges. Throws if the file
 * has no such bytes.
 */
function rangeOf(header: string | undefined, bytes: number): ByteRange | null {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '')
  if (!match || (match[1] === '' && match[2] === '')) return null
  const [, from = '', to = ''] = match
  const first = from === '' ? Math.max(0, bytes - Number(to)) : Number(from)
  const last = from === '' || to === '' ? bytes - 1 : Math.min(Number(to), bytes - 1)
  if (from !== '' && to !== '' && Number(to) < Number(from)) return null
  if (first > last)
    throw new AppError('range_not_satisfiable', `The file has ${bytes} bytes: ask for some of them.`, {
      headers: { 'content-range': `bytes */${bytes}` },
    })
  return { first, last }
}

/** Returns the Content-Disposition header (RFC 6266) with the name in ASCII and in UTF-8. */
function disposition(file: string): string {
  const name = path.posix.basename(file)
  return `attachment; filename="${name.replaceAll(/[^\x20-\x7e]|["\\%]/g, '_')}"; filename*=UTF-8''${encodeURIComponent(name).replaceAll(/['()*]/g, (character) => `%${character.charCodeAt(0).toString(16)}`)}`
}

export const getFile = operation({
  name: 'getFile',
  tag: 'Files',
  summary: 'Read an upload',
  description:
    'Answers the bytes as they were sent; with `Range` a part of them, with `If-None-Match` only a changed file.',
  scope: 'viewer',
  params: FilePath,
  replies: {
    200: { description: 'The bytes', media: ['application/octet-stream'] },
    206: { description: 'The bytes of the range', media: ['application/octet-stream'] },
    304: { description: 'If-None-Match names this content' },
  },
  errors: ['not_found', 'range_not_satisfiable'],
  async handle(call) {
    const { services, principal, params, request, reply } = call
    const file = pathOf(params.path)
    const found = await services.files.open(principal.workspace_id, file)
    if (found === null) throw notFound('file', file)
    const { about } = found
    try {
      reply.headers({
        etag: about.etag,
        'last-modified': new Date(about.updated_at).toUTCString(),
        'cache-control': 'private, no-cache',
      })
      if (matchesTag(request.headers['if-none-match'], about.etag)) {
        await found.close()
        return await reply.code(304).send()
      }
      const ifRange = request.headers['if-range']
      const whole = ifRange !== undefined && ifRange !== about.etag
      const range = whole ? null : rangeOf(request.headers.range, about.bytes)
      const length = range === null ? about.bytes : range.last - range.first + 1
      reply.headers({
        'accept-ranges': 'bytes',
        'content-disposition': disposition(file),
        'content-type': mediaTypeOf(file),
        'content-length': String(length),
      })
      if (range) reply.code(206).header('content-range', `bytes ${range.first}-${range.last}/${about.bytes}`)
      if (request.method === 'HEAD') {
        await found.close()
        return await reply.send(Readable.from([]))
      }
      // The read is recorded before the bytes are sent: a client that disconnects half-way has read half of the file.
      services.audit.note(services.audit.record('file.read', call))
      return await reply.send(await found.read(range))
    } catch (error) {
      await found.close().catch(() => undefined)
      throw error
    }
  },
})

export const deleteFile = operation({
  name: 'deleteFile',
  audit: 'file.delete',
  tag: 'Files',
  summary: 'Delete an upload',
  description:
    'With `If-Match` deletes only the content that it names. A job that is reading the file may fail.',
  scope: 'analyst',
  params: FilePath,
  replies: { 204: { description: 'The file is deleted' } },
  errors: ['not_found', 'precondition_failed'],
  async handle({ services, principal, params, request, reply }) {
    const file = pathOf(params.path)
    const { match } = conditionsOf(request.headers)
    if (!(await services.files.remove(principal.workspace_id, file, { match, noneMatch: null })))
      throw notFound('file', file)
    await services.store.deleteFileDialect({ workspace_id: principal.workspace_id, path: file })
    return reply.code(204).send()
  },
})
