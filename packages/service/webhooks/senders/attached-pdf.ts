/** Makes the PDF that a mail has attached. */

import { drawingsOf } from '@assay/engine/pages/chart-figure'
import { type Message, type ToldInsight, withoutLineage } from '@assay/engine/pages/mail-page'
import type { DrawTask, RenderTask } from '@assay/engine/run/protocol'
import type { Logger } from '../../runtime/log.ts'
import type { Letter } from './mime.ts'
import type { Sending } from './sender.ts'

interface Makers {
  draw(task: DrawTask, options: { workspace_id: string }): Promise<string[]>
  /** Renders the PDF as base64. */
  render(task: RenderTask, options: { workspace_id: string }): Promise<string>
  log: Logger
}

/** The most bytes of the PDF. Many mail servers refuse mails of more than 10 MB. */
const BYTES_MOST = 5_000_000

/**
 * Makes the PDF of an insight for a mail. Like the mail, it does not tell how the insight was computed. Returns null if
 * the message has no insight, or its PDF cannot be set now or is too large; the message then says so.
 */
export async function attachedPdf(
  makers: Makers,
  sending: Pick<Sending, 'workspace_id' | 'delivery_id'>,
  message: Message,
): Promise<Letter['document']> {
  const { insight } = message
  if (insight === null) return null
  try {
    const pdf = await pdfOf(makers, sending.workspace_id, insight)
    if (pdf.length > BYTES_MOST) throw new Error(`It has ${pdf.length} bytes, more than ${BYTES_MOST}.`)
    const { template_id, created_at } = insight
    return { name: `${template_id.replaceAll(/[^\w.-]+/g, '-')}-${created_at.slice(0, 10)}.pdf`, pdf }
  } catch (error) {
    makers.log.warn({ err: error, delivery_id: sending.delivery_id }, 'the PDF of a mail could not be made')
    message.sentences.push('The PDF could not be made this time; the page has everything.')
    return null
  }
}

async function pdfOf({ draw, render }: Makers, workspace_id: string, insight: ToldInsight): Promise<Buffer> {
  const { insight_id, template_id, template_version, title, charts, reading, created_at } = insight
  const ids = { insight_id, template_id, template_version, created_at }
  const shown = { ...ids, title, charts, reading, markdown: withoutLineage(insight) }
  const specs = charts.map(({ spec }) => spec)
  const svgs = specs.length === 0 ? [] : await draw({ kind: 'draw', form: 'pages', specs }, { workspace_id })
  const task = { kind: 'render', form: 'pdf', insight: shown, drawings: drawingsOf(svgs) } as const
  return Buffer.from(await render(task, { workspace_id }), 'base64')
}
