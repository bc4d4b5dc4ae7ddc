/** Drafts: metrics and a template for a table, by what its columns are. Nothing is stored. */
import { draftFrom, lookingAt, ROLES, readLines } from '@assay/engine/drafting/draft'
import { errorsOf } from '@assay/engine/reading/lookup'
import { METRIC_ID } from '@assay/model/metric'
import { Type } from '@assay/model/schema'
import { TEMPLATE_ID } from '@assay/model/template'
import type { Static } from 'typebox'
import { type Call, operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { noteReading, runUnstored } from './unstored.ts'

/** Lines are parsed as YAML at once: all that a request may send takes about 50 ms. */
const LINES_MOST = 40
const Line = Type.String({ minLength: 1, maxLength: 400 })

const Wanted = Type.Object({
  file: Type.String({
    minLength: 1,
    maxLength: 1000,
    description:
      'The table as a template names it: `uploads/PATH`, `sample/NAME`, or a path below the data folder',
  }),
  dialect: Type.Optional(
    Type.Array(Line, {
      maxItems: LINES_MOST,
      description:
        'Lines of the source that say how the file is read, such as `dates: dmy` or `columns: { due: { dates: mdy } }`; they settle questions',
    }),
  ),
})

const DraftView = Type.Object(
  {
    name: Type.String({
      pattern: TEMPLATE_ID,
      description: 'An id for the template, made of the name of the file',
    }),
    source: Type.String({
      description: 'The Markdown of a template of at most 60 lines, which can be previewed and put as it is',
    }),
    metrics: Type.Array(
      Type.Object({
        metric_id: Type.String({ pattern: METRIC_ID }),
        source: Type.String({ description: 'The text of `metrics/METRIC_ID.yaml`' }),
      }),
      { description: 'Definitions for a folder of templates; none where the table has no dates' },
    ),
    rows: Type.Integer(),
    columns: Type.Array(
      Type.Object({
        name: Type.String(),
        role: Type.Enum([...ROLES]),
        reason: Type.String({ description: 'Why, as the end of "..., because"' }),
        sure: Type.Boolean({ description: 'False: the role rests on a weak sign' }),
      }),
    ),
    assumptions: Type.Array(Type.String(), { description: 'What the draft takes for granted' }),
    questions: Type.Array(
      Type.Object({
        column: Type.String(),
        says: Type.String(),
        readings: Type.Array(
          Type.Object({
            as: Type.String({ description: 'What its values are then' }),
            write: Type.String({ description: 'The line for `dialect` that settles it so' }),
          }),
        ),
      }),
      {
        description:
          'What can be read in two ways. The draft leaves these columns out until a line settles them',
      },
    ),
  },
  { title: 'Draft' },
)

/** The template that looks at the table. Throws a 422 for lines and names that no source can have. */
async function lookOf({ services, principal, body }: Call<unknown, unknown, Static<typeof Wanted>>) {
  const { file, dialect: lines = [] } = body
  if (/\{[{%]/.test(file)) throw invalid([{ path: 'file', message: 'must be a name without Liquid' }])
  const dialect = readLines(lines)
  if (typeof dialect === 'number')
    throw invalid([
      {
        path: `dialect.${dialect}`,
        message:
          'is no line of a source: write one such as dates: dmy, decimal: ",", missing: [NA] or columns: { due: { dates: mdy } }',
      },
    ])
  const { found, faults } = await services.templates.read(lookingAt(file, dialect), principal.workspace_id)
  const errors = errorsOf(faults)
  if (found === null || errors.length > 0) {
    const path = lines.length > 0 ? 'dialect' : 'file'
    throw invalid(
      errors.map(({ message, remedy }) => ({ path, message: `cannot be used: ${message} ${remedy}` })),
    )
  }
  return { look: found, dialect }
}

export const createDraft = operation({
  name: 'createDraft',
  tag: 'Templates',
  // Noted by hand before the file is read.
  audit: null,
  summary: 'Draft metrics and a template for a table',
  description:
    'Decides what each column is to a report and writes a first template. Asks about what can be read in two ways. Stores nothing, and is bounded as a preview.',
  scope: 'analyst',
  body: Wanted,
  replies: { 200: { description: 'The draft', schema: DraftView } },
  errors: ['preview_failed', 'stopping', 'workspace_busy'],
  async handle(call) {
    const { look, dialect } = await lookOf(call)
    noteReading(call, 'template.draft', look)
    const { findings } = await runUnstored(call, look, {})
    // The template reads no metrics: they are put one by one, and only by an admin.
    const drafted = draftFrom(findings, call.body.file, dialect, true)
    const { name, template, metrics, rows, decisions, assumptions, questions } = drafted
    return {
      name,
      source: template,
      metrics: Object.entries(metrics).map(([metric_id, source]) => ({ metric_id, source })),
      rows,
      columns: decisions.map(({ column, role, reason, sure }) => ({ name: column, role, reason, sure })),
      assumptions,
      questions,
    }
  },
})
