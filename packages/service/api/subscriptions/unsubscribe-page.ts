/**
 * The page on which a reader unsubscribes from mail. The sealed address in the mail names the subscription and the
 * reader, so no token is needed. Opening the page changes nothing, because programs open addresses ahead of people. The
 * button unsubscribes, and so does the one click of a mail program (RFC 8058). A reader who has left returns by the
 * same page.
 */

import { plainPage } from '@assay/engine/pages/plain-page'
import { CONFIRM_CONTEXT, LAST_LEFT, type Target, UNSUBSCRIBE_CONTEXT } from '@assay/model/subscription'
import { sendsMail } from '@assay/model/webhook'
import { isSameMailbox, noteConsents, readConsents, readersOf } from '../../outgoing/consents.ts'
import { openTarget, sealTarget } from '../../webhooks/target.ts'
import { linkRecord } from '../admin/audit-trail.ts'
import type { Services } from '../dependencies.ts'
import { type Call, operation } from '../http/operation.ts'
import { prefixOf } from '../prefix.ts'
import { PRESSED, pageFor, type Reader, SHOWN, TRIES } from './reader-page.ts'

/**
 * Removes a reader from the list, by every spelling of the address. Nobody else can add the reader again, also where
 * somebody had removed the reader before. Removing the last reader disables the subscription.
 */
async function takeOff(
  services: Services,
  request: Call['request'],
  { workspace_id, webhook_id, to }: Reader,
): Promise<void> {
  const of = { workspace_id, object_id: webhook_id, fields: ['to'] }
  const book = { store: services.store, box: services.secrets }
  const store = services.store.audited(linkRecord('subscription.unsubscribe', request, of))
  // The refusal is noted before the removal, so that nobody can add her in between.
  await noteConsents(book, { clock: services.clock, workspace_id, addresses: [to], what: 'left_at' })
  for (let left = TRIES; left > 0; left -= 1) {
    const webhook = await services.store.getWebhook({ workspace_id, webhook_id })
    if (!sendsMail(webhook)) return
    const target: Target = openTarget(services.secrets, webhook)
    const rest = target.to.filter((one) => !isSameMailbox(one, to))
    if (rest.length === target.to.length) return
    const gone = (target.left ?? []).filter((one) => !isSameMailbox(one, to))
    const sealed = sealTarget(services.secrets, webhook_id, { ...target, to: rest, left: [...gone, to] })
    const off = { status: 'disabled', disabled_reason: LAST_LEFT } as const
    const patch = { target: sealed, ...(rest.length === 0 ? off : {}) }
    if (await store.updateWebhook({ workspace_id, webhook_id, patch, if_target: webhook.target })) return
  }
  throw new Error('The subscription was changed at the same moment: try again.')
}

/** Tells whether the reader gets the mail at present. An entry that somebody has added again has no effect. */
async function isReader(services: Services, { workspace_id, webhook_id, to }: Reader): Promise<boolean> {
  const { store, secrets: box, clock } = services
  const webhook = await store.getWebhook({ workspace_id, webhook_id })
  if (!sendsMail(webhook)) return false
  const consents = await readConsents({ store, box }, workspace_id, [to])
  const { open } = readersOf(openTarget(box, webhook), consents, clock.now())
  return open.some((one) => isSameMailbox(one, to))
}

/** Tells whether the list still has a place for the reader, whom nobody else has removed. */
async function mayReturn(
  { store, secrets }: Services,
  { workspace_id, webhook_id, to }: Reader,
): Promise<boolean> {
  const webhook = await store.getWebhook({ workspace_id, webhook_id })
  if (!sendsMail(webhook)) return false
  const { to: listed, left = [] } = openTarget(secrets, webhook)
  return [...listed, ...left].some((one) => isSameMailbox(one, to))
}

/** Returns the page of a reader who has left, with the button to return if the reader may. */
async function leftPage(services: Services, reader: Reader): Promise<string> {
  const { secrets, config } = services
  const { workspace_id, webhook_id, to } = reader
  if (!(await mayReturn(services, reader)))
    return plainPage(
      'You are unsubscribed',
      'You get no more mail of this subscription. Ask its sender if you want it again.',
    )
  const token = secrets.sealForOthers(JSON.stringify([workspace_id, webhook_id, to]), CONFIRM_CONTEXT)
  const button = `<form method="post" action="${prefixOf(config.publicUrl)}/confirm/${token}"><p><button>Get this mail again</button></p></form>`
  return plainPage('You are unsubscribed', 'You get no more mail of this subscription.', button)
}

export const unsubscribePage = operation({
  ...SHOWN,
  name: 'unsubscribePage',
  summary: 'Ask a reader to confirm unsubscribing',
  handle: pageFor(UNSUBSCRIBE_CONTEXT, async (services, reader) => {
    if (!(await isReader(services, reader))) return leftPage(services, reader)
    const sentence = 'Press the button to get no more mail of this subscription.'
    const button = '<form method="post"><p><button>Unsubscribe</button></p></form>'
    return plainPage('Unsubscribe from this mail?', sentence, button)
  }),
})

export const unsubscribe = operation({
  ...PRESSED,
  name: 'unsubscribe',
  summary: 'Unsubscribe a reader',
  handle: pageFor(UNSUBSCRIBE_CONTEXT, async (services, reader, request) => {
    await takeOff(services, request, reader)
    return leftPage(services, reader)
  }),
})
