/** Puts the uploads of a restore in place: below the new home, in the folder of ASSAY_FILES, or in its bucket. */
import { createWriteStream } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { AppError } from '@assay/model/errors'
import { mediaTypeOf, vetUploadPath } from '@assay/model/file'
import { createGuard } from '@assay/net/guard'
import { createBucket, targetsOfBucket } from '@assay/net/s3'
import { parseTargets } from '@assay/net/target'
import type { Config } from '../config/config.ts'
import { bucketOf } from '../files/open.ts'
import { makeFolder } from '../runtime/home.ts'

export interface Uploads {
  put(workspace_id: string, file: string, content: Readable): Promise<void>
  /** Puts all uploads in place. */
  finish(): Promise<void>
  close(): Promise<void>
}

const WORKSPACE = /^[a-z0-9][a-z0-9_-]{0,62}$/

/** Refuses names that lead out of the folder, because a backup may come from a stranger. */
function vetName(workspace_id: string, file: string): void {
  if (WORKSPACE.test(workspace_id) && vetUploadPath(file) === null) return
  throw new AppError(
    'conflict',
    `The backup holds an upload with a name that none can have: ${JSON.stringify(file)}.`,
  )
}

/**
 * Opens the place of uploads. `home`: the folder beside the home that becomes the home. Throws `conflict` if it
 * already holds uploads.
 */
export async function openUploads(config: Config, home: string): Promise<Uploads> {
  if (bucketOf(config)) return openBucketUploads(config)
  if (config.files === null) return folderUploads(path.join(home, 'files'), () => Promise.resolve())
  const folder = config.files
  const present = await readdir(folder).catch(() => [])
  if (present.some((name) => !name.startsWith('.')))
    throw new AppError(
      'conflict',
      `ASSAY_FILES: ${folder} is not empty: name a new folder, or move what is in it away.`,
    )
  const beside = `${folder}.restoring-${process.pid}`
  const uploads = folderUploads(beside, async () => {
    await makeFolder(beside)
    await rm(path.join(folder, '.incoming'), { recursive: true, force: true })
    await rmdir(folder).catch(() => undefined)
    await rename(beside, folder)
  })
  return { ...uploads, close: () => rm(beside, { recursive: true, force: true }) }
}

function folderUploads(folder: string, finish: () => Promise<void>): Uploads {
  return {
    async put(workspace_id, file, content) {
      vetName(workspace_id, file)
      const target = path.join(folder, workspace_id, file)
      await mkdir(path.dirname(target), { recursive: true, mode: 0o700 })
      await pipeline(content, createWriteStream(target, { flags: 'wx', mode: 0o600, flush: true }))
    },
    finish,
    close: () => Promise.resolve(),
  }
}

async function openBucketUploads(config: Config): Promise<Uploads> {
  const { config: of, prefix } = bucketOf(config)!
  const guard = createGuard({ targets: parseTargets(targetsOfBucket(of)) })
  const bucket = createBucket(of, guard)
  const root = prefix === '' ? '' : `${prefix}/`
  const staging = await mkdtemp(path.join(tmpdir(), 'assay-restore-'))
  if ((await bucket.list(root, 1)).length > 0) {
    await guard.close()
    throw new AppError(
      'conflict',
      `ASSAY_FILES: ${config.files} is not empty: name another prefix, or empty it.`,
    )
  }
  return {
    async put(workspace_id, file, content) {
      vetName(workspace_id, file)
      const staged = path.join(staging, 'upload')
      await pipeline(content, createWriteStream(staged, { mode: 0o600 }))
      const { size } = await stat(staged)
      await bucket.write(`${root}${workspace_id}/${file}`, staged, size, {
        'content-type': mediaTypeOf(file),
      })
    },
    finish: () => Promise.resolve(),
    async close() {
      await rm(staging, { recursive: true, force: true })
      await guard.close()
    },
  }
}
