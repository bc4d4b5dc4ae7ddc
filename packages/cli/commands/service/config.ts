/** assay config: prints every setting, its value and its origin. Secrets are hidden. */
import { describeConfig, flagOf, resolveConfig } from '@assay/service/config/config'
import type { Command } from '../../command.ts'
import { EXIT } from '../../exit.ts'
import { JSON_OPTION } from '../../options.ts'
import { out, printJson, table } from '../../print.ts'

export const CONFIG: Command = {
  name: 'config',
  operands: '',
  summary: 'Show every setting, its value and where it came from',
  options: { json: JSON_OPTION },
  async run(call) {
    const settings = describeConfig(resolveConfig(call.environment, call.settings))
    if (call.on('json')) printJson(settings.map((setting) => ({ ...setting, flag: flagOf(setting.name) })))
    else {
      const rows = settings.map(({ env, value, origin, doc }) => [
        env,
        value === '' ? '-' : value,
        origin,
        doc,
      ])
      out(table(['SETTING', 'VALUE', 'FROM', 'MEANING'], rows))
    }
    return EXIT.ok
  },
}
