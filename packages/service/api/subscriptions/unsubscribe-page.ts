/**
 * Where the reader of a mail ends it: the address in the mail is sealed by the service and names the subscription and the
 * reader, so there is no token to give. Opening it changes nothing (programs look at addresses ahead of people); the button,
 * and the one click of a mail program (RFC 8058), do.
 */

import { FORM_PAGE_POLICY, plainPage } from '@assay/engine/pages/insight-page'
import { type Target, UNSUBSCRIBE_CONTEXT } from '@assay/model/subscription'
import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import { openTarget, sealTarget } from '../../webhooks/target.ts'
import { linkRecord } from '../admin/audit-trail.ts'
import type { Services } from '../dependencies.ts'
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
  404: { description: 'The address is not whole', media: ['text/html'] },
  429: { description: 'Too many from one address', media: ['text/html'] },
} as const

interface Reader {
  workspace_id: string
  webhook_id: string
  to: string
}

/** Null: it was not made here, or was changed. */
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
    plainPage('This address is not whole', 'Copy it again from the mail, or ask who sent it to you.'),
  )
const busy = (reply: FastifyReply, reset: number) =>
  send(
    reply.header('retry-after', String(reset)),
    429,
    plainPage('Too many pages at once', 'Wait a minute and load this page again.'),
  )

/** Whoever is no more on the list is off it, whether by this or before. The last one off turns the subscription off. */
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
  summary: 'Asks whether a reader wants no more of it',
  scope: null,
  params: Path,
  query: ANY,
  replies,
  handle({ services, params, request, reply }) {
    const { allowed, reset } = services.readers.take(request.ip)
    if (!allowed) return busy(reply, reset)
    if (!readerOf(services, params.token)) return unknown(reply)
    const sentence = 'You get no more mail of this subscription once you have pressed the button.'
    const button = '<form method="post"><p><button>Get no more of it</button></p></form>'
    return send(reply, 200, plainPage('Get no more of this mail?', sentence, button))
  },
})

export const unsubscribe = operation({
  name: 'unsubscribe',
  tag: 'Pages',
  hidden: true,
  summary: 'Takes a reader off the list',
  scope: null,
  params: Path,
  query: ANY,
  body: ANY,
  bodyType: 'application/x-www-form-urlencoded',
  otherBodyType: 'multipart/form-data',
  idempotent: false,
  replies,
  async handle({ services, params, request, reply }) {
    const { allowed, reset } = services.readers.take(request.ip)
    if (!allowed) return busy(reply, reset)
    const reader = readerOf(services, params.token)
    if (!reader) return unknown(reply)
    await takeOff(services, request, reader)
    return send(reply, 200, plainPage('That was the last one', 'You get no more mail of this subscription.'))
  },
})
