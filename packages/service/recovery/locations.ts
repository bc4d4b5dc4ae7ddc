/** The locations of backups: a folder, or a bucket. Each backup is one file, which appears whole or not at all. */
import { createReadStream } from 'node:fs'
import { mkdtemp, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { AppError } from '@assay/model/errors'
import { createGuard } from '@assay/net/guard'
import { type Bucket, type BucketConfig, BucketError, createBucket, targetsOfBucket } from '@assay/net/s3'
import { parseTargets } from '@assay/net/target'
import { makeFolder } from '../runtime/home.ts'

export interface Kept {
  name: string
  bytes: number
  /** The time in the name, by RFC 3339. */
  created_at: string
}

export interface Location {
  /** The address for people: the folder, or s3://BUCKET/PREFIX. */
  readonly address: string
  /** Lists the whole backups, the oldest first. */
  list(): Promise<Kept[]>
  /** Calls `write` with the path of a temporary file, and then puts the file in place under the name. */
  put(name: string, write: (file: string) => Promise<void>): Promise<void>
  read(name: string): Promise<Readable>
  remove(name: string): Promise<void>
  close(): Promise<void>
}

const NAME = /^assay-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z\.tar\.gz(\.age)?$/
const PART = '.part'
/** The milliseconds after which a partial file that does not grow belongs to a process that died. */
const LEFT_MS = 86_400_000
const LIST_MOST = 100_000

/** Makes a name such as "assay-20261123T074500123Z.tar.gz". Names sort by time. */
export function nameAt(time: Date, encrypted: boolean): string {
  return `assay-${time.toISOString().replaceAll(/[-:.]/g, '')}.tar.gz${encrypted ? '.age' : ''}`
}

function kept(name: string, bytes: number): Kept | null {
  const [, year, month, day, hour, minute, second, ms] = NAME.exec(name) ?? []
  if (year === undefined) return null
  return { name, bytes, created_at: `${year}-${month}-${day}T${hour}:${minute}:${second}.${ms}Z` }
}

const byName = (a: Kept, b: Kept): number => (a.name < b.name ? -1 : 1)

class FolderLocation implements Location {
  readonly address: string

  constructor(folder: string) {
    this.address = folder
  }

  async list(): Promise<Kept[]> {
    const names = await readdir(this.address).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return []
      throw unusable(this.address, error)
    })
    const found = names.map(async (name) => {
      const about = await stat(path.join(this.address, name)).catch(() => null)
      return about?.isFile() ? kept(name, about.size) : null
    })
    return (await Promise.all(found)).filter((one) => one !== null).toSorted(byName)
  }

  async put(name: string, write: (file: string) => Promise<void>): Promise<void> {
    const part = path.join(this.address, `.${name}${PART}`)
    try {
      await makeFolder(this.address)
      await this.#clear()
      await write(part)
      await synced(part)
      await rename(part, path.join(this.address, name))
      await synced(this.address)
    } catch (error) {
      await rm(part, { force: true }).catch(() => undefined)
      throw (error as NodeJS.ErrnoException).syscall === undefined
        ? error
        : unusable(this.address, error as Error)
    }
  }

  /** Deletes the partial files of processes that died. */
  async #clear(): Promise<void> {
    for (const name of await readdir(this.address)) {
      if (!name.startsWith('.assay-') || !name.endsWith(PART)) continue
      const file = path.join(this.address, name)
      const about = await stat(file).catch(() => null)
      if (about && Date.now() - about.mtimeMs > LEFT_MS) await rm(file, { force: true })
    }
  }

  read(name: string): Promise<Readable> {
    return Promise.resolve(createReadStream(path.join(this.address, name), { highWaterMark: 1 << 18 }))
  }

  remove(name: string): Promise<void> {
    return rm(path.join(this.address, name), { force: true })
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

function unusable(address: string, error: Error): AppError {
  const { code = error.message } = error as NodeJS.ErrnoException
  const why =
    code === 'ENOSPC'
      ? 'its disk is full'
      : `it cannot be used (${code}); name a folder that this process can write to`
  return new AppError('store_unavailable', `The place of the backups, ${address}: ${why}.`, { cause: error })
}

async function synced(file: string): Promise<void> {
  const handle = await open(file, 'r')
  try {
    // Some file systems cannot sync a folder.
    await handle.sync().catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EINVAL' && error.code !== 'EPERM') throw error
    })
  } finally {
    await handle.close()
  }
}

class BucketLocation implements Location {
  readonly address: string
  readonly #prefix: string
  readonly #guard: ReturnType<typeof createGuard>
  readonly #bucket: Bucket

  constructor(config: BucketConfig, prefix: string) {
    this.address = `s3://${config.bucket}${prefix === '' ? '' : `/${prefix}`}`
    this.#prefix = prefix === '' ? '' : `${prefix}/`
    this.#guard = createGuard({ targets: parseTargets(targetsOfBucket(config)) })
    this.#bucket = createBucket(config, this.#guard)
  }

  async #asked<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof AppError) throw error
      const why = error instanceof BucketError ? error.message : 'It cannot be reached.'
      throw new AppError('store_unavailable', `The place of the backups, ${this.address}: ${why}`, {
        cause: error,
      })
    }
  }

  async list(): Promise<Kept[]> {
    const objects = await this.#asked(() => this.#bucket.list(this.#prefix, LIST_MOST))
    return objects
      .flatMap(({ key, bytes }) => kept(key.slice(this.#prefix.length), bytes) ?? [])
      .toSorted(byName)
  }

  /** The file lies in a temporary folder until it is whole, and then goes into the bucket. */
  async put(name: string, write: (file: string) => Promise<void>): Promise<void> {
    const folder = await mkdtemp(path.join(tmpdir(), 'assay-backup-'))
    try {
      const file = path.join(folder, name)
      await write(file)
      const { size } = await stat(file)
      const headers = { 'content-type': 'application/octet-stream' }
      await this.#asked(() => this.#bucket.write(this.#prefix + name, file, size, headers))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  read(name: string): Promise<Readable> {
    return this.#asked(() => this.#bucket.read(this.#prefix + name))
  }

  remove(name: string): Promise<void> {
    return this.#asked(() => this.#bucket.remove(this.#prefix + name))
  }

  close(): Promise<void> {
    return this.#guard.close()
  }
}

export interface BucketKeys {
  endpoint: string | null
  region: string
  accessKey: string | null
  secretKey: string | null
}

/** Opens the location at an address: a folder, or s3://BUCKET/PREFIX with its keys. */
export function openLocation(address: string, keys: BucketKeys): Location {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/*$/.exec(address) ?? []
  if (bucket === undefined) return new FolderLocation(path.resolve(address))
  const config = {
    endpoint: keys.endpoint,
    region: keys.region,
    bucket,
    access_key: keys.accessKey,
    secret_key: keys.secretKey,
    path_style: keys.endpoint !== null,
  }
  return new BucketLocation(config, prefix)
}

/**
 * Returns the backup at an address: that file, or the newest backup of that location. Throws `not_found` if there is
 * none.
 */
export async function findBackup(
  address: string,
  keys: BucketKeys,
): Promise<{ location: Location; name: string }> {
  const base = path.posix.basename(address)
  const parent = address.slice(0, -base.length) || '.'
  if (kept(base, 0) || (!address.startsWith('s3:') && (await stat(address).catch(() => null))?.isFile()))
    return { location: openLocation(parent, keys), name: base }
  const location = openLocation(address, keys)
  const newest = (await location.list()).at(-1)
  if (newest) return { location, name: newest.name }
  await location.close()
  throw new AppError('not_found', `There is no backup in ${location.address}.`)
}

/** Deletes the oldest backups until `keep` are left. Resolves with the deleted names. */
export async function prune(location: Location, keep: number): Promise<string[]> {
  const old = (await location.list()).slice(0, -keep)
  for (const { name } of old) await location.remove(name)
  return old.map(({ name }) => name)
}
