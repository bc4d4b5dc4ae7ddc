/** assay migrate: brings the database to this version's schema, as the start of a service does too. */

import { systemClock } from '@assay/model/clock'
import { resolveConfig } from '@assay/service/config/config'
import type { Command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { say } from '../../print.ts'

export const MIGRATE: Command = {
  name: 'migrate',
  operands: '',
  summary: "Bring the database to this version's schema",
  details: 'The start of a service does so, too. A schema that is newer than this version is refused.',
  options: {},
  async run(call) {
    const { config } = resolveConfig(call.environment, call.settings)
    const { openStore } = await import('@assay/store/open')
    const { store: url, home, publicUrl } = config
    const store = await openStore({ url, home, clock: systemClock, publicUrl })
    await store.ping()
    await store.close()
    say('The schema is up to date.')
    return EXIT.ok
  },
}
