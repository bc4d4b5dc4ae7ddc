/**
 * Restores a backup into an empty home, and into an empty PostgreSQL database if the settings name one. The files are
 * written beside the home and moved into place at the end, so that a killed restore leaves no home that can be
 * started.
 */
import { open, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import type { Readable } from 'node:stream'
import { AppError } from '@assay/model/errors'
import { type CopyTarget, isPostgres, newestSchema, openSqliteTarget } from '@assay/store/copy'
import type { Config } from '../config/config.ts'
import { makeHome } from '../runtime/home.ts'
import { parseKeys, SecretBox, SecretError } from '../runtime/secrets.ts'
import type { Head, Manifest } from './format.ts'
import { readBackup } from './read.ts'
import { openUploads, type Uploads } from './uploads.ts'

export interface RestoreOptions {
  /** The settings. The home must be empty or absent; ASSAY_STORE may name an empty PostgreSQL database. */
  config: Config
  /** The name of the backup in sentences. */
  name: string
  stream: Readable
  identities: readonly Buffer[]
  /** The text of a key file. Null stands for the key of the backup or of ASSAY_SECRET_KEY. */
  key: string | null
}

export interface Restored {
  head: Head
  manifest: Manifest
  /** Tells whether the restored home has the key that opens the secrets of the store. */
  secrets: 'readable' | 'no key'
}

/**
 * Restores the backup. Throws AppError `conflict` if the home is not empty, or if the backup is damaged, of another
 * version, or sealed by another key.
 */
export async function restore(options: RestoreOptions): Promise<Restored> {
  const { config } = options
  const { home } = config
  if (config.store !== '' && !isPostgres(config.store))
    throw new AppError(
      'conflict',
      'A restore writes the database into the home: leave ASSAY_STORE out, and move HOME/assay.db afterwards.',
    )
  await requireEmpty(home)
  const beside = `${home}.restoring-${process.pid}`
  await clearBeside(home)
  await makeHome(beside)
  const uploads = await openUploads(config, beside)
  let target: CopyTarget | null = null
  try {
    target = await openTarget(config, beside)
    const restored = await fill(options, target, uploads, beside)
    if (target.kind === 'sqlite') {
      await target.finish(restored.manifest.sequence)
      await target.close()
      await synced(path.join(beside, 'assay.db'))
    }
    await uploads.finish()
    await putInPlace(beside, home)
    // This is the last step. Until then the database holds nothing.
    if (target.kind === 'postgres') await target.finish(restored.manifest.sequence)
    return restored
  } finally {
    await target?.close().catch(() => undefined)
    await uploads.close()
    await rm(beside, { recursive: true, force: true })
  }
}

async function openTarget({ store: url }: Config, beside: string): Promise<CopyTarget> {
  if (!isPostgres(url)) return openSqliteTarget(path.join(beside, 'assay.db'))
  const { openPostgresTarget } = await import('@assay/store/copy/postgres')
  return openPostgresTarget(url)
}

async function fill(
  { config, name, stream, identities, key }: RestoreOptions,
  target: CopyTarget,
  uploads: Uploads,
  beside: string,
): Promise<Restored> {
  let head!: Head
  let check: string | null = null
  let ownKey = key
  const manifest = await readBackup(
    { name, stream, identities, schema: newestSchema() },
    {
      head(given) {
        head = given
        return Promise.resolve()
      },
      async rows(table, rows) {
        if (table.name === 'settings')
          check = rows.find(([name]) => name === 'secret_key_check')?.[1] ?? check
        await target.write(table, rows, head.store)
      },
      upload: (workspace_id, file, content) => uploads.put(workspace_id, file, content),
      key(text) {
        ownKey ??= text
        return Promise.resolve()
      },
    },
  )
  const keys = ownKey === null ? config.secretKey : parseKeys(ownKey)
  vetKeys(keys, check, name)
  if (ownKey !== null) await writeFile(path.join(beside, 'secret.key'), ownKey, { mode: 0o600 })
  return { head, manifest, secrets: keys.length > 0 || check === null ? 'readable' : 'no key' }
}

function vetKeys(keys: readonly Buffer[], check: string | null, name: string): void {
  if (keys.length === 0 || check === null) return
  try {
    new SecretBox([...keys]).open(check, 'secret_key_check')
  } catch (error) {
    if (!(error instanceof SecretError)) throw error
    throw new AppError(
      'conflict',
      `The key does not open the secrets of ${name}: give the key that sealed them, or none, and enter the secrets again.`,
      { cause: error },
    )
  }
}

async function requireEmpty(home: string): Promise<void> {
  const found = await readdir(home).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new AppError('conflict', `${home} is not a folder that this process can read (${error.code}).`)
  })
  if (found.length > 0)
    throw new AppError(
      'conflict',
      `${home} is not empty (it holds ${found[0]}): name a new folder with --home, or move what is in it away.`,
    )
}

/** Deletes the folders of restores that died. */
async function clearBeside(home: string): Promise<void> {
  const parent = path.dirname(home)
  for (const name of await readdir(parent).catch(() => [])) {
    const [, pid] = name.startsWith(`${path.basename(home)}.restoring-`) ? (/-(\d+)$/.exec(name) ?? []) : []
    if (pid !== undefined && !isAlive(Number(pid)))
      await rm(path.join(parent, name), { recursive: true, force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return pid !== process.pid
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function synced(file: string): Promise<void> {
  const handle = await open(file, 'r')
  await handle.sync().catch(() => undefined)
  await handle.close()
}

async function putInPlace(beside: string, home: string): Promise<void> {
  await synced(beside)
  // rmdir fails if somebody has written into the folder meanwhile, so nothing is overwritten. It may also be absent.
  await rmdir(home).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT')
      throw new AppError('conflict', `${home} is not empty any more: name a new folder.`)
  })
  await rename(beside, home)
  await synced(path.dirname(home))
}
