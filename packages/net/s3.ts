/**
 * S3-compatible buckets, over the guarded connector: list, read, write, delete. Large files are written in parts, each read from
 * the disk when it is sent. Requests are signed (AWS Signature 4); without keys they are unsigned, for public buckets.
 */
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { AwsV4Signer } from 'aws4fetch'
import type { Dispatcher } from 'undici'
import type { Guard } from './guard.ts'

export interface BucketConfig {
  /** The endpoint; null for Amazon's endpoint of the region. */
  endpoint: string | null
  region: string
  bucket: string
  access_key: string | null
  secret_key: string | null
  session_token?: string | null
  /** True if the bucket stands in the path instead of the host. */
  path_style: boolean
}

export interface BucketObject {
  key: string
  bytes: number
  etag: string
  updated_at: string
}

/** A refusal of the bucket. The message holds no secret. */
export class BucketError extends Error {
  readonly status: number
  readonly code: string

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

export interface Sent {
  method?: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  key?: string
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Uint8Array<ArrayBuffer> | string
}

export interface Bucket {
  /** Returns the address of a key, without secrets. */
  addressOf(key: string): string
  /** Returns the headers that sign a GET of the key. */
  sign(
    key: string,
    headers?: Record<string, string>,
  ): Promise<{ url: string; headers: Record<string, string> }>
  /** Returns a signed address at which anyone may read the key for `seconds`. */
  presign(key: string, seconds: number): Promise<string>
  /** Lists keys that begin with the prefix, in the order of the bucket. It stops after `most`. */
  list(prefix: string, most: number, signal?: AbortSignal): Promise<BucketObject[]>
  head(key: string): Promise<BucketObject | null>
  read(key: string, headers?: Record<string, string>): Promise<Readable>
  /** Writes a file of this machine. `headers`: conditions and the content type. */
  write(key: string, file: string, bytes: number, headers: Record<string, string>): Promise<void>
  remove(key: string): Promise<void>
}

const PART_BYTES = 16 * 2 ** 20
const TRIES = 3
/** The time in milliseconds without a byte after which a request ends. */
const IDLE_MS = 60_000
const ANSWER_BYTES = 4_000_000

function endpointOf({ endpoint, region }: Pick<BucketConfig, 'endpoint' | 'region'>): URL {
  return new URL(endpoint ?? `https://s3.${region}.amazonaws.com`)
}

const encodeKey = (key: string): string =>
  key
    .split('/')
    .map((step) => encodeURIComponent(step).replaceAll(/[!'()*]/g, hexed))
    .join('/')
const hexed = (character: string): string => `%${character.charCodeAt(0).toString(16).toUpperCase()}`

function unescape(text: string): string {
  return text
    .replaceAll(/&#(x?)([0-9a-fA-F]+);/g, (_, hex: string, digits: string) =>
      String.fromCodePoint(Number.parseInt(digits, hex ? 16 : 10)),
    )
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&apos;', "'")
    .replaceAll('&amp;', '&')
}

function field(xml: string, name: string): string | null {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)
  return found ? unescape(found[1]!) : null
}

const single = (value: string | string[] | undefined): string =>
  Array.isArray(value) ? value.join(',') : (value ?? '')

/** Returns the whole answer as text. Throws if it is longer than its bound. */
async function textOf(body: Readable): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of body as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > ANSWER_BYTES)
      throw new BucketError(0, 'TooLarge', 'The answer of the bucket is too long for a list.')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Opens a bucket. `now`: the time of the signatures. */
export function createBucket(
  config: BucketConfig,
  guard: Pick<Guard, 'dispatcher'>,
  now: () => Date = () => new Date(),
): Bucket {
  return new SignedBucket(config, guard.dispatcher, now)
}

/** Returns the address of a bucket, without a slash at its end. */
export function addressOfBucket(config: BucketConfig): string {
  const url = endpointOf(config)
  const path = url.pathname.replace(/\/+$/, '')
  return config.path_style
    ? `${url.origin}${path}/${config.bucket}`
    : `${url.protocol}//${config.bucket}.${url.host}${path}`
}

/** Returns the targets of requests: the bucket, wherever it is, and nothing else. */
export function targetsOfBucket(config: BucketConfig): string[] {
  const { hostname, port, protocol } = endpointOf(config)
  const at = port || (protocol === 'https:' ? '443' : '80')
  return config.path_style ? [`${hostname}:${at}`] : [`${hostname}:${at}`, `*.${hostname}:${at}`]
}

class SignedBucket implements Bucket {
  readonly #config: BucketConfig
  readonly #dispatcher: Dispatcher
  readonly #base: string
  readonly #now: () => Date
  readonly #keys = new Map<string, ArrayBuffer>()

  constructor(config: BucketConfig, dispatcher: Dispatcher, now: () => Date) {
    this.#config = config
    this.#now = now
    this.#dispatcher = dispatcher
    this.#base = addressOfBucket(config)
  }

  #datetime(): string {
    return this.#now()
      .toISOString()
      .replaceAll(/[:-]|\.\d{3}/g, '')
  }

  addressOf(key: string): string {
    return `${this.#base}/${encodeKey(key)}`
  }

  async sign(key: string, headers: Record<string, string> = {}) {
    const signed = await this.#signed({ key, headers })
    return { url: signed.url, headers: signed.headers }
  }

  async presign(key: string, seconds: number): Promise<string> {
    const url = new URL(this.addressOf(key))
    const { access_key, secret_key, session_token, region } = this.#config
    if (!access_key || !secret_key) return url.href
    url.searchParams.set('X-Amz-Expires', String(seconds))
    const signer = new AwsV4Signer({
      url: url.href,
      signQuery: true,
      accessKeyId: access_key,
      secretAccessKey: secret_key,
      ...(session_token ? { sessionToken: session_token } : {}),
      service: 's3',
      region,
      datetime: this.#datetime(),
      cache: this.#keys,
    })
    return (await signer.sign()).url.href
  }

  async list(prefix: string, most: number, signal?: AbortSignal): Promise<BucketObject[]> {
    const found: BucketObject[] = []
    let after: string | null = null
    do {
      const query: Record<string, string> = { 'list-type': '2', prefix, 'max-keys': '1000' }
      if (after !== null) query['continuation-token'] = after
      const xml = await textOf((await this.#send({ query }, signal)).body)
      for (const [, one] of xml.matchAll(/<Contents>(.*?)<\/Contents>/gs))
        found.push({
          key: field(one!, 'Key') ?? '',
          bytes: Number(field(one!, 'Size')),
          etag: field(one!, 'ETag') ?? '',
          updated_at: new Date(field(one!, 'LastModified') ?? 0).toISOString(),
        })
      after = field(xml, 'IsTruncated') === 'true' ? field(xml, 'NextContinuationToken') : null
    } while (after !== null && found.length < most)
    return found.slice(0, most)
  }

  async head(key: string): Promise<BucketObject | null> {
    try {
      const { headers, body } = await this.#send({ method: 'HEAD', key })
      await body.dump()
      return {
        key,
        bytes: Number(single(headers['content-length'])),
        etag: single(headers.etag),
        updated_at: new Date(single(headers['last-modified']) || 0).toISOString(),
      }
    } catch (error) {
      if (error instanceof BucketError && error.status === 404) return null
      throw error
    }
  }

  async read(key: string, headers: Record<string, string> = {}): Promise<Readable> {
    return (await this.#send({ key, headers })).body
  }

  async write(key: string, file: string, bytes: number, headers: Record<string, string>): Promise<void> {
    const handle = await open(file)
    try {
      const part = async (from: number): Promise<Buffer<ArrayBuffer>> => {
        const buffer = Buffer.alloc(Math.min(PART_BYTES, bytes - from))
        await handle.read(buffer, 0, buffer.length, from)
        return buffer
      }
      if (bytes <= PART_BYTES) await this.#repeated({ method: 'PUT', key, headers, body: await part(0) })
      else await this.#writeParts(key, bytes, headers, part)
    } finally {
      await handle.close()
    }
  }

  /** Writes an object in parts. The object appears with the answer of the last request. A failure leaves nothing of it. */
  async #writeParts(
    key: string,
    bytes: number,
    { 'if-match': match, 'if-none-match': noneMatch, ...headers }: Record<string, string>,
    part: (from: number) => Promise<Buffer<ArrayBuffer>>,
  ): Promise<void> {
    const begun = await textOf(
      (await this.#send({ method: 'POST', key, query: { uploads: '' }, headers })).body,
    )
    const uploadId = field(begun, 'UploadId') ?? ''
    try {
      const tags: string[] = []
      for (let from = 0; from < bytes; from += PART_BYTES) {
        const query = { partNumber: String(tags.length + 1), uploadId }
        tags.push(await this.#repeated({ method: 'PUT', key, query, body: await part(from) }))
      }
      const list = tags.map(
        (tag, index) =>
          `<Part><PartNumber>${index + 1}</PartNumber><ETag>${tag.replaceAll('&', '&amp;')}</ETag></Part>`,
      )
      const { body } = await this.#send({
        method: 'POST',
        key,
        query: { uploadId },
        headers: {
          ...(match ? { 'if-match': match } : {}),
          ...(noneMatch ? { 'if-none-match': noneMatch } : {}),
        },
        body: `<CompleteMultipartUpload>${list.join('')}</CompleteMultipartUpload>`,
      })
      // The bucket may report a failure after it has answered 200.
      const done = await textOf(body)
      if (done.includes('<Error>'))
        throw new BucketError(500, field(done, 'Code') ?? '', 'The bucket could not join the parts.')
    } catch (error) {
      await this.#send({ method: 'DELETE', key, query: { uploadId } })
        .then(({ body }) => body.dump())
        .catch(() => undefined)
      throw error
    }
  }

  async remove(key: string): Promise<void> {
    await (await this.#send({ method: 'DELETE', key })).body.dump()
  }

  /** Sends a request, and repeats it if the connection broke or the bucket is overloaded. Returns the ETag. */
  async #repeated(sent: Sent): Promise<string> {
    for (let tries = 1; ; tries += 1) {
      try {
        const { headers, body } = await this.#send(sent)
        await body.dump()
        return single(headers.etag)
      } catch (error) {
        const final = error instanceof BucketError && error.status < 500
        if (final || tries === TRIES) throw error
      }
    }
  }

  async #signed({ method = 'GET', key, query = {}, headers = {}, body }: Sent) {
    const url = new URL(key === undefined ? `${this.#base}/` : this.addressOf(key))
    for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
    const { access_key, secret_key, session_token, region } = this.#config
    if (!access_key || !secret_key) return { url: url.href, method, headers }
    const signer = new AwsV4Signer({
      method,
      url: url.href,
      headers,
      accessKeyId: access_key,
      secretAccessKey: secret_key,
      ...(session_token ? { sessionToken: session_token } : {}),
      service: 's3',
      region,
      datetime: this.#datetime(),
      cache: this.#keys,
      ...(body === undefined ? {} : { body }),
    })
    const signed = await signer.sign()
    return { url: signed.url.href, method, headers: Object.fromEntries(signed.headers) }
  }

  async #send(sent: Sent, signal?: AbortSignal): Promise<Dispatcher.ResponseData> {
    const { url, method, headers } = await this.#signed(sent)
    const { request } = await import('undici')
    const response = await request(url, {
      method,
      headers,
      body: sent.body ?? null,
      dispatcher: this.#dispatcher,
      headersTimeout: IDLE_MS,
      bodyTimeout: IDLE_MS,
      ...(signal ? { signal } : {}),
    })
    if (response.statusCode < 300) return response
    const xml = method === 'HEAD' ? '' : await textOf(response.body)
    const code = field(xml, 'Code') ?? String(response.statusCode)
    throw new BucketError(response.statusCode, code, `The bucket answered ${response.statusCode} (${code}).`)
  }
}
