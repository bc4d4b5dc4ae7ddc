/** Finds the host and port of a connection. */
import type { OpenConnection } from '@assay/model/connection'

/**
 * Returns the address of a bucket; empty if region and bucket give none. The module is loaded on demand, because most
 * services have no bucket.
 */
async function bucketAddress(options: OpenConnection['options']): Promise<string> {
  const { addressOfBucket } = await import('@assay/net/s3')
  const { configOfBucket } = await import('../sources/remote/s3.ts')
  try {
    return addressOfBucket(configOfBucket({ options, secrets: {} }))
  } catch {
    return ''
  }
}

/**
 * Returns the host, in lower case and without brackets, and the port that a connection dials. They come from `host` and
 * `port`, from `url`, or from its bucket. Returns null if the connection reads a file of this machine, or its address
 * cannot be read.
 */
export async function addressOfConnection({
  kind,
  options,
}: Pick<OpenConnection, 'kind' | 'options'>): Promise<{ host: string; port: number } | null> {
  if (kind === 'sqlite') return null
  if (options.host !== undefined)
    return { host: String(options.host).toLowerCase(), port: Number(options.port) }
  const url = URL.parse(kind === 's3' ? await bucketAddress(options) : String(options.url))
  if (url === null) return null
  const port = url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port)
  return { host: url.hostname.replace(/^\[|\]$/g, '').toLowerCase(), port }
}
