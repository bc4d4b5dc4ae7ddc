/** Reads files of a bucket, over a connection of the kind `s3`: one key, or all keys that match a pattern. */
import type { OpenConnection } from '@assay/model/connection'
import type { Guard } from '@assay/net/guard'
import { type Bucket, type BucketConfig, BucketError, createBucket } from '@assay/net/s3'
import { vetPath } from '../../values/file-path.ts'
import { SourceError } from '../source.ts'
import { type FileKind, picked, prefixOf, vetted } from './remote.ts'
import type { RemoteFile } from './remote-file.ts'

const KEYS_MOST = 100_000

/** Returns the bucket of a connection. */
export function configOfBucket({
  options,
  secrets,
}: Pick<OpenConnection, 'options' | 'secrets'>): BucketConfig {
  const endpoint = typeof options.endpoint === 'string' ? options.endpoint : null
  return {
    endpoint,
    region: String(options.region ?? 'us-east-1'),
    bucket: String(options.bucket),
    access_key: secrets.access_key ?? null,
    secret_key: secrets.secret_key ?? null,
    session_token: secrets.session_token ?? null,
    path_style: options.path_style === undefined ? endpoint !== null : options.path_style === true,
  }
}

const bucketOf = (connection: OpenConnection, guard: Guard): Bucket =>
  createBucket(configOfBucket(connection), guard)

function explained(error: unknown, name: string): unknown {
  return error instanceof BucketError ? new SourceError(`The connection "${name}": ${error.message}`) : error
}

export const s3: FileKind = {
  async find(connection, file, guard, { signal, parts }) {
    const fault = vetPath(file)
    if (fault !== null) throw new SourceError(`${JSON.stringify(file)} cannot be read. ${fault}`)
    const prefix =
      typeof connection.options.prefix === 'string' ? `${connection.options.prefix.replace(/\/+$/, '')}/` : ''
    const bucket = bucketOf(connection, guard)
    const shown = (name: string): string => `s3://${connection.name}/${name}`
    const remoteOf = (name: string, bytes?: number): RemoteFile => {
      const url = bucket.addressOf(prefix + name)
      return {
        url,
        shown: shown(name),
        headers: async () => (await bucket.sign(prefix + name)).headers,
        identity: `bucket ${url} ${connection.secrets.access_key ?? ''}`,
        redirects: 0,
        otherOrigins: false,
        most: connection.limits.bytes,
        ...(bytes === undefined ? {} : { bytes }),
      }
    }
    const amongParts = (found: RemoteFile[]): RemoteFile[] | Promise<RemoteFile[]> =>
      parts?.among(found) ?? found
    if (prefixOf(file) === file) return amongParts([remoteOf(file)])
    const listed = await bucket
      .list(prefix + prefixOf(file), KEYS_MOST, signal)
      .catch((error: unknown) => Promise.reject(explained(error, connection.name)))
    if (listed.length === KEYS_MOST)
      throw new SourceError(
        `The bucket has ${KEYS_MOST} keys or more that begin as ${JSON.stringify(shown(file))}: name more of their beginning.`,
      )
    const keys = listed
      .map(({ key, bytes }) => ({ name: key.slice(prefix.length), bytes }))
      .filter(({ name }) => name !== '' && !name.endsWith('/'))
    const found = picked(keys, ({ name }) => name, file)
    if (found.length === 0)
      throw new SourceError(`No key of the bucket matches ${JSON.stringify(shown(file))}.`)
    return vetted(await amongParts(found.map(({ name, bytes }) => remoteOf(name, bytes))), file)
  },
  async probe(connection, guard, signal) {
    try {
      const prefix = typeof connection.options.prefix === 'string' ? connection.options.prefix : ''
      await bucketOf(connection, guard).list(prefix, 1, signal)
      return `Bucket ${String(connection.options.bucket)}`
    } catch (error) {
      throw explained(error, connection.name)
    }
  },
}
