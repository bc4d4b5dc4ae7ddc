/**
 * Sends mail to readers. Each reader has a subscription, which is made when the first job is sent to that reader and
 * ends with the address. Consent, unsubscribing and budgets are those of every subscription.
 */
import type { Clock } from '@assay/model/clock'
import { AppError } from '@assay/model/errors'
import { LINK_SECONDS } from '@assay/model/link'
import { readerMailId, type StoredReader } from '@assay/model/readers'
import type { Target } from '@assay/model/subscription'
import type { Store } from '@assay/store/store'
import { askReaders, withAgreement } from '../api/subscriptions/readers.ts'
import type { Config } from '../config/config.ts'
import type { Logger } from '../runtime/log.ts'
import type { SecretBox } from '../runtime/secrets.ts'
import { sealTarget } from '../webhooks/target.ts'

export interface ReaderMailParts {
  store: Store
  secrets: SecretBox
  config: Pick<Config, 'smtpUrl' | 'publicUrl' | 'mailFrom' | 'mailDomains'>
  clock: Clock
  log: Logger
}

/** The name of these subscriptions. No client can name them so, and only jobs of the reader notify them. */
const NO_NAME = ''

function subscriptionOf(webhook_id: string, { workspace_id, reader_id, name }: StoredReader, target: string) {
  return {
    webhook_id,
    workspace_id,
    kind: 'reader' as const,
    target,
    tells_skipped: false,
    personal: false,
    follows: null,
    url: 'mailto:••••',
    headers: [],
    user_id: reader_id,
    presence_name: NO_NAME,
    events: ['job.completed' as const],
    description: `Mail to the reader ${name}`,
    signature: 'v1' as const,
    secrets: [],
    public_key: null,
    retry_schedule: null,
    max_in_flight: null,
    rate_per_second: null,
  }
}

/**
 * Returns the id of the reader's subscription. Null if the reader has no address that may get mail, or the service
 * sends none.
 */
export async function mailOf(parts: ReaderMailParts, reader: StoredReader): Promise<string | null> {
  const { store, secrets, config, log } = parts
  const { workspace_id, reader_id, email } = reader
  if (email === null || config.smtpUrl === null) return null
  const webhook_id = readerMailId(workspace_id, reader_id, email)
  if (await store.getWebhook({ workspace_id, webhook_id })) return webhook_id
  const wanted: Target = {
    to: [email],
    url: null,
    link_expires_in: LINK_SECONDS.usual,
    subject: 'title',
    attach: null,
  }
  try {
    const { target, asks } = await withAgreement(parts, workspace_id, { target: wanted, before: null })
    const sealed = sealTarget(secrets, webhook_id, target)
    const made = await store.createWebhook(subscriptionOf(webhook_id, reader, sealed))
    if (asks) await askReaders(store, made)
    return webhook_id
  } catch (error) {
    // The insight exists without mail, and the reader finds it in the console.
    if (!(error instanceof AppError) || error.code !== 'invalid') throw error
    const reason = error.errors?.[0]?.message
    log.warn({ workspace_id, reader_id, reason }, 'a reader gets no mail')
    return null
  }
}
