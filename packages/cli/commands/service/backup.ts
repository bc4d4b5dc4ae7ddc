/** assay backup: the database and its key in another folder, while the service goes on. */
import { copyFile, mkdir } from 'node:fs/promises'
import path from 'node:path'
import { resolveConfig } from '@assay/service/config/config'
import type { Command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { out, say } from '../../print.ts'

export const BACKUP: Command = {
  name: 'backup',
  operands: 'FOLDER',
  summary: 'Copy the database, and the key of its secrets, while the service runs',
  details:
    'Put both files into an empty home to restore them. Where ASSAY_SECRET_KEY is set, keep it beside the copy.',
  options: {},
  async run(call) {
    const { config } = resolveConfig(call.environment, call.settings)
    const { store: url, home } = config
    const folder = path.resolve(call.operands[0]!)
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const { backupStore } = await import('@assay/store/open')
    out(`${await backupStore({ url, home, folder })}\n`)
    if (config.secretKey.length > 0) say('Secrets are sealed with ASSAY_SECRET_KEY: keep it, too.')
    else {
      const key = path.join(folder, 'secret.key')
      await copyFile(path.join(home, 'secret.key'), key)
      out(`${key}\n`)
    }
    return EXIT.ok
  },
}
