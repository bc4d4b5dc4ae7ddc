/** Writes a backup: the store as it is at one moment, then the uploads. The service continues meanwhile. */
import { createHash } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createGzip } from 'node:zlib'
import { AppError } from '@assay/model/errors'
import { COPIED, type CopySource, openCopySource } from '@assay/store/copy'
import type { Config } from '../config/config.ts'
import type { Files, OpenFile } from '../files/files.ts'
import { type FilesOptions, openFiles } from '../files/open.ts'
import { keyFileOf } from '../runtime/home.ts'
import { VERSION } from '../runtime/version.ts'
import { encryptTo } from './age.ts'
import { FORMAT, HEAD, type Head, KEY, MANIFEST, type Manifest, TableDigest, tableHeads } from './format.ts'
import { hashing } from './hashing.ts'
import { type Location, nameAt } from './locations.ts'
import { type Pack, pack } from './tar.ts'

/** The settings that a backup reads. */
export type BackupConfig = FilesOptions & Pick<Config, 'store' | 'home' | 'secretKey'>

export interface BackupOptions {
  config: BackupConfig
  location: Location
  now: Date
  /** True if the backup holds the key of the secrets. */
  withKey: boolean
  /** The public key with which the backup is encrypted; null if it is not. */
  recipient: Buffer | null
}

export interface Written {
  name: string
  manifest: Manifest
}

/** The most tries of an upload that is replaced while it is read. */
const TRIES = 3

/** Makes a backup. Throws AppError if the store or the location cannot be used. */
export async function makeBackup(options: BackupOptions): Promise<Written> {
  const { config, location, now, recipient, withKey } = options
  const key = withKey ? await keyText(config) : null
  const source = await openCopySource({ url: config.store, home: config.home })
  const files = await openFiles(config)
  const name = nameAt(now, recipient !== null)
  try {
    let manifest!: Manifest
    await location.put(name, async (file) => {
      const archive = new Archive()
      const writing = pipeline([
        archive.stream,
        createGzip({ level: constants.Z_BEST_SPEED }),
        ...(recipient ? [encryptTo(recipient)] : []),
        createWriteStream(file, { mode: 0o600, flags: 'wx' }),
      ])
      const filled = fill(archive, { source, files, now, key })
      manifest = await both(writing, filled)
    })
    return { name, manifest }
  } finally {
    await source.close()
    await files.close()
  }
}

/** Resolves with the result of `filled`. If one of the two fails, the other ends too. */
async function both(writing: Promise<void>, filled: Promise<Manifest>): Promise<Manifest> {
  const [manifest] = await Promise.all([filled, writing])
  return manifest
}

async function keyText({ secretKey, home }: BackupConfig): Promise<string> {
  if (secretKey.length > 0) return `${secretKey.map((key) => key.toString('hex')).join('\n')}\n`
  const file = keyFileOf(home)
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw new AppError('not_found', `There is no key ${file} to go with the backup: leave --with-key out.`, {
      cause: error,
    })
  })
}

interface Contents {
  source: CopySource
  files: Files
  now: Date
  key: string | null
}

async function fill(archive: Archive, { source, files, now, key }: Contents): Promise<Manifest> {
  try {
    const head: Head = {
      format: FORMAT,
      assay: VERSION,
      store: source.kind,
      schema: source.schema,
      created_at: now.toISOString(),
      tables: tableHeads(),
    }
    await archive.add(HEAD, JSON.stringify(head, null, 2))
    const { tables, workspaces } = await addTables(archive, source)
    const sequence = await source.sequence()
    const uploads = await addUploads(archive, files, workspaces)
    if (key !== null) await archive.add(KEY, key)
    const manifest = { parts: archive.parts, tables, sequence, uploads }
    await archive.end(manifest)
    return manifest
  } catch (error) {
    archive.fail(error as Error)
    throw error
  }
}

async function addTables(archive: Archive, source: CopySource) {
  const tables: Manifest['tables'] = {}
  const workspaces: string[] = []
  for (const table of COPIED) {
    const digest = new TableDigest(table)
    let number = 0
    for await (const rows of source.batches(table)) {
      digest.add(rows)
      number += 1
      if (table.name === 'workspaces') {
        const at = table.columns.indexOf('workspace_id')
        workspaces.push(...rows.map((row) => row[at]!))
      }
      await archive.add(`tables/${table.name}/${String(number).padStart(6, '0')}.json`, JSON.stringify(rows))
    }
    tables[table.name] = digest.sum()
  }
  return { tables, workspaces }
}

async function addUploads(archive: Archive, files: Files, workspaces: readonly string[]) {
  const uploads = { files: 0, bytes: 0 }
  for (const workspace_id of workspaces)
    for (const { path: file } of await files.list(workspace_id)) {
      const opened = await openUpload(files, workspace_id, file)
      // The upload was deleted meanwhile.
      if (opened === null) continue
      const { bytes } = opened.upload.about
      await archive.addStream(`uploads/${workspace_id}/${file}`, bytes, opened.stream)
      await opened.upload.close()
      uploads.files += 1
      uploads.bytes += bytes
    }
  return uploads
}

async function openUpload(
  files: Files,
  workspace_id: string,
  file: string,
): Promise<{ upload: OpenFile; stream: Readable } | null> {
  for (let tries = 1; ; tries += 1) {
    const upload = await files.open(workspace_id, file)
    if (upload === null) return null
    try {
      return { upload, stream: await upload.read(null) }
    } catch (error) {
      await upload.close()
      // A bucket answers so if the file was replaced between its description and its read.
      const replaced = error instanceof AppError && error.code === 'precondition_failed'
      if (!replaced || tries === TRIES) throw error
    }
  }
}

/** A tar archive that records the hash of each part. */
class Archive {
  readonly stream: Pack = pack()
  readonly parts: Record<string, string> = {}

  add(name: string, text: string): Promise<void> {
    const bytes = Buffer.from(text)
    return this.addStream(name, bytes.length, Readable.from([bytes]))
  }

  async addStream(name: string, size: number, content: Readable): Promise<void> {
    const hash = createHash('sha256')
    const done = Promise.withResolvers<void>()
    const entry = this.stream.entry({ name, size, mode: 0o600 }, (error) =>
      error ? done.reject(error) : done.resolve(),
    )
    await Promise.all([pipeline(content, hashing(hash), entry), done.promise])
    this.parts[name] = hash.digest('hex')
  }

  async end(manifest: Manifest): Promise<void> {
    await this.add(MANIFEST, JSON.stringify(manifest))
    this.stream.finalize()
  }

  fail(error: Error): void {
    this.stream.destroy(error)
  }
}
