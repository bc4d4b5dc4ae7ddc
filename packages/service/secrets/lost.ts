/**
 * Finds the secrets that must be entered again because no key opens them. The start searches for them, and they are
 * reported until they are entered.
 */
import { openCopySource } from '@assay/store/copy'
import type { Store } from '@assay/store/store'
import type { Config } from '../config/config.ts'
import type { Logger } from '../runtime/log.ts'
import type { SecretBox } from '../runtime/secrets.ts'
import type { Service } from '../runtime/service.ts'
import { countSecrets, type LostSecret } from './reseal.ts'

/** The most secrets that are listed. Further ones are only counted. */
const LISTED_MOST = 100
const LOGGED_MOST = 20

export interface LostSecrets {
  /** Null if the keys are those of the store. Otherwise a sentence on what is missing. */
  readonly locked: string | null
  /** Returns the listed secrets that are still missing. */
  list(): Promise<LostSecret[]>
}

interface LostOptions {
  config: Pick<Config, 'store' | 'home'>
  store: Pick<Store, 'getWebhook' | 'getConnection'>
  secrets: SecretBox
  log: Logger
}

async function isLost(
  { kind, workspace_id, id }: LostSecret,
  { store, secrets }: LostOptions,
): Promise<boolean> {
  const lost = ({ sealed }: { sealed: string }): boolean => !secrets.holdsKeyOf(sealed)
  if (kind === 'connection')
    return (await store.getConnection({ workspace_id, name: id }))?.secrets.some(lost) ?? false
  const webhook = await store.getWebhook({ workspace_id, webhook_id: id })
  if (!webhook) return false
  const { headers, secrets: keys, target } = webhook
  // Only the first signing secret counts, because a signature leaves out older ones that cannot be opened.
  return headers.some(lost) || keys.slice(0, 1).some(lost) || (target !== null && lost({ sealed: target }))
}

export function createLostSecrets(options: LostOptions): LostSecrets & Service {
  const { config, secrets, log } = options
  let found: LostSecret[] = []

  async function look(): Promise<void> {
    const source = await openCopySource({ url: config.store, home: config.home })
    try {
      const { lost } = await countSecrets(source, secrets, { answers: false })
      found = lost.slice(0, LISTED_MOST)
      if (lost.length > 0)
        log.error(
          { count: lost.length, secrets: lost.slice(0, LOGGED_MOST) },
          'secrets were sealed by a key that is gone: put it back, or enter them again',
        )
    } finally {
      await source.close()
    }
  }

  return {
    name: 'lost secrets',
    locked: secrets.locked,
    async list() {
      const still = await Promise.all(found.map((one) => isLost(one, options)))
      found = found.filter((_, index) => still[index])
      return found
    },
    async run(signal) {
      await look().catch((error: unknown) =>
        log.warn({ err: error }, 'the secrets could not be looked through'),
      )
      if (!signal.aborted)
        await new Promise<void>((resolve) =>
          signal.addEventListener('abort', () => resolve(), { once: true }),
        )
    },
  }
}
