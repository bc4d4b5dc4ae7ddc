/** assay backup: copies the store and the uploads into one file, while the service runs. */
import { readFile } from 'node:fs/promises'
import { type Config, ConfigError, resolveConfig } from '@assay/service/config/config'
import type { Call, Command } from '../../command.ts'
import { EXIT, UsageError } from '../../exit.ts'
import { flag, JSON_OPTION, numberOption, text } from '../../options.ts'
import { counted, out, printJson, say } from '../../print.ts'

export const IDENTITY_OPTION = text('FILE', 'The secret key of an encrypted backup, as age-keygen writes it')

export const BACKUP: Command = {
  name: 'backup',
  operands: '[PLACE]',
  summary: 'Copy the store and the uploads into a folder or s3://BUCKET/PREFIX, while the service runs',
  details:
    'Each backup is one file with a name by its time; PLACE is ASSAY_BACKUP unless it is given. The key of the secrets goes with it by\n' +
    '--with-key only. A bucket is reached by ASSAY_BACKUP_ACCESS_KEY and ASSAY_BACKUP_SECRET_KEY. "assay restore" reads it.',
  options: {
    'with-key': flag('Copy the key of the secrets, too; without it they must be entered again'),
    to: text(
      'AGE1...',
      'Encrypt to this public key (age-keygen makes a pair); default: ASSAY_BACKUP_RECIPIENT',
    ),
    verify: flag('Restore it into a scratch home and compare everything'),
    identity: IDENTITY_OPTION,
    keep: text('N', 'Afterwards delete the oldest backups there but N'),
    json: JSON_OPTION,
  },
  async run(call) {
    const [place = call.settings.backup] = call.operands
    const settings = place === undefined ? call.settings : { ...call.settings, backup: place }
    const { config } = resolveConfig(call.environment, settings)
    const address = config.backup
    if (address === null) throw new UsageError('Say where to: assay backup FOLDER (or set ASSAY_BACKUP).')
    const keep = numberOption(call, 'keep', 1, 100_000)
    const identities = await identitiesOf(call)
    const recipient = await recipientOf(call, config)
    if (call.on('verify') && recipient && identities.length === 0)
      throw new UsageError('--verify reads the backup again: give its secret key with --identity FILE.')
    const { keysOfBackups, makeBackup, openLocation, prune, verifyBackup } = await import(
      '@assay/service/recovery'
    )
    const location = openLocation(address, keysOfBackups(config))
    try {
      const { name, manifest } = await makeBackup({
        config,
        location,
        now: new Date(),
        withKey: call.on('with-key'),
        recipient,
      })
      if (call.on('verify')) await verifyBackup({ config, location, name, identities })
      const deleted = keep === undefined ? [] : await prune(location, keep)
      const rows = Object.values(manifest.tables).reduce((sum, table) => sum + table.rows, 0)
      const { uploads } = manifest
      const verified = call.on('verify')
      if (call.on('json')) printJson({ name, location: location.address, rows, uploads, verified, deleted })
      else {
        out(`${location.address}/${name}\n`)
        say(
          `${counted(rows, 'row')} and ${counted(uploads.files, 'upload')}${verified ? ', restored into a scratch home and compared' : ''}.` +
            (call.on('with-key') ? '' : ' The key of the secrets is not in it: keep that, too.'),
        )
      }
    } finally {
      await location.close()
    }
    return EXIT.ok
  },
}

async function recipientOf(call: Call, config: Config): Promise<Buffer | null> {
  const given = call.text('to')
  if (given === undefined) return config.backupRecipient
  const { parseRecipient } = await import('@assay/service/recovery')
  const key = parseRecipient(given)
  if (!key) throw new UsageError('--to takes a public key that age-keygen makes: age1...')
  return key
}

/** Returns the secret keys of --identity; empty if it is not given. */
export async function identitiesOf(call: Call): Promise<Buffer[]> {
  const file = call.text('identity')
  if (file === undefined) return []
  const { parseIdentities } = await import('@assay/service/recovery')
  const content = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new ConfigError(`--identity: ${file} is not a file that this process can read (${error.code}).`)
  })
  try {
    return parseIdentities(content)
  } catch (error) {
    throw new UsageError(`--identity: ${file} ${(error as Error).message}.`)
  }
}
