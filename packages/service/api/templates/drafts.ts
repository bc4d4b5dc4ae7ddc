/** Operations on drafts: metrics and a template for a table, decided by its columns. Nothing is stored. */
import {
  type Draftable,
  draftFrom,
  fileToDraft,
  lookingAt,
  ROLES,
  tableToDraft,
} from '@assay/engine/drafting/draft'
import { errorsOf } from '@assay/engine/reading/lookup'
import { CONNECTION_NAME } from '@assay/model/connection'
import { KINDS } from '@assay/model/connection-kinds'
import { AppError, notFound } from '@assay/model/errors'
import { normalPath, UPLOADS, vetUploadPath } from '@assay/model/file'
import type { Findings } from '@assay/model/insight'
import { METRIC_ID } from '@assay/model/metric'
import { nullable, Type } from '@assay/model/schema'
import { TEMPLATE_ID } from '@assay/model/template'
import { includesScope } from '@assay/model/token'
import type { Static } from 'typebox'
import { keepLines, keysOfLines, Lines } from '../files/lines.ts'
import { type Call, operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { askedDraft } from './asked-draft.ts'
import { noteReading, runUnstored } from './unstored.ts'

const Wanted = Type.Object({
  file: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1000,
      description:
        'The table as a template names it: `uploads/PATH`, `sample/NAME`, or a path below the data folder',
    }),
  ),
  connection: Type.Optional(
    Type.String({ pattern: CONNECTION_NAME, description: 'In place of `file`, for an admin: a database' }),
  ),
  table: Type.Optional(
    Type.String({
      pattern: '^[^./\\\\{}\\s]+(\\.[^./\\\\{}\\s]+)?$',
      maxLength: 200,
      description: 'Its table, such as `orders` or `sales.orders`, judged by its first 10,000 rows',
    }),
  ),
  dialect: Type.Optional({
    ...Lines,
    description:
      'Lines of the source that say how the file is read, such as `dates: dmy` or `columns: { due: { dates: mdy } }`; they settle questions. Left out: those that were kept with the upload',
  }),
  keep: Type.Optional(
    Type.Boolean({
      default: false,
      description:
        'Keeps `dialect` with the upload, so that later drafts and uploads of the same path begin with it; with an empty `dialect` forgets it',
    }),
  ),
  ask: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2000,
      description:
        'What the report is to tell: the language model of the settings writes the template. Only for a `file`; the model is told the names of its columns, their ranges and most frequent values',
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
      description:
        'The Markdown of a template of at most 60 lines. Over a file it can be previewed and put as it is; over a table put its metrics first',
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
    dialect: Type.Array(Type.String(), {
      description:
        'The lines by which the file was read: those of the request, or those that were kept with it',
    }),
    asked: Type.Union(
      [
        Type.Object({
          written: Type.Boolean({ description: 'False: `source` is the draft by rules' }),
          model: nullable(Type.String({ description: 'The model that answered' })),
          tries: Type.Integer({ minimum: 1 }),
          says: Type.String({ description: 'What became of it' }),
        }),
        Type.Null(),
      ],
      { description: 'Of `ask`: whether the language model wrote `source`' },
    ),
  },
  { title: 'Draft' },
)

type Asked = Call<unknown, unknown, Static<typeof Wanted>>

/** Returns the table of a request. Throws a 422 for lines and names that no source can have. */
async function tableOf({ services, principal, body }: Asked, lines: readonly string[]): Promise<Draftable> {
  const { file, connection, table, ask } = body
  if ((file === undefined) === (table === undefined) || (connection === undefined) !== (table === undefined))
    throw invalid([{ path: 'file', message: 'is required, or connection and table in its place' }])
  if (table !== undefined) {
    if (lines.length > 0)
      throw invalid([{ path: 'dialect', message: 'says how a file is read: a table has its types' }])
    if (ask !== undefined)
      throw invalid([{ path: 'ask', message: 'takes a file: a table of a database is drafted by rules' }])
    if (!includesScope(principal.scopes, 'publisher'))
      throw new AppError(
        'forbidden',
        'A draft reads over a connection only with a token of the scope publisher: it may hold any query.',
      )
    const kind = await services.connections.kindOf(principal.workspace_id, connection!)
    if (kind === null) throw notFound('connection', connection!)
    if (KINDS[kind as keyof typeof KINDS].reads !== 'query')
      throw invalid([{ path: 'connection', message: 'holds files: name one as file of an upload' }])
    return tableToDraft(connection!, kind, table)
  }
  if (/\{[{%]/.test(file!)) throw invalid([{ path: 'file', message: 'must be a name without Liquid' }])
  return fileToDraft(file!, keysOfLines(lines))
}

/** Returns the template that looks at the table. Throws a 422 if the engine refuses its source. */
async function lookOf({ services, principal, body }: Asked, table: Draftable, lines: readonly string[]) {
  const { found, faults } = await services.templates.read(lookingAt(table), principal.workspace_id)
  const errors = errorsOf(faults)
  if (found !== null && errors.length === 0) return found
  const path = lines.length > 0 ? 'dialect' : body.table === undefined ? 'file' : 'table'
  throw invalid(
    errors.map(({ message, remedy }) => ({ path, message: `cannot be used: ${message} ${remedy}` })),
  )
}

/** Returns the path of an upload that a template names; null for other files. */
function uploadOf(file: string | undefined): string | null {
  if (file === undefined || !file.startsWith(UPLOADS)) return null
  const path = normalPath(file.slice(UPLOADS.length))
  return vetUploadPath(path) === null ? path : null
}

interface Looked {
  table: Draftable
  findings: Findings
  /** The lines by which the file was read. */
  lines: readonly string[]
}

async function lookBy(call: Asked, lines: readonly string[]): Promise<Looked> {
  const table = await tableOf(call, lines)
  const look = await lookOf(call, table, lines)
  noteReading(call, 'template.draft', look, call.body.ask === undefined ? [] : ['language model'])
  const { findings } = await runUnstored(call, look, {})
  return { table, findings, lines }
}

/** Tells whether an error means that a kept declaration no longer fits, because the file was replaced. */
const isMisfit = (error: unknown): boolean =>
  error instanceof AppError && ['preview_failed', 'invalid'].includes(error.code)

const openIn = ({ findings, table }: Looked): number => draftFrom(findings, table, true).questions.length

/** Reads the file with the kept lines, or without them if that raises fewer questions. */
async function lookByKept(call: Asked, kept: readonly string[]): Promise<Looked> {
  const unlessMisfit = (error: unknown): null => {
    if (isMisfit(error)) return null
    throw error
  }
  const looked = await lookBy(call, kept).catch(unlessMisfit)
  if (looked === null) return lookBy(call, [])
  if (openIn(looked) === 0) return looked
  const plain = await lookBy(call, []).catch(unlessMisfit)
  return plain === null || openIn(looked) <= openIn(plain) ? looked : plain
}

/**
 * Reads the table by the lines of the request, else by those kept with the upload, else without any, and keeps the
 * lines if asked to.
 */
async function findingsOf(call: Asked): Promise<Looked> {
  const { services, principal, body } = call
  const { workspace_id } = principal
  const { dialect, keep = false } = body
  const path = uploadOf(body.file)
  if (keep && (path === null || dialect === undefined))
    throw invalid([{ path: 'keep', message: 'takes an upload as file, and dialect' }])
  const kept =
    path && dialect === undefined ? await services.store.getFileDialect({ workspace_id, path }) : null
  if (kept !== null) return lookByKept(call, kept)
  const looked = await lookBy(call, dialect ?? [])
  if (keep && path !== null) await keepLines(call, path, looked.lines)
  return looked
}

export const createDraft = operation({
  name: 'createDraft',
  tag: 'Templates',
  // The handler records the reading before the file is read.
  audit: null,
  summary: 'Draft metrics and a template for a table',
  description:
    'Decides what each column is to a report and writes a first template. Asks about what can be read in two ways. Stores nothing but what `keep` names, and is bounded as a preview.',
  scope: 'analyst',
  body: Wanted,
  replies: { 200: { description: 'The draft', schema: DraftView } },
  errors: ['preview_failed', 'stopping', 'workspace_busy', 'not_found'],
  async handle(call) {
    const { table, findings, lines } = await findingsOf(call)
    // A draft over a file reads no metrics, because an analyst may not put them. A draft over a database may, since
    // the database computes them.
    const drafted = draftFrom(findings, table, call.body.table === undefined)
    const { name, template, metrics, rows, decisions, assumptions, questions } = drafted
    const { ask } = call.body
    const asked = ask === undefined ? null : await askedDraft(call, ask, { found: findings, drafted })
    return {
      name,
      source: asked?.source ?? template,
      metrics: Object.entries(metrics).map(([metric_id, source]) => ({ metric_id, source })),
      rows,
      columns: decisions.map(({ column, role, reason, sure }) => ({ name: column, role, reason, sure })),
      assumptions,
      questions,
      dialect: [...lines],
      asked: asked && {
        written: asked.source !== null,
        model: asked.model,
        tries: asked.tries,
        says: asked.says,
      },
    }
  },
})
