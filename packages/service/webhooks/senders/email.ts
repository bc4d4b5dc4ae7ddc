/**
 * Sends mail: one message for each recipient, over one conversation. The record has the server's reply for each, so
 * that a later try skips recipients that got the message. If a node is lost after the server has accepted a message
 * and before that is recorded, the message is sent twice with the same Message-ID.
 */

import { type Message, mailMarkdown, mailText } from '@assay/engine/pages/mail-page'
import { plainBody } from '@assay/engine/pages/plain-page'
import type { DrawTask, RenderTask } from '@assay/engine/run/protocol'
import { type Clock, iso } from '@assay/model/clock'
import type { Attempt } from '@assay/model/delivery'
import type { InsightHead } from '@assay/model/insight'
import type { Target } from '@assay/model/subscription'
import type { Webhook } from '@assay/model/webhook'
import type { Store } from '@assay/store/store'
import type { MailServer } from '../../config/config.ts'
import { type ConsentBook, claimQuestions, returnQuestions } from '../../outgoing/consents.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Sent } from '../send.ts'
import { openTarget } from '../target.ts'
import { question, recipientsOf } from './ask-mail.ts'
import { attachedPdf } from './attached-pdf.ts'
import { type Composer, compose } from './compose.ts'
import { type Letter, mailBytes, messageIdOf, type Picture } from './mime.ts'
import { keptText, type Sender, type Sending } from './sender.ts'
import { converse, type Outcome, type Reply, type SmtpLimits } from './smtp.ts'

/** The most pictures of one mail. Further charts are shown as text. */
const PICTURES_MOST = 10

export interface EmailOptions extends Composer {
  store: Composer['store'] & Pick<Store, 'getDelivery'> & ConsentBook['store']
  /** The mail server; null if ASSAY_SMTP_URL is not set. */
  server: MailServer | null
  from: { name: string; address: string } | null
  /** Draws one PNG in base64 for each specification. */
  draw(task: DrawTask, options: { workspace_id: string }): Promise<string[]>
  /** Renders HTML, or a PDF as base64. */
  render(task: RenderTask, options: { workspace_id: string }): Promise<string>
  /** Returns the address at which a reader unsubscribes and agrees; null if the service has no public address. */
  unsubscribe(webhook: Webhook, to: string): string | null
  confirm(webhook: Webhook, to: string): string | null
  clock: Clock
  log: Logger
  limits?: SmtpLimits
  ca?: string[]
}

interface Try {
  sending: Sending
  url: string
  body: string
}

const NOBODY =
  'No reader of this subscription has agreed to get mail, or all have left: nothing was sent. The mail that asks them was sent before.'

const NO_PHASES = { dns: null, connect: null, tls: null, first_byte: null, total: 0 }

function record({ sending, url, body }: Try, over: Partial<Attempt>): Attempt {
  return {
    number: sending.attempt,
    started_at: iso(sending.now),
    duration_ms: 0,
    status_code: null,
    error: null,
    phases: NO_PHASES,
    request: { method: 'SMTP', url, headers: {}, body: keptText(body) },
    response: null,
    ...over,
  }
}

/**
 * Returns the record of a try that sent nothing. `final`: no later try follows. `reached`: the mail server is not at
 * fault.
 */
function notSent(
  tried: Try,
  detail: string,
  { final, reached = false }: { final: boolean; reached?: boolean },
): Sent {
  return {
    record: record(tried, { error: { class: 'request_invalid', detail } }),
    directives: { retryAfter: null, control: final ? 'abort-message' : null, reached },
  }
}

/** Returns the final replies for recipients in earlier tries of this delivery: accepted, or refused for good. */
async function lastWords({ store }: EmailOptions, sending: Sending): Promise<Map<string, string>> {
  if (sending.attempt === 1) return new Map()
  const { delivery_id, workspace_id } = sending
  const delivery = await store.getDelivery({ workspace_id, delivery_id })
  const replies = (delivery?.attempts ?? []).flatMap(({ response }) =>
    Object.entries(response?.headers ?? {}),
  )
  return new Map(replies.filter(([, reply]) => /^[25]/.test(reply)))
}

/** Draws the charts. Empty if they cannot be drawn now: readers then get the charts as text. */
async function picturesOf(
  { draw, from, log }: EmailOptions,
  { workspace_id, delivery_id }: Sending,
  insight: InsightHead,
): Promise<Picture[]> {
  const charts = insight.charts.slice(0, PICTURES_MOST)
  if (charts.length === 0) return []
  try {
    const pngs = await draw(
      { kind: 'draw', form: 'png', specs: charts.map(({ spec }) => spec) },
      { workspace_id },
    )
    return charts.map(({ id }, index) => ({
      chart_id: id,
      cid: `${id}.${delivery_id}@${from!.address.split('@')[1]}`,
      png: Buffer.from(pngs[index]!, 'base64'),
    }))
  } catch (error) {
    log.warn({ err: error, delivery_id }, 'the charts of a mail could not be drawn')
    return []
  }
}

/**
 * Returns the part of a mail that every reader gets: its text as HTML and its pictures. It is plain text if it cannot
 * be rendered now.
 */
async function contentOf(
  options: EmailOptions,
  sending: Sending,
  message: Message,
): Promise<Pick<Letter, 'text' | 'pictures'>> {
  const { insight } = message
  if (insight === null) return { text: { body: '', cut: false }, pictures: [] }
  const { workspace_id, delivery_id } = sending
  const { markdown, cut } = mailMarkdown(message)
  const { charts, reading } = insight
  const pictures = await picturesOf(options, sending, insight)
  const cids = Object.fromEntries(pictures.map(({ chart_id, cid }) => [chart_id, cid]))
  try {
    const task: RenderTask = { kind: 'render', form: 'mail', markdown, charts, reading, cids }
    return { text: { body: await options.render(task, { workspace_id }), cut }, pictures }
  } catch (error) {
    options.log.warn({ err: error, delivery_id }, 'the text of a mail could not be rendered')
    return { text: { body: plainBody(markdown, charts), cut }, pictures: [] }
  }
}

/**
 * Returns the outcome of the whole delivery. A recipient that may still succeed makes it a failure that is tried
 * again.
 */
function judged(tried: Try, { replies, error, phases }: Outcome, takenBefore: boolean): Sent {
  const all = [...replies.values()]
  const isFinal = ({ status }: Reply): boolean => status >= 500
  const later = all.find(({ status }) => status >= 300 && status < 500)
  const refused = all.find(isFinal)
  const taken = takenBefore || all.some(({ status }) => status < 300)
  const answered = error === null ? (later ?? (taken ? undefined : refused)) : undefined
  const reply = later ?? (taken ? all.find(({ status }) => status < 300) : refused)
  const fault = answered && {
    class: 'smtp_status' as const,
    detail: `The mail server answered ${answered.text}`,
  }
  const round = (ms: number | null): number | null => (ms === null ? null : Math.round(ms * 100) / 100)
  const total = round(phases.total)!
  const headers = Object.fromEntries([...replies].map(([to, { text }]) => [to, keptText(text)]))
  return {
    record: record(tried, {
      duration_ms: total,
      status_code: error?.status ?? reply?.status ?? null,
      error: error === null ? (fault ?? null) : { class: error.class, detail: error.detail },
      phases: { ...NO_PHASES, connect: round(phases.connect), total },
      response: replies.size === 0 ? null : { headers, body: '', truncated: false },
    }),
    // Every recipient is refused for good, so no further try follows.
    directives: {
      retryAfter: null,
      control: error === null && !later && !taken && refused ? 'abort-message' : null,
      reached: error === null && taken,
    },
  }
}

function letterOf(
  options: EmailOptions,
  sending: Sending,
  message: Message,
  to: string,
): Omit<Letter, 'text' | 'pictures' | 'document'> {
  const { delivery_id, webhook, now } = sending
  const from = options.from!
  const unsubscribe = options.unsubscribe(webhook, to)
  const why = `You get this because ${to} is on a list of ${webhook.user_id}.`
  const messageId = messageIdOf(delivery_id, to, from.address)
  return { message, from, to, messageId, date: now, foot: { why, unsubscribe } }
}

interface Mail {
  to: string
  message: Buffer
}

/** Returns the mails to readers, and the questions to those who have not agreed. Null if the insight was deleted. */
async function mailsOf(
  options: EmailOptions,
  sending: Sending,
  { target, open, ask }: { target: Target; open: readonly string[]; ask: readonly string[] },
): Promise<{ mails: Mail[]; message: Message } | null> {
  const message = await compose(options, sending, target)
  if (message === null) return null
  const { delivery_id, webhook, now } = sending
  const from = options.from!
  const questions = ask.map(async (to) => {
    const own = { from, to, messageId: messageIdOf(delivery_id, to, from.address), date: now }
    return { to, message: await mailBytes({ ...own, ...question(to, options.confirm(webhook, to)!) }) }
  })
  if (open.length === 0) return { mails: await Promise.all(questions), message }
  const content = await contentOf(options, sending, message)
  const document = target.attach === 'pdf' ? await attachedPdf(options, sending, message) : null
  const letters = open.map(async (to) => ({
    to,
    message: await mailBytes({ ...letterOf(options, sending, message, to), ...content, document }),
  }))
  return { mails: await Promise.all([...letters, ...questions]), message }
}

/** Counts the mails that the mail server has accepted. */
async function noteTaken(
  options: EmailOptions,
  { workspace_id }: Sending,
  { mails, ask, outcome }: { mails: Mail[]; ask: readonly string[]; outcome: Outcome | null },
): Promise<void> {
  const { ledger, store, box } = options
  const taken = mails.filter(({ to }) => (outcome?.replies.get(to)?.status ?? 999) < 300)
  ledger.untake(workspace_id, 'mail', mails.length - taken.length)
  ledger.addBytes(
    workspace_id,
    'mail',
    taken.reduce((sum, mail) => sum + mail.message.length, 0),
  )
  const taking = new Set(taken.map(({ to }) => to))
  await returnQuestions({ store, box }, { workspace_id, addresses: ask.filter((to) => !taking.has(to)) })
}

export function createEmailSender(options: EmailOptions): Sender {
  const { server, from, ledger } = options
  return {
    async send(sending, giveUp) {
      const { webhook, workspace_id } = sending
      const url = server === null ? 'smtp:' : `smtp://${server.host}:${server.port}`
      const nothing = { sending, url, body: '' }
      if (server === null || from === null)
        return notSent(nothing, 'There is no mail server: set ASSAY_SMTP_URL and ASSAY_MAIL_FROM.', {
          final: false,
        })
      const target = openTarget(options.box, webhook)
      const before = await lastWords(options, sending)
      const takenBefore = [...before.values()].some((reply) => reply.startsWith('2'))
      const recipients = await recipientsOf(options, sending, target)
      const open = recipients.open.filter((to) => !before.has(to))
      const wanted = recipients.ask.filter((to) => !before.has(to))
      const refusal = await ledger.take(workspace_id, 'mail', open.length + wanted.length)
      if (refusal !== null) return { held: refusal }
      const ask = await claimQuestions(options, { clock: options.clock, workspace_id, addresses: wanted })
      ledger.untake(workspace_id, 'mail', wanted.length - ask.length)
      if (open.length + ask.length + before.size === 0 && target.to.length > 0)
        return notSent(nothing, NOBODY, { final: true, reached: true })
      const made = await mailsOf(options, sending, { target, open, ask })
      if (made === null) {
        ledger.untake(workspace_id, 'mail', open.length + ask.length)
        await returnQuestions(options, { workspace_id, addresses: ask })
        return notSent(nothing, 'The insight was deleted, so nothing was sent.', { final: true })
      }
      const { mails, message } = made
      const { limits, ca } = options
      const outcome = await converse({ server, from: from.address, mails, giveUp, limits, ca })
      await noteTaken(options, sending, { mails, ask, outcome })
      const why = `To ${[...open, ...ask.map((to) => `${to} (asked to agree)`)].join(', ')}.`
      const body = `Subject: ${message.subject ?? message.headline}\n\n${mailText(message, { why, unsubscribe: null })}`
      return outcome && judged({ sending, url, body }, outcome, takenBefore)
    },
  }
}
