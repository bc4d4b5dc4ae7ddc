/**
 * The parts that three pages share: those on which a reader of mail unsubscribes, agrees or returns. The sealed
 * address in a mail names the subscription and the reader.
 */

import { FORM_PAGE_POLICY, plainPage } from '@assay/engine/pages/plain-page'
import { Type } from '@assay/model/schema'
import type { FastifyReply } from 'fastify'
import type { Services } from '../dependencies.ts'
import { callerNetwork } from '../http/client-address.ts'
import type { Call } from '../http/operation.ts'

const HEADERS = {
  'cache-control': 'private, no-store',
  'content-security-policy': `${FORM_PAGE_POLICY}; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow, noarchive',
}
/** The largest form in bytes. It is limited because anyone may send one. */
const FORM_BYTES = 16 * 1024
/** The most tries of a change that a concurrent change may undo. */
export const TRIES = 5

const Path = Type.Object({ token: Type.String() })
const ANY = Type.Object({}, { additionalProperties: true })
const replies = {
  200: { description: 'A page', media: ['text/html'] },
  404: { description: 'The address is incomplete', media: ['text/html'] },
  429: { description: 'Too many from one address', media: ['text/html'] },
} as const

export interface Reader {
  workspace_id: string
  webhook_id: string
  to: string
}

/** The settings that the page and its button share. */
export const SHOWN = { tag: 'Pages', hidden: true, scope: null, params: Path, query: ANY, replies } as const
export const PRESSED = {
  ...SHOWN,
  body: ANY,
  bodyType: 'application/x-www-form-urlencoded',
  otherBodyType: 'multipart/form-data',
  bodyBytes: FORM_BYTES,
  idempotent: false,
} as const

/** The reader of a sealed address. Returns null if this service did not make the address or it was changed. */
function readerOf({ secrets }: Services, token: string, context: string): Reader | null {
  try {
    const [workspace_id, webhook_id, to] = JSON.parse(secrets.open(token, context)) as string[]
    return { workspace_id: workspace_id!, webhook_id: webhook_id!, to: to! }
  } catch {
    return null
  }
}

export function send(reply: FastifyReply, status: number, page: string) {
  return reply.code(status).type('text/html; charset=utf-8').headers(HEADERS).send(page)
}

const unknown = (reply: FastifyReply) =>
  send(
    reply,
    404,
    plainPage('This address is incomplete', 'Copy it again from the mail, or ask the sender of the mail.'),
  )
export const busy = (reply: FastifyReply, reset: number) =>
  send(
    reply.header('retry-after', String(reset)),
    429,
    plainPage('Too many pages at once', 'Wait a minute and load this page again.'),
  )

/**
 * Answers with the page that `pageOf` makes for the reader of the address. An address that cannot be opened, or that
 * is asked too often, gets a page that says so.
 */
export function pageFor(
  context: string,
  pageOf: (services: Services, reader: Reader, request: Call['request']) => string | Promise<string>,
) {
  return async ({ services, params, request, reply }: Call<{ token: string }>) => {
    const { allowed, reset } = services.readers.take(callerNetwork(request))
    if (!allowed) return busy(reply, reset)
    const reader = readerOf(services, params.token, context)
    return reader ? send(reply, 200, await pageOf(services, reader, request)) : unknown(reply)
  }
}
