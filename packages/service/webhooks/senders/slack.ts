/**
 * Sends messages to chats that accept Slack's incoming webhooks: the headline, the first findings, the facts and the link. The
 * address is a secret, so no record holds it. It passes the guard like every address.
 */
import { chatText, escapeChat } from '@assay/engine/pages/chat-text'
import type { Message } from '@assay/engine/pages/mail-page'
import { hostOf } from '../../outgoing/refusal.ts'
import { type Sender as Poster, type Sent, send, unsent } from '../send.ts'
import { openTarget } from '../target.ts'
import { type Composer, compose } from './compose.ts'
import { keptText, type Sender } from './sender.ts'

/**
 * The most characters of a header is 150, of a section 3,000, and of each of ten fields 2,000
 * (https://docs.slack.dev/reference/block-kit/blocks).
 */
const HEADER_MOST = 150
const SECTION_MOST = 2900
const FIELD_MOST = 300
const FIELDS_MOST = 10

export interface SlackOptions extends Composer, Poster {
  /** The version of this program. */
  version: string
}

/**
 * Makes a text with formatting marks. `verbatim` keeps the chat from making links of addresses, names and channels in
 * it.
 */
const marked = (text: string) => ({ type: 'mrkdwn', text, verbatim: true })
const section = (text: string) => ({ type: 'section', text: marked(text) })

function cut(text: string, most: number): string {
  const points = Array.from(text)
  return points.length <= most ? text : `${points.slice(0, most - 1).join('')}…`
}

/** Cuts a text with formatting marks. It never cuts inside a link or an escaped character. */
function cutMarked(text: string, most: number): string {
  const shown = cut(text, most)
  return shown === text ? text : shown.replace(/(?:<[^>]*|&[a-z]*)…$/, '…')
}

export function slackPayload(message: Message): Record<string, unknown> {
  const { headline, sentences, facts, insight, link } = message
  const findings = insight === null ? '' : chatText(insight.markdown, SECTION_MOST)
  const body = [
    ...sentences.map((sentence) => cutMarked(escapeChat(sentence), SECTION_MOST)),
    findings,
  ].filter(Boolean)
  const fields = facts
    .slice(0, FIELDS_MOST)
    .map(({ name, text }) =>
      marked(
        `*${escapeChat(cut(name.replaceAll('*', ''), FIELD_MOST))}*\n${escapeChat(cut(text, FIELD_MOST))}`,
      ),
    )
  const page = link === null ? [] : [section(`<${link}|Read the page>`)]
  return {
    // Notifications, and chats that know no blocks, show this text.
    text: [
      `*${escapeChat(headline)}*`,
      ...body.map((part) => cutMarked(part, 500)),
      ...(link === null ? [] : [link]),
    ].join('\n'),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cut(headline, HEADER_MOST) } },
      ...body.map(section),
      ...(fields.length > 0 ? [{ type: 'section', fields }] : []),
      ...page,
    ],
    unfurl_links: false,
    unfurl_media: false,
  }
}

/** Returns the record with the message and without the secret address. */
function recorded(sent: Sent, url: string, body: string): Sent {
  return {
    ...sent,
    record: { ...sent.record, request: { ...sent.record.request, url, body: keptText(body) } },
  }
}

export function createSlackSender(options: SlackOptions): Sender {
  const agent = `assay/${options.version}`
  const own = { 'content-type': 'application/json; charset=utf-8', 'user-agent': agent }
  return {
    async send(sending, giveUp) {
      const { webhook, attempt: number, now } = sending
      const target = openTarget(options.box, webhook)
      const url = target.url ?? ''
      const refusal =
        (await options.ledger.vetHost(sending.workspace_id, 'chat', hostOf(url))) ??
        (await options.ledger.take(sending.workspace_id, 'chat'))
      if (refusal !== null) return { held: refusal }
      const message = await compose(options, sending, target)
      const body = message === null ? '' : JSON.stringify(slackPayload(message))
      const request = { number, now, url, body: Buffer.from(body) }
      const gone = {
        class: 'request_invalid',
        detail: 'The insight was deleted, so nothing was sent.',
      } as const
      if (message === null) {
        options.ledger.untake(sending.workspace_id, 'chat', 1)
        const nothing = unsent(request, gone)
        return recorded(
          { ...nothing, directives: { retryAfter: null, control: 'abort-message' } },
          webhook.url,
          body,
        )
      }
      options.ledger.addBytes(sending.workspace_id, 'chat', request.body.length)
      const { pathname } = new URL(url)
      const headers = {
        sent: Object.entries(own).flat(),
        shown: own,
        secrets: [url, pathname, ...pathname.split('/')].filter(({ length }) => length >= 8),
      }
      const sent = await send(options, { ...request, headers, signal: giveUp })
      return sent && recorded(sent, webhook.url, body)
    },
  }
}
