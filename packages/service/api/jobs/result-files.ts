/** Answers an insight as a file for another program: the document as PDF, its tables as a workbook or as CSV. */

import { TaskError } from '@assay/engine/run/pool'
import type { TablesTask } from '@assay/engine/run/protocol'
import type { InsightData, InsightHead } from '@assay/model/insight'
import type { FastifyReply } from 'fastify'
import type { Call } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { busyWith, fileFault } from './file-fault.ts'
import { inTime } from './page-renderings.ts'

/** The media types of files, as against those of the insight's text. */
export const FILE_MEDIA = {
  'application/pdf': { ending: 'pdf', type: 'application/pdf' },
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': {
    ending: 'xlsx',
    type: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  },
  'text/csv': { ending: 'csv', type: 'text/csv; charset=utf-8; header=present' },
} as const
export type FileMedia = keyof typeof FILE_MEDIA
export const isFileMedia = (media: string): media is FileMedia => Object.hasOwn(FILE_MEDIA, media)

/** The longest wait for a free process and for the tables, in milliseconds: common proxies give up after 60 s. */
const WAIT_MS = 45_000

const TOO_LARGE =
  'The tables of this insight are too large to be written in the time and memory that one has. Ask for one by "table", or for application/json.'

type Answering = Pick<Call, 'services' | 'principal' | 'reply'>

interface Parts {
  head: InsightHead
  data(): Promise<InsightData>
  /** The block whose table the request names. */
  table: string | undefined
}

export async function sendFile(call: Answering, media: FileMedia, parts: Parts): Promise<FastifyReply> {
  const { ending, type } = FILE_MEDIA[media]
  const bytes = ending === 'pdf' ? await pdfOf(call, parts.head) : await tablesOf(call, ending, parts)
  const { template_id, created_at } = parts.head
  // A template of a workspace may have any name, so other characters become a hyphen in the header.
  const name = [template_id, ending === 'pdf' ? undefined : parts.table, created_at.slice(0, 10)]
  const file = name.filter((part) => part !== undefined).join('-')
  const shown = ending === 'pdf' ? 'inline' : 'attachment'
  return call.reply
    .type(type)
    .header('content-disposition', `${shown}; filename="${file.replaceAll(/[^\w.-]+/g, '-')}.${ending}"`)
    .send(bytes)
}

async function pdfOf({ services, principal, reply }: Answering, head: InsightHead): Promise<Buffer> {
  const { pdf, whole } = await services.documents.of(head, principal.workspace_id)
  // A document without its charts has no tag, because a later one will differ.
  if (!whole) reply.removeHeader('etag')
  return pdf
}

async function tablesOf(
  { services, principal }: Answering,
  form: TablesTask['form'],
  { head, data, table }: Parts,
): Promise<Buffer> {
  const { insight_id, template_id, template_version, title, created_at } = head
  const shown = { insight_id, template_id, template_version, title, created_at }
  const task = { kind: 'tables', form, head: shown, table: table ?? null } as const
  const texts = async () => {
    const { tables, provenance } = await data()
    return { tables, ...(provenance === null ? {} : { provenance }) }
  }
  const { workspace_id } = principal
  const { pool, clock, log } = services
  const answer = await inTime(clock, WAIT_MS, (signal) =>
    pool.tables(task, { workspace_id, signal, texts }),
  ).catch((error: unknown) => {
    if (error instanceof TaskError)
      log.warn({ err: error, insight_id }, 'the tables of an insight could not be written')
    throw fileFault(error, TOO_LARGE)
  })
  if (answer === null) throw busyWith('the tables', WAIT_MS)
  if ('names' in answer) throw invalid([{ path: 'table', message: namesFault(answer.names) }])
  return Buffer.from(answer.file, form === 'xlsx' ? 'base64' : 'utf8')
}

function namesFault(names: readonly string[]): string {
  const shown = names.slice(0, 20).join(', ')
  return names.length === 0 ? 'names no table: this insight has none' : `must be one of the tables: ${shown}`
}
