/**
 * Fetches a file over HTTP to this machine's disk, through the guarded connector, within limits of bytes and time. Content coding
 * is refused, so no answer can grow when it is unpacked. A cached copy is kept while its ETag or Last-Modified is the same.
 * Redirects are followed only if the caller allows them, never from https to http; each is vetted, and secrets go to the first
 * host only.
 */
import { createHash } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import type { Dispatcher } from 'undici'
import type { FileCache } from './file-cache.ts'
import { type Guard } from './guard.ts'
import { BlockedError, RefusedError, ResolveError } from './unreached.ts'

export interface Wanted {
  url: string
  /** Makes the headers for the first host. It is called at each try, because signatures expire. */
  headers(): Promise<Record<string, string>>
  /** The key of the cached copy: the address and the reader, without secrets. */
  identity: string
  /** The most redirects, and true if they may lead to another origin. */
  redirects: number
  otherOrigins: boolean
  /** The most bytes of the file. */
  most: number
}

export interface Fetched {
  file: string
  bytes: number
  etag: string | null
  sha256: string
  /** The time in Last-Modified, or the time of the fetch. */
  modified_at: string
  media_type: string
  /** True if the cached copy is still current. */
  kept: boolean
}

/** The reason why there is no file, as a clause without secrets: "was not found (404)". */
export class DownloadError extends Error {}

const IDLE_MS = 30_000
const REDIRECTS = [301, 302, 303, 307, 308]

const header = (headers: Dispatcher.ResponseData['headers'], name: string): string | null => {
  const value = headers[name]
  return Array.isArray(value) ? (value[0] ?? null) : (value ?? null)
}

/** Downloads the file. `into`: a free path on the file system of the cache. */
export async function download(
  wanted: Wanted,
  into: string,
  { guard, cache, signal }: { guard: Guard; cache: FileCache | null; signal: AbortSignal },
): Promise<Fetched> {
  const copy = (await cache?.take(wanted.identity, into)) ?? null
  try {
    const conditions = {
      ...(copy?.etag ? { 'if-none-match': copy.etag } : {}),
      ...(copy?.last_modified ? { 'if-modified-since': copy.last_modified } : {}),
    }
    const response = await follow(wanted, conditions, guard, signal)
    if (response.statusCode === 304 && copy) {
      await response.body.dump()
      return {
        file: into,
        bytes: copy.bytes,
        etag: copy.etag,
        sha256: copy.sha256,
        modified_at: copy.modified_at,
        media_type: copy.media_type,
        kept: true,
      }
    }
    await rm(into, { force: true })
    const fetched = await receive(response, wanted, into)
    if (fetched.etag !== null || fetched.last_modified !== null)
      await cache?.keep(wanted.identity, into, fetched)
    return { ...fetched, file: into, kept: false }
  } catch (error) {
    await rm(into, { force: true })
    throw explained(error, signal)
  }
}

async function follow(
  { url, headers, redirects, otherOrigins }: Wanted,
  conditions: Record<string, string>,
  { dispatcher }: Guard,
  signal: AbortSignal,
): Promise<Dispatcher.ResponseData> {
  const { request } = await import('undici')
  const first = new URL(url)
  let next = first
  for (let hops = 0; ; hops += 1) {
    const response = await request(next.href, {
      dispatcher,
      signal,
      headersTimeout: IDLE_MS,
      bodyTimeout: IDLE_MS,
      headers: {
        accept: '*/*',
        'accept-encoding': 'identity',
        'user-agent': 'Assay',
        ...conditions,
        ...(next.origin === first.origin ? await headers() : {}),
      },
    })
    const location = header(response.headers, 'location')
    if (!REDIRECTS.includes(response.statusCode) || location === null) return response
    await response.body.dump()
    if (hops === redirects) throw new DownloadError(`redirects more than ${redirects} times`)
    if (!URL.canParse(location, next.href)) throw new DownloadError('redirects to an invalid address')
    const target = new URL(location, next.href)
    const safe = target.protocol === 'https:' || (target.protocol === 'http:' && next.protocol === 'http:')
    if (
      !safe ||
      target.username !== '' ||
      target.password !== '' ||
      (!otherOrigins && target.origin !== first.origin)
    )
      throw new DownloadError('redirects to an address that is not allowed')
    next = target
  }
}

/** A part of a file: from a byte to before another, or the last ones. */
export type Range = { from: number; until: number } | { last: number }

export interface FetchedRange {
  bytes: Buffer
  from: number
  /** Of the whole file. */
  total: number
  etag: string | null
  modified_at: string
}

/** Tells whether a part that a server announces is the one that was asked for, so that no more bytes come than it has. */
function isAsked(range: Range, from: number, end: number, total: number): boolean {
  if (!Number.isSafeInteger(total)) return false
  const wanted = 'last' in range ? { from: Math.max(0, total - range.last), until: total } : range
  return from === wanted.from && end === Math.min(wanted.until, total) - 1
}

/** Fetches a part. Resolves to null if the server sends whole files only. `etag`: of the file that is wanted, else any. */
export async function downloadRange(
  wanted: Wanted,
  range: Range,
  { guard, etag, signal }: { guard: Guard; etag: string | null; signal: AbortSignal },
): Promise<FetchedRange | null> {
  try {
    const bounds = 'last' in range ? `-${range.last}` : `${range.from}-${range.until - 1}`
    const conditions = { range: `bytes=${bounds}`, ...(etag === null ? {} : { 'if-match': etag }) }
    const response = await follow(wanted, conditions, guard, signal)
    const { headers, body, statusCode } = response
    const placed = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(header(headers, 'content-range') ?? '')
    if (statusCode === 412) return await refuse(response, 'changed while it was read: run the job again')
    if (statusCode === 200 || statusCode === 416 || (statusCode === 206 && !placed)) return leave(response)
    await vetStatus(response, 206)
    const [from, end, total] = placed!.slice(1).map(Number) as [number, number, number]
    if (!isAsked(range, from, end, total))
      return await refuse(response, 'was sent with another part than was asked for')
    const parts: Buffer[] = []
    let bytes = 0
    for await (const part of body as AsyncIterable<Buffer>) {
      bytes += part.length
      if (bytes > end + 1 - from)
        return await refuse(response, 'was sent with more bytes than were asked for')
      parts.push(part)
    }
    if (bytes < end + 1 - from) return await refuse(response, 'was sent with fewer bytes than were asked for')
    return {
      bytes: Buffer.concat(parts),
      from,
      total,
      etag: header(headers, 'etag'),
      modified_at: modifiedAt(headers),
    }
  } catch (error) {
    throw explained(error, signal)
  }
}

async function refuse({ body }: Dispatcher.ResponseData, clause: string): Promise<never> {
  body.on('error', () => undefined)
  body.destroy()
  throw new DownloadError(clause)
}

function leave({ body }: Dispatcher.ResponseData): null {
  body.on('error', () => undefined)
  body.destroy()
  return null
}

async function vetStatus(response: Dispatcher.ResponseData, wanted: 200 | 206): Promise<void> {
  const { statusCode, headers } = response
  if (statusCode === 404 || statusCode === 410) await refuse(response, `was not found (${statusCode})`)
  if (statusCode === 401 || statusCode === 403)
    await refuse(response, `may not be read with these rights (${statusCode})`)
  if (statusCode !== wanted)
    await refuse(response, `was answered with the status ${statusCode} instead of ${wanted}`)
  if (!['identity', ''].includes((header(headers, 'content-encoding') ?? '').toLowerCase()))
    await refuse(response, 'was sent with a Content-Encoding, which is not supported')
}

/** Last-Modified, or now. */
function modifiedAt(headers: Dispatcher.ResponseData['headers']): string {
  const modified = Date.parse(header(headers, 'last-modified') ?? '')
  return new Date(Number.isNaN(modified) ? Date.now() : modified).toISOString()
}

async function receive(response: Dispatcher.ResponseData, { most }: Wanted, into: string) {
  await vetStatus(response, 200)
  const { headers, body } = response
  const tooLarge = `is larger than ${most} bytes`
  const said = header(headers, 'content-length')
  if (Number(said ?? 0) > most) return refuse(response, tooLarge)
  const handle = await open(into, 'wx', 0o600)
  const hash = createHash('sha256')
  let bytes = 0
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      bytes += part.length
      if (bytes > most) throw new DownloadError(tooLarge)
      hash.update(part)
      await handle.writeFile(part)
    }
  } finally {
    await handle.close()
  }
  return {
    bytes,
    etag: header(headers, 'etag'),
    last_modified: header(headers, 'last-modified'),
    sha256: hash.digest('hex'),
    modified_at: modifiedAt(headers),
    media_type: (header(headers, 'content-type') ?? '').split(';')[0]!.trim().toLowerCase(),
  }
}

/** Returns the DownloadError of a network failure, and any other error as it is. */
export function explained(error: unknown, signal: AbortSignal): unknown {
  if (error instanceof DownloadError || signal.aborted) return error
  if (error instanceof BlockedError)
    return new DownloadError('has an address that sources may not reach', { cause: error })
  if (error instanceof RefusedError)
    return new DownloadError(`is not fetched. ${error.message.replace(/\.$/, '')}`, { cause: error })
  if (error instanceof ResolveError)
    return new DownloadError(`has a host name that cannot be resolved (${error.code})`, { cause: error })
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new DownloadError('does not fit on the disk', { cause: error })
  const broken =
    typeof code === 'string' &&
    /^(UND_ERR|ECONN|EHOST|ENET|EPIPE|EPROTO|ETIMEDOUT|EADDR|CERT|DEPTH|ERR_TLS|ERR_SSL|SELF|UNABLE)/.test(
      code,
    )
  return broken ? new DownloadError(`could not be fetched (${code})`, { cause: error }) : error
}
