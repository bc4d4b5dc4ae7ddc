/** For tests: a bucket of s3rver on a free port, with its files in a folder of its own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { BucketConfig } from './s3.ts'

interface S3Server {
  run(): Promise<{ address: string; port: number }>
  close(): Promise<void>
}

const S3rver = createRequire(import.meta.url)('s3rver') as new (options: object) => S3Server

export interface TestBucket {
  config: BucketConfig
  close(): Promise<void>
}

export async function startBucket(): Promise<TestBucket> {
  const directory = await mkdtemp(path.join(tmpdir(), 'assay-bucket-'))
  const server = new S3rver({
    port: 0,
    address: '127.0.0.1',
    silent: true,
    directory,
    configureBuckets: [{ name: 'assay' }],
  })
  const { port } = await server.run()
  return {
    config: {
      endpoint: `http://127.0.0.1:${port}`,
      region: 'us-east-1',
      bucket: 'assay',
      access_key: 'S3RVER',
      secret_key: 'S3RVER',
      path_style: true,
    },
    async close() {
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}
