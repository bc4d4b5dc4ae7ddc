/**
 * Reads the file of an insight, as `GET /v1alpha/jobs/result` and `assay run --format json` give it. It may come from
 * a stranger. So it is bounded, and only the parts below are used, after a check by the schema of an insight.
 */
import { createReadStream } from 'node:fs'
import { InsightView } from '@assay/model/insight'
import type { Mark } from '@assay/model/provenance'
import { nullable, Type } from '@assay/model/schema'
import { EXIT, ExitError } from '../../exit.ts'

const MAX_MEGABYTES = 100
/** The most marks that are read. They are more than an insight records, for later versions. */
const MOST_MARKS = 5000
const OPEN = { additionalProperties: true }

export interface SourceRecord {
  name: string
  rows?: number | null
  files: { path: string; fingerprint: string }[]
  remote?: unknown
}

export interface InsightRecord {
  template_id: string
  template_version: string
  markdown: string
  provenance: Mark[]
  lineage: {
    assay_version: string
    started_at: string
    variables: Record<string, unknown>
    sources: SourceRecord[]
  }
}

const { template_id, template_version, markdown, provenance } = InsightView.properties
const InsightFile = Type.Object(
  {
    template_id,
    template_version,
    markdown,
    provenance,
    lineage: Type.Object(
      {
        assay_version: Type.String(),
        started_at: Type.String({ format: 'date-time' }),
        variables: Type.Record(Type.String(), Type.Unknown()),
        sources: Type.Array(
          Type.Object(
            {
              name: Type.String(),
              rows: Type.Optional(nullable(Type.Integer())),
              files: Type.Array(Type.Object({ path: Type.String(), fingerprint: Type.String() }, OPEN)),
            },
            OPEN,
          ),
        ),
      },
      OPEN,
    ),
  },
  OPEN,
)

const HOW =
  'Give the JSON of an insight: "assay jobs result ID --format json" or "assay run TEMPLATE --format json" prints it.'

const refused = (message: string): ExitError => new ExitError(EXIT.refused, message)

async function boundedText(file: string): Promise<string> {
  const chunks: Buffer[] = []
  const most = MAX_MEGABYTES * 1_000_000
  let bytes = 0
  try {
    for await (const chunk of createReadStream(file)) {
      bytes += (chunk as Buffer).length
      if (bytes > most) throw refused(`${file} has more than ${MAX_MEGABYTES} MB. ${HOW}`)
      chunks.push(chunk as Buffer)
    }
  } catch (error) {
    if (error instanceof ExitError) throw error
    const { code, message } = error as NodeJS.ErrnoException
    if (code === 'ENOENT')
      throw new ExitError(EXIT.notFound, `${file} cannot be read: there is no such file.`)
    throw new ExitError(
      EXIT.failed,
      `${file} cannot be read: ${code === 'EISDIR' ? 'it is a folder' : message}.`,
    )
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** Tells whether the marks lie in the text, in order, without overlap. */
function fits(marks: readonly Mark[], text: string): boolean {
  let last = 0
  return marks.every(({ start, end }) => {
    const inOrder = start >= last && end >= start && end <= text.length
    last = end
    return inOrder
  })
}

/**
 * Reads the insight. Throws ExitError with a remedy if there is no such file, if it is not JSON or not an insight, or
 * if it does not record the origins of its numbers.
 */
export async function readInsight(file: string): Promise<InsightRecord> {
  const text = await boundedText(file)
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch (error) {
    throw refused(`${file} is not JSON: ${(error as Error).message}. ${HOW}`)
  }
  const { textFaults, validator } = await import('@assay/service/api/http/validate')
  const { faults, value } = validator(InsightFile)(json, '')
  const nested = (): typeof faults =>
    textFaults((value as InsightRecord).lineage.variables, 'lineage.variables')
  const [fault] = faults.length > 0 ? faults : nested()
  if (fault) throw refused(`${file} is not an insight: ${fault.path} ${fault.message}. ${HOW}`)
  const insight = value as Partial<InsightRecord> & Omit<InsightRecord, 'provenance'>
  if (insight.provenance === undefined)
    throw refused(
      `${file} does not say where its numbers come from: it was made before that was recorded. Run the template again, and keep the new insight.`,
    )
  if (insight.provenance.length > MOST_MARKS || !fits(insight.provenance, insight.markdown))
    throw refused(
      `${file} was changed: the positions in its "provenance" are not those of its Markdown. ${HOW}`,
    )
  return insight as InsightRecord
}
