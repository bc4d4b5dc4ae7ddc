/**
 * The page that a link opens. No token: the secret in the address is the key, 256 random bits that are looked up by their
 * hash, so neither the database nor the time of an answer tells anything of it. Whatever a link was (expired, revoked,
 * never there, its insight deleted), who finds nothing sees the same page.
 */

import { INSIGHT_PAGE_POLICY, plainPage } from '@assay/engine/pages/insight-page'
import { AppError } from '@assay/model/errors'
import type { Insight } from '@assay/model/insight'
import type { FastifyReply } from 'fastify'
import Type from 'typebox'
import { hashToken } from '../../runtime/secrets.ts'
import { linkRecord } from '../admin/audit-trail.ts'
import type { Services } from '../dependencies.ts'
import { type Call, operation } from '../http/operation.ts'

const HEADERS = {
  'cache-control': 'private, no-store',
  'content-security-policy': `${INSIGHT_PAGE_POLICY}; frame-ancestors 'none'`,
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow, noarchive',
}

const GONE = plainPage(
  'Nothing to read here',
  'This link has expired, was revoked, or never existed. Ask whoever sent it to you for a new one.',
)
const BUSY = plainPage('Too many pages at once', 'Wait a minute and load this page again.')

async function openedBy(
  { store }: Pick<Services, 'store'>,
  secret: string,
): Promise<{ link_id: string; workspace_id: string; insight: Insight } | null> {
  const link = await store.findLink(hashToken(secret))
  if (!link) return null
  const { link_id, workspace_id, insight_id } = link
  const insight = await store.getInsight({ workspace_id, insight_id })
  return insight && { link_id, workspace_id, insight }
}

function sendPlain(reply: FastifyReply, status: number, page: string) {
  return reply.code(status).type('text/html; charset=utf-8').headers(HEADERS).send(page)
}

export const openLink = operation({
  name: 'openLink',
  tag: 'Pages',
  hidden: true,
  summary: 'The page of an insight, by a link to it',
  scope: null,
  params: Type.Object({ secret: Type.String() }),
  query: Type.Object({}, { additionalProperties: true }),
  replies: {
    200: { description: 'The page', media: ['text/html'] },
    404: { description: 'Nothing is opened by it', media: ['text/html'] },
    429: {
      description: 'Too many from one address, or the workspace has too many drawings waiting',
      media: ['text/html'],
    },
  },
  async handle({ services, params, request, reply }: Call<{ secret: string }>) {
    const { allowed, reset } = services.readers.take(request.ip)
    if (!allowed) return sendPlain(reply.header('retry-after', String(reset)), 429, BUSY)
    const opened = await openedBy(services, params.secret)
    if (!opened) return sendPlain(reply, 404, GONE)
    const { link_id, workspace_id, insight } = opened
    const page = await services.pages.of(insight, workspace_id).catch((error: unknown) => {
      if (error instanceof AppError) return error
      throw error
    })
    if (page instanceof AppError)
      return sendPlain(reply.header('retry-after', String(page.retryAfter)), 429, BUSY)
    if (request.method === 'GET') {
      services.linkViews.note(link_id)
      services.audit.note(linkRecord('link.open', request, { workspace_id, object_id: link_id }))
    }
    return sendPlain(reply, 200, page.html)
  },
})
