/**
 * Opens the page of one insight, or of a collection and its insights, to a reader without a token. The secret in the address has 256 random bits and is looked up by
 * its hash, so that neither the database nor the time of an answer reveals it. Expired, revoked and unknown links, and links to
 * deleted insights, get the same answer.
 */

import { collectionPage, withWayBack } from '@assay/engine/pages/collection-page'
import { INSIGHT_PAGE_POLICY, plainPage } from '@assay/engine/pages/plain-page'
import { HELD_MOST } from '@assay/model/collection'
import { AppError } from '@assay/model/errors'
import { linkAddress } from '@assay/model/link'
import { Type } from '@assay/model/schema'
import type { FastifyReply } from 'fastify'
import { hashToken } from '../../runtime/secrets.ts'
import { linkRecord } from '../admin/audit-trail.ts'
import type { Services } from '../dependencies.ts'
import { callerNetwork } from '../http/client-address.ts'
import { type Call, operation } from '../http/operation.ts'
import type { Page } from '../jobs/page-renderings.ts'

const HEADERS = {
  'cache-control': 'private, no-store',
  'cross-origin-opener-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow, noarchive',
}

const GONE = plainPage(
  'Nothing to read here',
  'This link has expired, was revoked, or never existed. Ask the person who sent it for a new one.',
)
/**
 * The page for a busy service. `after` is in seconds. Readers who have used up their share of the hour wait until the
 * next one.
 */
function busyPage(after: number): string {
  const minutes = Math.max(1, Math.ceil(after / 60))
  return plainPage(
    'Too many pages at once',
    `Wait ${minutes === 1 ? 'a minute' : `${minutes} minutes`} and load this page again.`,
  )
}

/** The last page with a way back that was made of a kept page. */
const backs = new WeakMap<Buffer, { key: string; page: Buffer }>()

/** Returns the page with a way back, made once for all who read it now: each copy of a large page fills the memory. */
function backFrom(html: Buffer, name: string, address: string): Buffer {
  const key = `${address} ${name}`
  const known = backs.get(html)
  if (known?.key === key) return known.page
  const page = withWayBack(html, name, address)
  backs.set(html, { key, page })
  return page
}

interface Opened {
  link_id: string
  workspace_id: string
  /**
   * Renders the page. Throws `workspace_busy` if too many pages wait, or readers have used up their share of the hour.
   */
  page(): Promise<Pick<Page, 'html'>>
}

/** Opens the page of a collection, or of an insight in it. Such a page never shows a personal insight. */
async function openedByCollection(
  { store, pages, config }: Services,
  secret: string,
  insight_id: string | undefined,
): Promise<Opened | null> {
  const link = await store.findCollectionLink(hashToken(secret))
  if (!link) return null
  const { link_id, workspace_id, collection_id } = link
  const collection = await store.getCollection({ workspace_id, collection_id })
  if (!collection) return null
  const asked = { workspace_id, collection_id, insight_id, limit: HELD_MOST, with_history: false }
  const cards = (await store.listInsights(asked)).items.filter(({ reader_id }) => reader_id === null)
  const address = linkAddress(secret, config.publicUrl)
  if (insight_id === undefined) {
    const addressOf = (id: string): string => `${address}/${id}`
    const { name, description } = collection
    const html = collectionPage({ name, description, cards, addressOf })
    return { link_id, workspace_id, page: async () => ({ html: Buffer.from(html) }) }
  }
  if (cards.length === 0) return null
  // A cached page needs no read of its insight, which may be large.
  const kept = pages.kept(insight_id) ?? pages.coming(insight_id)
  const insight = kept ? null : await store.getInsightHead({ workspace_id, insight_id })
  const made = kept ?? (insight && (() => pages.of(insight, workspace_id, { reader: true })))
  if (!made) return null
  const page = async () => {
    const { html } = await (typeof made === 'function' ? made() : made)
    return { html: backFrom(html, collection.name, address) }
  }
  return { link_id, workspace_id, page }
}

/** Finds the page of a link. A cached page needs no read of the insight, because a link is deleted with its insight. */
async function openedBy({ store, pages }: Services, secret: string): Promise<Opened | null> {
  const link = await store.findLink(hashToken(secret))
  if (!link) return null
  const { link_id, workspace_id, opens: insight_id } = link
  // The link is moved to the newest insight, so that it is deleted with that insight and not with the one for which
  // it was made.
  if (insight_id !== link.insight_id) await store.moveLink({ workspace_id, link_id, insight_id })
  const kept = pages.kept(insight_id, link.rows) ?? pages.coming(insight_id, link.rows)
  if (kept) return { link_id, workspace_id, page: async () => kept }
  const of = { workspace_id, insight_id }
  const insight = await store.getInsightHead(of)
  if (!insight) return null
  const asked = { reader: true, ...(link.rows ? { behind: () => store.getInsightData(of) } : {}) }
  return { link_id, workspace_id, page: () => pages.of(insight, workspace_id, asked) }
}

/** Sends a page. The header lets the sites of the settings show it in a frame. */
function sendPage({ config }: Services, reply: FastifyReply, status: number, page: string | Buffer) {
  const parents = config.frameParents
  const ancestors = parents.length === 0 ? "'none'" : parents.join(' ')
  return reply
    .code(status)
    .type('text/html; charset=utf-8')
    .headers({
      ...HEADERS,
      'content-security-policy': `${INSIGHT_PAGE_POLICY}; frame-ancestors ${ancestors}`,
      'cross-origin-resource-policy': parents.length === 0 ? 'same-origin' : 'cross-origin',
    })
    .send(page)
}

/** Answers with the page. Every link that cannot be opened gets the same answer. */
async function answer({ services, params, request, reply }: Call<{ secret: string; insight_id?: string }>) {
  const { allowed, reset } = services.readers.take(callerNetwork(request))
  if (!allowed) return sendPage(services, reply.header('retry-after', String(reset)), 429, busyPage(reset))
  const { secret, insight_id } = params
  const opened =
    (insight_id === undefined ? await openedBy(services, secret) : null) ??
    (await openedByCollection(services, secret, insight_id))
  if (!opened) return sendPage(services, reply, 404, GONE)
  const { link_id, workspace_id } = opened
  const page = await opened.page().catch((error: unknown) => {
    if (error instanceof AppError) return error
    throw error
  })
  if (page instanceof AppError) {
    const after = page.retryAfter ?? 60
    return sendPage(services, reply.header('retry-after', String(after)), 429, busyPage(after))
  }
  if (request.method === 'GET') {
    services.linkViews.note(link_id)
    services.audit.note(linkRecord('link.open', request, { workspace_id, object_id: link_id }))
  }
  return sendPage(services, reply, 200, page.html)
}

const REPLIES = {
  200: { description: 'The page', media: ['text/html'] },
  404: { description: 'The link opens nothing', media: ['text/html'] },
  429: {
    description: 'Too many requests from one address, or too many pages of the workspace are waiting',
    media: ['text/html'],
  },
} as const

export const openLink = operation({
  name: 'openLink',
  tag: 'Pages',
  hidden: true,
  summary: 'The page of an insight, by a link to it',
  scope: null,
  params: Type.Object({ secret: Type.String() }),
  query: Type.Object({}, { additionalProperties: true }),
  replies: REPLIES,
  handle: answer,
})

export const openLinkedInsight = operation({
  name: 'openLinkedInsight',
  tag: 'Pages',
  hidden: true,
  summary: 'The page of an insight, by a link to a collection that holds it',
  scope: null,
  params: Type.Object({ secret: Type.String(), insight_id: Type.String() }),
  query: Type.Object({}, { additionalProperties: true }),
  replies: REPLIES,
  handle: answer,
})
