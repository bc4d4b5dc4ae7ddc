/**
 * The page on which the owner of a mail address agrees to get mail, and on which a reader who has left returns. Opening it changes
 * nothing, because programs open addresses ahead of people; the button does.
 */
import { plainPage } from '@assay/engine/pages/plain-page'
import { CONFIRM_CONTEXT, LAST_LEFT, RECIPIENTS_MOST } from '@assay/model/subscription'
import { sendsMail } from '@assay/model/webhook'
import { isSameMailbox, noteConsents, readConsents } from '../../outgoing/consents.ts'
import { openTarget, sealTarget } from '../../webhooks/target.ts'
import { linkRecord } from '../admin/audit-trail.ts'
import type { Services } from '../dependencies.ts'
import { type Call, operation } from '../http/operation.ts'
import { PRESSED, pageFor, type Reader, SHOWN, TRIES } from './reader-page.ts'

/** Adds a reader who has left to the subscription again. A reader whom somebody else has removed is not added. */
async function putBack(
  { store, secrets }: Services,
  { workspace_id, webhook_id, to }: Reader,
): Promise<void> {
  for (let tries = TRIES; tries > 0; tries -= 1) {
    const webhook = await store.getWebhook({ workspace_id, webhook_id })
    if (!sendsMail(webhook)) return
    const target = openTarget(secrets, webhook)
    const isOwn = (one: string): boolean => isSameMailbox(one, to)
    const { left = [] } = target
    if (!left.some(isOwn) || target.to.some(isOwn) || target.to.length >= RECIPIENTS_MOST) return
    const others = left.filter((one) => !isOwn(one))
    const sealed = sealTarget(secrets, webhook_id, { ...target, to: [...target.to, to], left: others })
    const on = webhook.disabled_reason === LAST_LEFT ? ({ status: 'enabled' } as const) : {}
    const patch = { target: sealed, ...on }
    if (await store.updateWebhook({ workspace_id, webhook_id, patch, if_target: webhook.target })) return
  }
  throw new Error('The subscription was changed at the same moment: try again.')
}

/** Tells whether the reader is on the list. */
async function isListed(
  { store, secrets }: Services,
  { workspace_id, webhook_id, to }: Reader,
): Promise<boolean> {
  const webhook = await store.getWebhook({ workspace_id, webhook_id })
  return sendsMail(webhook) && openTarget(secrets, webhook).to.some((one) => isSameMailbox(one, to))
}

async function agree(services: Services, request: Call['request'], reader: Reader): Promise<void> {
  const { workspace_id, webhook_id, to } = reader
  const { secrets: box, clock } = services
  const of = { workspace_id, object_id: webhook_id }
  const store = services.store.audited(linkRecord('subscription.confirm', request, of))
  const before = (await readConsents({ store, box }, workspace_id, [to])).get(to)
  await noteConsents({ store, box }, { clock, workspace_id, addresses: [to], what: 'confirmed_at' })
  if (before?.left_at) await putBack(services, reader)
}

export const confirmPage = operation({
  ...SHOWN,
  name: 'confirmPage',
  summary: 'Ask a reader to agree to mail',
  handle: pageFor(CONFIRM_CONTEXT, (_services, { to }) => {
    const sentence = `Press the button to get mail at ${to}. Each mail has an address at which you unsubscribe.`
    const button = '<form method="post"><p><button>Yes, send me mail</button></p></form>'
    return plainPage('Do you want this mail?', sentence, button)
  }),
})

export const confirm = operation({
  ...PRESSED,
  name: 'confirm',
  summary: 'Agree to mail',
  handle: pageFor(CONFIRM_CONTEXT, async (services, reader, request) => {
    await agree(services, request, reader)
    return (await isListed(services, reader))
      ? plainPage('You get the mail from now on', 'You can close this page.')
      : plainPage('You are not on the list of this mail', 'Ask its sender to add your address.')
  }),
})
