/** Makes the bytes of a mail: text and HTML as alternatives, with the charts as pictures in the HTML. */
import { createHash } from 'node:crypto'
import { type Foot, type Message, mailPage, mailText } from '@assay/engine/pages/mail-page'
import MailComposer from 'nodemailer/lib/mail-composer'

export interface Picture {
  chart_id: string
  /** The Content-ID that the HTML names. */
  cid: string
  png: Buffer
}

export interface Letter {
  message: Message
  /** The insight's text as HTML, the same for each reader. `cut`: the rest is only on the page. */
  text: { body: string; cut: boolean }
  pictures: readonly Picture[]
  /** The insight as PDF; null if none is attached. */
  document: { name: string; pdf: Buffer } | null
  from: { name: string; address: string }
  to: string
  /** The Message-ID. It is the same in every try, so that a reader's server recognizes a second copy. */
  messageId: string
  /** The date in milliseconds since 1970. */
  date: number
  foot: Foot
}

/** Returns the Message-ID of one delivery to one reader. */
export function messageIdOf(delivery_id: string, to: string, from: string): string {
  const reader = createHash('sha256').update(to.toLowerCase()).digest('hex').slice(0, 16)
  return `<${delivery_id}.${reader}@${from.split('@')[1]}>`
}

export function mailBytes(letter: Letter): Promise<Buffer> {
  const { message, text, pictures, document, from, to, messageId, date, foot } = letter
  const composer = new MailComposer({
    from,
    to,
    subject: message.subject ?? message.headline,
    messageId,
    date: new Date(date),
    text: mailText(message, foot),
    html: mailPage(message, text, foot),
    attachments: [
      ...pictures.map(({ chart_id, cid, png }) => ({
        content: png,
        contentType: 'image/png',
        filename: `${chart_id}.png`,
        cid,
        contentDisposition: 'inline' as const,
      })),
      ...(document === null
        ? []
        : [{ content: document.pdf, contentType: 'application/pdf', filename: document.name }]),
    ],
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      ...(foot.unsubscribe === null
        ? {}
        : {
            'List-Unsubscribe': { prepared: true, value: `<${foot.unsubscribe}>` },
            'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
          }),
    },
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return composer.compile().build()
}
