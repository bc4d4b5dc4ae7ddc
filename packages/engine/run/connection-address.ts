/** Where a connection leads. */
import type { OpenConnection } from '@assay/model/connection'

/** Empty where region and bucket make none. Loaded on demand: most services have no bucket. */
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
 * The host, in lower case and without brackets, and the port that a connection dials: of `host` and `port`, of `url`, or of its
 * bucket. Null: it reads a file of this machine, or has no address that can be read.
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
