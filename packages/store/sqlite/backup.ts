/** A copy of the database while others use it: SQLite's online backup, checked and put in place whole. */
import { existsSync } from 'node:fs'
import { chmod, open, rename } from 'node:fs/promises'
import { backup, DatabaseSync } from 'node:sqlite'
import { AppError } from '@assay/model/errors'

/** Copies `file` to `target`, which must not exist: a copy that is cut off leaves only `target.part`. */
export async function backupSqlite(file: string, target: string): Promise<void> {
  if (!existsSync(file)) throw new AppError('not_found', `There is no database ${file} to copy.`)
  if (existsSync(target))
    throw new AppError('conflict', `${target} exists: name another folder, or move it away.`)
  const part = `${target}.part`
  const source = new DatabaseSync(file, { readOnly: true })
  try {
    await backup(source, part)
  } finally {
    source.close()
  }
  await chmod(part, 0o600)
  const copy = new DatabaseSync(part, { readOnly: true })
  const verdict = copy.prepare('PRAGMA integrity_check').get() as { integrity_check: string }
  copy.close()
  if (verdict.integrity_check !== 'ok')
    throw new AppError(
      'store_unavailable',
      `The copy is damaged (${verdict.integrity_check}): check the disk.`,
    )
  const handle = await open(part, 'r')
  await handle.sync()
  await handle.close()
  await rename(part, target)
}
