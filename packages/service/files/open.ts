/** Opens the storage of uploads that the settings name. */
import path from 'node:path'
import type { RemoteRoots } from '@assay/model/file'
import type { BucketConfig } from '@assay/net/s3'
import type { Files } from './files.ts'
import { FolderFiles } from './folder.ts'

export interface FilesOptions {
  /** A folder, or s3://BUCKET/PREFIX. Null stands for a folder of the home. */
  files: string | null
  filesEndpoint?: string | null
  filesRegion?: string
  filesAccessKey?: string | null
  filesSecretKey?: string | null
  home: string
  maxFile: number
  filesQuota: number
  sourceTargets?: string[] | null
  sourceCache?: number
}

const CACHE_BYTES = 5e9

export async function openFiles(options: FilesOptions): Promise<Files> {
  const { files, home, maxFile, filesQuota } = options
  const limits = { file: maxFile, quota: filesQuota }
  const remote: RemoteRoots = {
    cache: path.join(home, 'cache'),
    cache_bytes: options.sourceCache ?? CACHE_BYTES,
    file_bytes: maxFile,
    targets: options.sourceTargets ?? [],
  }
  const bucket = bucketOf(options)
  if (bucket === null) return new FolderFiles(files ?? path.join(home, 'files'), limits, remote)
  const { BucketFiles } = await import('./bucket.ts')
  return new BucketFiles({ ...bucket, staging: path.join(home, 'incoming'), limits, remote })
}

/** Returns the bucket of the uploads with the prefix of their keys. Null if they are in a folder. */
export function bucketOf(options: FilesOptions): { config: BucketConfig; prefix: string } | null {
  const [, bucket, prefix = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/*$/.exec(options.files ?? '') ?? []
  if (bucket === undefined) return null
  const config = {
    endpoint: options.filesEndpoint ?? null,
    region: options.filesRegion ?? 'us-east-1',
    bucket,
    access_key: options.filesAccessKey ?? null,
    secret_key: options.filesSecretKey ?? null,
    path_style: options.filesEndpoint !== null && options.filesEndpoint !== undefined,
  }
  return { config, prefix }
}
