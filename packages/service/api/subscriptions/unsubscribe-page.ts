/**
 * The page on which a reader unsubscribes from mail. The sealed address in the mail names the subscription and the reader, so no
 * token is needed. Opening the page changes nothing, because programs open addresses ahead of people. The button
 * unsubscribes, and so does the one click of a mail program (RFC 8058).
 */

import { FORM_PAGE_POLICY, plainPage } from '@assay/engine/pages/plain-page'
import { Type } from '@assay/model/schema'
import { type Target, UNSUBSCRIBE_CONTEXT } from '@assay/model/subscription'
import type { FastifyReply } from 'fastify'
import { openTarget, sealTarget } from '../../webhooks/target.ts'
import { linkRecord } from '../admin/audit-trail.ts'
import type { Services } from '../dependencies.ts'
import { addressOf } from '../http/client-address.ts'
import { type Call, operation } from '../http/operation.ts'

const HEADERS = {
  'cache-control': 'private, no-store',
  'content-security-policy': `${FORM_PAGE_POLICY}; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow, noarchive',
}
const TRIES = 5

const Path = Type.Object({ token: Type.String() })
const ANY = Type.Object({}, { additionalProperties: true })
const replies = {
  200: { description: 'A page', media: ['text/html'] },
  404: { description: 'The address is incomplete', media: ['text/html'] },
  429: { description: 'Too many from one address', media: ['text/html'] },
} as const

interface Reader {
  workspace_id: string
  webhook_id: string
  to: string
}

/** The reader of a sealed address. Null: this service did not make the address, or it was changed. */
function readerOf({ secrets }: Services, token: string): Reader | null {
  try {
    const [workspace_id, webhook_id, to] = JSON.parse(secrets.open(token, UNSUBSCRIBE_CONTEXT)) as string[]
    return { workspace_id: workspace_id!, webhook_id: webhook_id!, to: to! }
  } catch {
    return null
  }
}

function send(reply: FastifyReply, status: number, page: string) {
  return reply.code(status).type('text/html; charset=utf-8').headers(HEADERS).send(page)
}

const unknown = (reply: FastifyReply) =>
  send(
    reply,
    404,
    plainPage('This address is incomplete', 'Copy it again from the mail, or ask the sender of the mail.'),
  )
const busy = (reply: FastifyReply, reset: number) =>
  send(
    reply.header('retry-after', String(reset)),
    429,
    plainPage('Too many pages at once', 'Wait a minute and load this page again.'),
  )

/** Removes a reader, if still on the list. Removing the last reader disables the subscription. */
async function takeOff(
  services: Services,
  request: Call['request'],
  { workspace_id, webhook_id, to }: Reader,
): Promise<void> {
  const of = { workspace_id, object_id: webhook_id, fields: ['to'] }
  const store = services.store.audited(linkRecord('subscription.unsubscribe', request, of))

  for (let left = TRIES; left > 0; left -= 1) {
    const webhook = await services.store.getWebhook({ workspace_id, webhook_id })
    if (webhook?.kind !== 'email') return
    const target: Target = openTarget(services.secrets, webhook)
    const rest = target.to.filter((one) => one !== to)
    if (rest.length === target.to.length) return
    const sealed = sealTarget(services.secrets, webhook_id, { ...target, to: rest })
    const off = { status: 'disabled', disabled_reason: 'The last reader unsubscribed.' } as const
    const patch = { target: sealed, ...(rest.length === 0 ? off : {}) }
    if (await store.updateWebhook({ workspace_id, webhook_id, patch, if_target: webhook.target })) return
  }
  throw new Error('The subscription changes all the time.')
}

export const unsubscribePage = operation({
  name: 'unsubscribePage',
  tag: 'Pages',
  hidden: true,
  summary: 'Ask a reader to confirm unsubscribing',
  scope: null,
  params: Path,
  query: ANY,
  replies,
  handle({ services, params, request, reply }) {
    const { allowed, reset } = services.readers.take(addressOf(request))
    if (!allowed) return busy(reply, reset)
    if (!readerOf(services, params.token)) return unknown(reply)
    const sentence = 'Press the button to get no more mail of this subscription.'
    const button = '<form method="post"><p><button>Unsubscribe</button></p></form>'
    return send(reply, 200, plainPage('Unsubscribe from this mail?', sentence, button))
  },
})

export const unsubscribe = operation({
  name: 'unsubscribe',
  tag: 'Pages',
  hidden: true,
  summary: 'Unsubscribe a reader',
  scope: null,
  params: Path,
  query: ANY,
  body: ANY,
  bodyType: 'application/x-www-form-urlencoded',
  otherBodyType: 'multipart/form-data',
  idempotent: false,
  replies,
  async handle({ services, params, request, reply }) {
    const { allowed, reset } = services.readers.take(addressOf(request))
    if (!allowed) return busy(reply, reset)
    const reader = readerOf(services, params.token)
    if (!reader) return unknown(reply)
    await takeOff(services, request, reader)
    return send(reply, 200, plainPage('You are unsubscribed', 'You get no more mail of this subscription.'))
  },
})
