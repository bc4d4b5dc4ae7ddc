/** Proves a backup: restores it into a temporary home, and reads all of it back. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { pipeline } from 'node:stream/promises'
import { AppError } from '@assay/model/errors'
import { COPIED, openSqliteSource } from '@assay/store/copy'
import type { Config } from '../config/config.ts'
import { type Manifest, TableDigest } from './format.ts'
import type { Location } from './locations.ts'
import { restore } from './restore.ts'

export interface VerifyOptions {
  config: Config
  location: Location
  name: string
  identities: readonly Buffer[]
}

/** Verifies the backup. Throws AppError `conflict` with a sentence if the restored home differs from the original. */
export async function verifyBackup({ config, location, name, identities }: VerifyOptions): Promise<Manifest> {
  const scratch = await mkdtemp(path.join(tmpdir(), 'assay-verify-'))
  try {
    const home = path.join(scratch, 'home')
    const { manifest } = await restore({
      config: { ...config, store: '', home, files: null, secretKey: [] },
      name,
      stream: await location.read(name),
      identities,
      key: null,
    })
    await compareTables(path.join(home, 'assay.db'), name, manifest)
    await compareUploads(path.join(home, 'files'), name, manifest)
    return manifest
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

async function compareTables(file: string, name: string, { tables }: Manifest): Promise<void> {
  const source = await openSqliteSource(file)
  try {
    for (const table of COPIED) {
      const digest = new TableDigest(table)
      for await (const rows of source.batches(table)) digest.add(rows)
      const found = digest.sum()
      const expected = tables[table.name]!
      if (found.digest !== expected.digest)
        throw differs(name, `the table ${table.name} (${found.rows} rows, not ${expected.rows})`)
    }
  } finally {
    await source.close()
  }
}

async function compareUploads(folder: string, name: string, { parts }: Manifest): Promise<void> {
  for (const [part, sha256] of Object.entries(parts)) {
    if (!part.startsWith('uploads/')) continue
    const hash = createHash('sha256')
    await pipeline(createReadStream(path.join(folder, part.slice('uploads/'.length))), hash)
    if (hash.digest('hex') !== sha256) throw differs(name, part)
  }
}

function differs(name: string, what: string): AppError {
  return new AppError('conflict', `A restore of ${name} is not what was copied: ${what}. Do not rely on it.`)
}
