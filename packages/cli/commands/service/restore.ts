/** assay restore: restores a backup into an empty home, and into an empty PostgreSQL database if one is named. */
import { readFile } from 'node:fs/promises'
import { ConfigError, resolveConfig } from '@assay/service/config/config'
import type { Command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { JSON_OPTION, text } from '../../options.ts'
import { counted, out, printJson, say } from '../../print.ts'
import { IDENTITY_OPTION, identitiesOf } from './backup.ts'

export const RESTORE: Command = {
  name: 'restore',
  operands: '[BACKUP]',
  summary: 'Restore a backup into the empty home that --home names',
  details:
    'BACKUP is a file, or a folder or s3://BUCKET/PREFIX whose newest one is meant; ASSAY_BACKUP unless it is given. A backup of either database\n' +
    'goes into SQLite in the home, or by --store postgres://... into an empty PostgreSQL database.',
  options: {
    key: text('FILE', 'The key of the secrets: the secret.key of the former home; default: ASSAY_SECRET_KEY'),
    identity: IDENTITY_OPTION,
    json: JSON_OPTION,
  },
  async run(call) {
    const { config } = resolveConfig(call.environment, call.settings)
    const address = call.operands[0] ?? config.backup
    if (address === null || address === undefined)
      throw new ConfigError('ASSAY_BACKUP: say which backup to restore: assay restore FILE --home DIR.')
    const keyFile = call.text('key')
    const key = keyFile === undefined ? null : await readKey(keyFile)
    const identities = await identitiesOf(call)
    const { findBackup, keysOfBackups, restore } = await import('@assay/service/recovery')
    const found = await findBackup(address, keysOfBackups(config))
    try {
      const { head, manifest, secrets } = await restore({
        config,
        name: found.name,
        stream: await found.location.read(found.name),
        identities,
        key,
      })
      const rows = Object.values(manifest.tables).reduce((sum, table) => sum + table.rows, 0)
      const { uploads } = manifest
      const { home } = config
      if (call.on('json'))
        printJson({ name: found.name, created_at: head.created_at, home, rows, uploads, secrets })
      else {
        out(`${home}\n`)
        say(
          `${counted(rows, 'row')} and ${counted(uploads.files, 'upload')} of ${head.created_at} (${found.name}).`,
        )
        if (secrets === 'no key')
          say(
            `The secrets of webhooks and connections are sealed by a key that is not there: put it into ${home}/secret.key or ASSAY_SECRET_KEY before the first start.`,
          )
      }
    } finally {
      await found.location.close()
    }
    return EXIT.ok
  },
}

async function readKey(file: string): Promise<string> {
  const content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`--key: ${file} is not a file that this process can read (${error.code}).`)
  })
  const { parseKeys } = await import('@assay/service/runtime/secrets')
  try {
    parseKeys(content)
    return content
  } catch (error) {
    throw new ConfigError(
      `--key: ${file} does not hold a key of 64 hex digits: give the secret.key of the former home.`,
      {
        cause: error,
      },
    )
  }
}
