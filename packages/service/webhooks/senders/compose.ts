/** Composes the message of an event, the same for mail and chat, with a link to the page if ASSAY_PUBLIC_URL is set. */

import { figureLine } from '@assay/engine/pages/figure-line'
import type { Message, ToldInsight } from '@assay/engine/pages/mail-page'
import { plainLine } from '@assay/engine/printing/escape'
import { AppError, JOB_ERRORS, type JobErrorCode } from '@assay/model/errors'
import type { InsightHead } from '@assay/model/insight'
import { linkAddress } from '@assay/model/link'
import { readerMailId } from '@assay/model/readers'
import type { Target } from '@assay/model/subscription'
import type { Store } from '@assay/store/store'
import type { Ledger } from '../../outgoing/ledger.ts'
import { hashToken, type SecretBox } from '../../runtime/secrets.ts'
import type { Sending } from './sender.ts'

export interface Composer {
  store: Pick<
    Store,
    'getInsightHead' | 'getInsightData' | 'insightReader' | 'getReader' | 'createLink' | 'findLink'
  >
  box: SecretBox
  ledger: Pick<Ledger, 'take' | 'untake' | 'addBytes' | 'vetHost'>
  publicUrl: string | null
}

type Data = Record<string, unknown>

/** Returns a text of an event's data; "" for other types. */
function textOf(data: Data, name: string): string {
  const value = data[name]
  return typeof value === 'string' ? value : ''
}

/** Returns the text on one line, because it becomes the subject of a mail. */
function oneLine(text: string): string {
  return Array.from(plainLine(text)).slice(0, 200).join('').trim()
}

function plain(headline: string, ...sentences: string[]): Message {
  return {
    headline: oneLine(headline),
    sentences: sentences.map(plainLine).filter((sentence) => sentence !== ''),
    facts: [],
    insight: null,
    link: null,
  }
}

function failed(headline: string, data: Data): Message {
  const error = (data.error ?? {}) as { code?: string; detail?: string }
  const remedy = JOB_ERRORS[error.code as JobErrorCode] ?? ''
  return plain(headline, `${error.code ?? 'failed'}: ${error.detail ?? ''}`, remedy)
}

/** Returns the message of an event that needs no data of the store. */
function told({ event: { type, data } }: Sending): Message {
  const template = textOf(data, 'template_id')
  switch (type) {
    case 'job.queued':
      return plain(`Queued: ${template}`)
    case 'job.started':
      return plain(`Started: ${template}`)
    case 'job.completed':
      return plain(`Skipped: ${template}`, 'The condition of the template is not met, so there is no report.')
    case 'job.failed':
      return failed(`Failed: ${template}`, data)
    case 'schedule.failed':
      return failed(`A scheduled run could not begin: ${textOf(data, 'name') || template}`, data)
    case 'job.canceled':
      return plain(`Canceled: ${template}`, 'A person canceled the job.')
    case 'webhook.test':
      return plain('This is a test', textOf(data, 'message'))
    case 'subscription.confirm':
      return plain('Do you want this mail?')
    case 'webhook.failing':
      return plain(
        'Every attempt of a webhook fails',
        `${textOf(data, 'failing_reason')} It fails since ${textOf(data, 'failing_since')}.`,
        textOf(data, 'url'),
      )
    case 'webhook.disabled':
      return plain('A webhook was switched off', textOf(data, 'disabled_reason'), textOf(data, 'url'))
  }
}

/**
 * Returns the secret of a delivery's link. It is derived, so every try has the same one and it is never stored. An
 * earlier try may have derived it from another key. A reader who got that message keeps that link.
 */
async function linkSecretOf({ store, box }: Composer, delivery_id: string): Promise<string> {
  const [secret, ...others] = box.derive(`link:${delivery_id}`)
  for (const other of others) if (await store.findLink(hashToken(other))) return other
  return secret!
}

/**
 * Creates the link of a message. Returns null if the service has no public address or the insight has as many links as
 * it may.
 */
async function linkOf(
  composer: Composer,
  { delivery_id, workspace_id, webhook }: Sending,
  { insight_id }: InsightHead,
  seconds: number | null,
): Promise<string | null> {
  const { store, publicUrl } = composer
  if (publicUrl === null || seconds === null) return null
  const secret = await linkSecretOf(composer, delivery_id)
  const making = store.createLink({
    link_id: delivery_id,
    workspace_id,
    insight_id,
    user_id: webhook.user_id,
    label: `${webhook.kind} ${webhook.webhook_id}`,
    newest: false,
    rows: false,
    lifetime_ms: seconds * 1000,
    link_hash: hashToken(secret),
  })
  try {
    await making
  } catch (error) {
    // The insight has as many links as it may, so the message gets none.
    if (error instanceof AppError && error.code === 'conflict') return null
    throw error
  }
  return linkAddress(secret, publicUrl)
}

/**
 * Tells whether a message may go to a reader. A reader's insight is sent to no other reader and to no former address.
 * This is the last check behind the rules of delivery.
 */
async function isFor(
  { store }: Composer,
  { workspace_id, webhook }: Sending,
  insight_id: string,
): Promise<boolean> {
  const of = await store.insightReader({ workspace_id, insight_id })
  if (!of || of.reader_id === null) return of !== null
  const { reader_id } = of
  const email = (await store.getReader({ workspace_id, reader_id }))?.email ?? null
  return email !== null && webhook.webhook_id === readerMailId(workspace_id, reader_id, email)
}

/** Composes the message of an event. Returns null if the insight was deleted or belongs to another reader. */
export async function compose(composer: Composer, sending: Sending, target: Target): Promise<Message | null> {
  const { data, type } = sending.event
  const insight_id = textOf(data, 'insight_id')
  const skipped = textOf(data, 'skipped') !== ''
  if (type !== 'job.completed' || insight_id === '' || skipped) return told(sending)
  const of = { workspace_id: sending.workspace_id, insight_id }
  const head = await composer.store.getInsightHead(of)
  if (!head || !(await isFor(composer, sending, insight_id))) return null
  // Tables, analyses and marks stay unread. They may be large, and no message holds them.
  const stored = await composer.store.getInsightData(of)
  if (!stored) return null
  const read = (bytes: Uint8Array): unknown => JSON.parse(Buffer.from(bytes).toString())
  const insight = { ...head, lineage: read(stored.lineage) as ToldInsight['lineage'] }
  const headline = oneLine(insight.title) || `Completed: ${insight.template_id}`
  const figure = target.subject === 'figure' ? figureLine(insight.reading) : null
  return {
    headline,
    ...(figure === null ? {} : { subject: oneLine(`${figure} (${headline})`) }),
    sentences: [],
    facts: read(stored.facts) as Message['facts'],
    insight,
    link: await linkOf(composer, sending, insight, target.link_expires_in),
  }
}
