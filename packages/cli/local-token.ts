/** The admin token of the command line for the service on the same home. It is deleted when the service stops. */
import { hostname } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { replaceToken } from '@assay/service/app/accounts'
import type { Store } from '@assay/store/store'

/** The longest that a stop waits for a silent database, in milliseconds. A token that stays is replaced at the next start. */
const REMOVE_MS = 3000

export async function makeLocalToken(
  store: Store,
  home: string,
): Promise<{ token: string; remove(): Promise<void> }> {
  const name = `command line on ${hostname()} (${home})`.slice(0, 255)
  const { token, token_id } = await replaceToken(store, name)
  return {
    token,
    async remove() {
      const deleted = store.deleteToken({ workspace_id: DEFAULT_WORKSPACE, token_id }).catch(() => false)
      await Promise.race([deleted, delay(REMOVE_MS, undefined, { ref: false })])
    },
  }
}
