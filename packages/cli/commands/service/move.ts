/** assay move: copies everything from the SQLite database of a home to PostgreSQL. */
import { access } from 'node:fs/promises'
import path from 'node:path'
import { systemClock } from '@assay/model/clock'
import { ConfigError, resolveConfig } from '@assay/service/config/config'
import { SecretBox, SecretError } from '@assay/service/runtime/secrets'
import { storeFile } from '@assay/store/open'
import type { Command } from '../../command.ts'
import { EXIT, UsageError } from '../../exit.ts'
import { out, say } from '../../print.ts'

export const MOVE: Command = {
  name: 'move',
  operands: 'POSTGRES-URL',
  summary: 'Move everything of this home into an empty PostgreSQL database',
  details:
    'Stop the service first. The home stays as it is. ASSAY_SECRET_KEY must open its secrets: the first time it is the text of HOME/secret.key.',
  options: {},
  async run(call) {
    const { config } = resolveConfig(call.environment, call.settings)
    const url = call.operands[0]!
    if (!/^postgres(ql)?:\/\//.test(url))
      throw new UsageError('Say where to: assay move postgres://USER:PASSWORD@HOST/DATABASE')
    if (config.store.startsWith('postgres'))
      throw new ConfigError(
        'ASSAY_STORE: this home is on PostgreSQL already; unset it to move its SQLite database.',
      )
    const keyFile = path.join(config.home, 'secret.key')
    if (config.secretKey.length === 0)
      throw new ConfigError(
        `ASSAY_SECRET_KEY: every node on PostgreSQL needs the key of the secrets: ASSAY_SECRET_KEY="$(cat ${keyFile})".`,
      )
    const file = storeFile(config.store, config.home)
    if (!(await exists(file))) throw new ConfigError(`ASSAY_HOME: there is no database ${file} to move.`)
    const { moveToPostgres } = await import('@assay/store/move-to-postgres')
    let rows = 0
    await moveToPostgres({
      file,
      url,
      clock: systemClock,
      checkSecrets: (sealed) => checkSecrets(config.secretKey, sealed, keyFile),
      onTable(table, count) {
        rows += count
        if (count > 0) out(`${table} ${count}\n`)
      },
    })
    say(
      `${rows} rows moved. Start nodes with ASSAY_STORE and the same ASSAY_SECRET_KEY; keep the home until they have run.`,
    )
    const uploads = path.join(config.home, 'files')
    if (config.files === null && (await exists(uploads)))
      say(`Uploads stay in ${uploads}: share that folder, or copy it to what ASSAY_FILES names.`)
    return EXIT.ok
  },
}

const exists = (file: string): Promise<boolean> =>
  access(file).then(
    () => true,
    () => false,
  )

function checkSecrets(keys: Buffer[], sealed: string | null, keyFile: string): void {
  if (sealed === null) return
  try {
    new SecretBox(keys).open(sealed, 'secret_key_check')
  } catch (error) {
    if (!(error instanceof SecretError)) throw error
    throw new ConfigError(
      `ASSAY_SECRET_KEY: it does not open the secrets of this home: give the one that sealed them (${keyFile}).`,
      { cause: error },
    )
  }
}
