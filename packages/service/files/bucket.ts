/**
 * Uploads in an S3-compatible bucket, under `PREFIX/WORKSPACE/PATH`. An upload arrives on this node's disk first, so that only
 * whole and sound files reach the bucket. Jobs get a signed address of each file, which expires, and never the keys.
 */

import { type Conditions, vetConditions } from '@assay/model/entity-tag'
import { AppError } from '@assay/model/errors'
import {
  type FileRoots,
  mediaTypeOf,
  type RemoteRoots,
  type StoredFile,
  vetUploadPath,
} from '@assay/model/file'
import { createGuard, type Guard } from '@assay/net/guard'
import {
  type Bucket,
  type BucketConfig,
  BucketError,
  type BucketObject,
  createBucket,
  targetsOfBucket,
} from '@assay/net/s3'
import { KeyedSemaphore } from '@assay/net/semaphore'
import { parseTargets } from '@assay/net/target'
import { processFolder } from '../runtime/home.ts'
import { Arrivals } from './arrivals.ts'
import {
  type Arrival,
  type ByteRange,
  byPath,
  FILES_MOST,
  type Files,
  type Limits,
  type OpenFile,
  removeStaging,
  type Staged,
  storedFile,
  vetPut,
} from './files.ts'
import { ownCache } from './own-cache.ts'

/** Seconds for which the signed address of a file works. They are longer than a job may wait and run. */
const OFFERED_SECONDS = 6 * 3600

export interface BucketOptions {
  config: BucketConfig
  prefix: string
  staging: string
  limits: Limits
  remote: RemoteRoots
}

export class BucketFiles implements Files {
  readonly limits: Limits
  readonly #options: BucketOptions
  readonly #targets: string[]
  readonly #semaphore = new KeyedSemaphore()
  #guard: Guard | null = null
  #made: Bucket | null = null
  readonly #arrivals = new Arrivals((workspace_id) => this.list(workspace_id))
  #staging: Promise<string> | null = null

  constructor(options: BucketOptions) {
    this.limits = options.limits
    this.#options = options
    this.#targets = targetsOfBucket(options.config)
  }

  get #bucket(): Bucket {
    this.#guard ??= createGuard({ targets: parseTargets(this.#targets) })
    this.#made ??= createBucket(this.#options.config, this.#guard)
    return this.#made
  }

  staging(): Promise<string> {
    this.#staging ??= processFolder(this.#options.staging)
    return this.#staging
  }

  #rootOf(workspace_id: string): string {
    const { prefix } = this.#options
    return `${prefix === '' ? '' : `${prefix}/`}${workspace_id}/`
  }

  async #asked<T>(work: (bucket: Bucket) => Promise<T>): Promise<T> {
    try {
      return await work(this.#bucket)
    } catch (error) {
      throw bucketError(error)
    }
  }

  arrive(workspace_id: string, path: string, bytes: number, limits: Limits): Promise<Arrival> {
    return this.#arrivals.arrive(workspace_id, path, bytes, limits)
  }

  async list(workspace_id: string): Promise<StoredFile[]> {
    const root = this.#rootOf(workspace_id)
    const objects = await this.#asked((bucket) => bucket.list(root, FILES_MOST + 1))
    return objects
      .map((object) => viewOf(object, root))
      .filter((file) => vetUploadPath(file.path) === null)
      .toSorted(byPath)
  }

  async find(workspace_id: string, path: string): Promise<StoredFile | null> {
    const root = this.#rootOf(workspace_id)
    const object = await this.#asked((bucket) => bucket.head(root + path))
    return object && viewOf(object, root)
  }

  async open(workspace_id: string, path: string): Promise<OpenFile | null> {
    const about = await this.find(workspace_id, path)
    if (about === null) return null
    const key = this.#rootOf(workspace_id) + path
    return {
      about,
      read: (range) => this.#asked((bucket) => bucket.read(key, readHeaders(about, range))),
      close: () => Promise.resolve(),
    }
  }

  put(workspace_id: string, path: string, staged: Staged, conditions: Conditions, limits: Limits) {
    return this.#semaphore.run(workspace_id, 1, async () => {
      const present = await this.list(workspace_id)
      const found = vetPut(present, path, staged, conditions, limits)
      const headers = {
        'content-type': mediaTypeOf(path),
        // Another node may write at the same time. Buckets that support conditions check this one.
        ...(conditions.noneMatch === '*' ? { 'if-none-match': '*' } : {}),
        ...(conditions.match !== null && conditions.match !== '*' && found ? { 'if-match': found.etag } : {}),
      }
      const key = this.#rootOf(workspace_id) + path
      await this.#asked((bucket) => bucket.write(key, staged.file, staged.bytes, headers))
      const file = await this.find(workspace_id, path)
      if (file === null)
        throw new AppError('conflict', 'The file was deleted while it was stored: send it again.')
      return { file, isNew: found === null }
    })
  }

  remove(workspace_id: string, path: string, conditions: Conditions): Promise<boolean> {
    return this.#semaphore.run(workspace_id, 1, async () => {
      const found = await this.find(workspace_id, path)
      vetConditions('file', found?.etag ?? null, conditions)
      if (found !== null) await this.#asked((bucket) => bucket.remove(this.#rootOf(workspace_id) + path))
      return found !== null
    })
  }

  async purge(workspace_id: string): Promise<void> {
    const root = this.#rootOf(workspace_id)
    await this.#asked(async (bucket) => {
      for (let all = await bucket.list(root, 1000); all.length > 0; all = await bucket.list(root, 1000))
        for (const { key } of all) await bucket.remove(key)
    })
  }

  async roots(workspace_id: string, needed: boolean): Promise<FileRoots> {
    const uploads = { folder: null, offered: [], targets: this.#targets }
    const remote = ownCache(this.#options.remote, workspace_id)
    if (!needed) return { uploads, remote }
    try {
      const offered = (await this.list(workspace_id)).map(async ({ path, bytes }) => ({
        path,
        bytes,
        url: await this.#bucket.presign(this.#rootOf(workspace_id) + path, OFFERED_SECONDS),
      }))
      return { uploads: { ...uploads, offered: await Promise.all(offered) }, remote }
    } catch (error) {
      if (error instanceof AppError) return { uploads: { ...uploads, fault: error.message }, remote }
      throw error
    }
  }

  async close(): Promise<void> {
    await removeStaging(this.#staging)
    await this.#guard?.close()
  }
}

function viewOf({ key, bytes, etag, updated_at }: BucketObject, root: string): StoredFile {
  return storedFile(key.slice(root.length), { bytes, updated_at, etag })
}

/** Returns the headers of a read that accepts only the described content. */
function readHeaders({ etag }: StoredFile, range: ByteRange | null): Record<string, string> {
  return { 'if-match': etag, ...(range === null ? {} : { range: `bytes=${range.first}-${range.last}` }) }
}

function bucketError(error: unknown): unknown {
  if (error instanceof AppError) return error
  if (error instanceof BucketError) {
    if (error.status === 412 || error.status === 409)
      return new AppError('precondition_failed', 'The file has changed meanwhile: read it again.', {
        cause: error,
      })
    return new AppError('store_unavailable', `The bucket of the files cannot be used: ${error.message}`, {
      cause: error,
    })
  }
  return new AppError('store_unavailable', 'The bucket of the files cannot be reached.', { cause: error })
}
