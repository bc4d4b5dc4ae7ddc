/** The senders of mail and chat messages, loaded with the first message. */
import type { Pool } from '@assay/engine/run/pool'
import type { Guard } from '@assay/net/guard'
import type { Config } from '../config/config.ts'
import type { SecretBox } from '../runtime/secrets.ts'
import type { SenderOptions, Senders } from '../webhooks/senders/senders.ts'

/**
 * Makes the senders. The pool renders mail and draws its charts; null on a node that sends no mail. The libraries are
 * loaded with the first message, because they take a third of the memory of all other modules.
 */
export function sendersOf(
  { smtpUrl: server, mailFrom: from, publicUrl }: Config,
  pool: Pool | null,
  shared: Pick<SenderOptions, 'store' | 'targets' | 'ledger' | 'clock' | 'log' | 'version'> & {
    secrets: SecretBox
  },
) {
  const noPool = (): Promise<never> => Promise.reject(new Error('This node has no pool.'))
  const draw: Pool['draw'] = (task, options) => pool?.draw(task, { ...options, patient: true }) ?? noPool()
  const render: Pool['render'] = (task, options) =>
    pool?.render(task, { ...options, patient: true }) ?? noPool()
  return (guard: Guard): Senders => {
    let loaded: Promise<Senders> | null = null
    const load = async (): Promise<Senders> => {
      const { createSenders } = await import('../webhooks/senders/senders.ts')
      return createSenders({ ...shared, box: shared.secrets, publicUrl, server, from, draw, render }, guard)
    }
    const senderOf = (kind: keyof Senders): Senders[keyof Senders] => ({
      send: async (...sending) => (await (loaded ??= load()))[kind].send(...sending),
    })
    return { email: senderOf('email'), slack: senderOf('slack'), reader: senderOf('reader') }
  }
}
