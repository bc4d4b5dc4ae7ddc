/** The pool of analysis processes, as the settings want it. */
import { createPool, type Pool, type PoolOptions } from '@assay/engine/run/pool'
import type { Store } from '@assay/store/store'
import { type Config, ConfigError } from '../config/config.ts'
import type { Logger } from '../runtime/log.ts'
import { createNarrator } from '../runtime/narrator.ts'
import { capsOf } from './settings.ts'

/** Undefined: no language model is set. */
function narratorOf({ narrateUrl, narrateModel, narrateKey }: Config, store: Store, log: Logger) {
  if (narrateUrl === null) return undefined
  if (narrateModel === '')
    throw new ConfigError('ASSAY_NARRATE_MODEL: name the model that ASSAY_NARRATE_URL is to use.')
  return createNarrator({
    url: narrateUrl,
    model: narrateModel,
    key: narrateKey,
    cache: store,
    onFailure: (reason) => log.warn({ reason }, 'the language model gave no answer'),
  })
}

/** Null on a node that neither runs jobs, serves the API nor sends mail. */
export function poolOf(
  config: Config,
  given: Omit<PoolOptions, 'caps' | 'narrator' | 'log'> & { store: Store; log: Logger },
): Pool | null {
  const { store, ...rest } = given
  const { roles, smtpUrl } = config
  if (!roles.includes('worker') && !roles.includes('api') && smtpUrl === null) return null
  return createPool({ ...rest, caps: capsOf(config), narrator: narratorOf(config, store, given.log) })
}
