/** Tools over tables: list files and connections, look at one table, draft a report of it. */
import type { Client } from '@assay/client'
import { type Draftable, fileToDraft, lookingAt, readLines, tableToDraft } from '@assay/engine/drafting/draft'
import type { FoundDialect } from '@assay/model/dialect'
import type { SourceLineage } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import { Cells, tableOf } from './cells.ts'
import { connections, connectionTables, kindOf } from './connection-tools.ts'
import type { Told } from './told.ts'
import { type AgentTool, refuse, tool } from './tool.ts'

/** The most raw bytes and lines of a file that an answer shows. */
const RAW_BYTES = 8192
const RAW_LINES = 20
const MOST_COLUMNS = 60

const Named = {
  file: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1000,
      description: 'uploads/PATH, sample/NAME, or a path below the data folder',
    }),
  ),
  connection: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'In place of file: a database' }),
  ),
  table: Type.Optional(
    Type.String({ minLength: 1, maxLength: 200, description: 'Its table: orders, or sales.orders' }),
  ),
  dialect: Type.Optional(
    Type.Array(Type.String({ minLength: 1, maxLength: 400 }), {
      maxItems: 40,
      description:
        'Lines that say how the file is read, such as dates: dmy, decimal: "," or columns: { due: { dates: mdy } }',
    }),
  ),
}
type Named = { file?: string; connection?: string; table?: string; dialect?: string[] }

const Reading = Type.Object({
  as: Type.String({ description: 'What the sample is then' }),
  write: Type.String({ description: 'The line that chooses it: one of dialect, and a key of the source' }),
})
const Doubts = Type.Array(
  Type.Object({
    column: Type.String(),
    kind: Type.String(),
    sample: Type.String(),
    says: Type.String(),
    readings: Type.Array(Reading),
  }),
  { description: 'Columns that can be read in two ways, or that hold values of two kinds' },
)

type FoundColumns = FoundDialect['columns']

/** Returns each doubt with the lines that settle it and affect no other column. */
function doubtsOf(columns: FoundColumns) {
  return columns.flatMap(({ name, doubt }) => {
    if (!doubt) return []
    const { kind, sample, says, readings } = doubt
    const own = readings.map(({ as, write }) => ({
      as,
      write: `columns: { ${JSON.stringify(name)}: { ${write} } }`,
    }))
    return [{ column: name, kind, sample, says, readings: own }]
  })
}

const isOpen = ({ kind }: { kind: string }): boolean => kind === 'two_readings'
const CHOOSE =
  'Some columns can be read in two ways, and no report may use them until one is chosen. Choose by what you know of the file, and send the line of each choice in dialect, beside those that you sent before, with the next call:'

const files = tool({
  name: 'assay_files',
  title: 'List files',
  description: 'The files that were uploaded to the workspace, by path.',
  scope: 'viewer',
  effect: 'reads',
  input: Type.Object({
    prefix: Type.Optional(Type.String({ maxLength: 1000, description: 'What the path begins with' })),
    cursor: Type.Optional(Type.String({ maxLength: 2000, description: 'next_cursor of the call before' })),
  }),
  data: Type.Object({
    files: Type.Array(
      Type.Object({
        file: Type.String({ description: 'As the other tools and templates name it' }),
        bytes: Type.Integer(),
        updated_at: Type.String(),
      }),
    ),
    next_cursor: Type.Union([Type.String(), Type.Null()]),
  }),
  async run({ client, given }) {
    const { items, next_cursor } = await client.files.list({ ...given, limit: 100 })
    return {
      next:
        items.length === 0
          ? 'There is no such file: send one with assay_upload.'
          : 'Call assay_look with the file to see its rows.',
      data: { files: items.map(({ file, bytes, updated_at }) => ({ file, bytes, updated_at })), next_cursor },
    }
  },
})

const upload = tool({
  name: 'assay_upload',
  title: 'Upload a small text as a file',
  description:
    'Stores a CSV, TSV, JSON or NDJSON text of at most 500,000 characters. Larger files and workbooks are sent by PUT /v1alpha/files/PATH, and named here as uploads/PATH.',
  scope: 'analyst',
  effect: 'replaces',
  input: Type.Object({
    path: Type.String({
      minLength: 1,
      maxLength: 1000,
      description: 'Such as 2026/orders.csv: the ending says the format',
    }),
    text: Type.String({ minLength: 1, maxLength: 500_000 }),
    replace: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether a file of this path may be replaced' }),
    ),
    dialect: Named.dialect,
  }),
  data: Type.Object({
    file: Type.String({ description: 'As the other tools and templates name it' }),
    columns: Type.Array(Type.Object({ name: Type.String(), type: Type.String() })),
    doubts: Doubts,
  }),
  async run({ client, given: { path, text, replace = false, dialect } }) {
    const put = await client.files.put(path, text, { ifNew: !replace, dialect })
    const doubts = doubtsOf(put.readings as FoundColumns)
    const same = dialect === undefined ? '' : ' and the same dialect'
    return {
      next: doubts.some(isOpen)
        ? `${CHOOSE} assay_look.`
        : `Call assay_look with this file${same} to see how its rows are read.`,
      data: { file: put.file, columns: put.columns, doubts },
    }
  },
})

/**
 * Returns the named table. Throws a refusal if neither or both are named, or if a line does not declare how to read a
 * file.
 */
async function draftableOf(client: Client, given: Named): Promise<Draftable> {
  const { file, connection, table, dialect = [] } = given
  if (connection !== undefined && table !== undefined && file === undefined)
    return tableToDraft(connection, await kindOf(client, connection), table)
  if (file === undefined || connection !== undefined || table !== undefined)
    throw refuse('file', 'is required, or connection and table in its place')
  const lines = readLines(dialect)
  if (typeof lines !== 'number') return fileToDraft(file, lines)
  throw refuse(`dialect.${lines}`, 'is not a line of a source: write one such as dates: dmy or decimal: ","')
}

/** Returns the first raw lines of an upload. Null for a file that is not text, or not an upload. */
async function rawOf(client: Client, file: string, encoding: string): Promise<string | null> {
  const path = /^uploads\/(.+\.(?:csv|tsv|txt|json|ndjson|jsonl))$/i.exec(file)?.[1]
  if (path === undefined) return null
  const answer = await client.files.read(path, { range: [0, RAW_BYTES - 1] })
  const known = /^[\w-]{1,40}$/.test(encoding) ? encoding : 'utf-8'
  const text = new TextDecoder(known).decode(await answer.arrayBuffer())
  return text.split(/\r\n|\n|\r/, RAW_LINES).join('\n')
}

interface ProfiledColumn {
  name: string
  type: string
  nulls: number
  distinct: number
  min: unknown
  max: unknown
  top: { value: unknown; n: number }[]
}

interface Profile {
  n: number
  columns: ProfiledColumn[]
  blockers: { says: string }[]
  caveats: { says: string }[]
}

const look = tool({
  name: 'assay_look',
  title: 'Look at a table',
  description:
    'The first lines of a file as they are written, its first rows as a report reads them, what each column holds, and each doubt of how it is read with the lines that settle it.',
  scope: 'analyst',
  effect: 'reads',
  outside: true,
  input: Type.Object({
    ...Named,
    rows: Type.Optional(Type.Integer({ minimum: 1, maximum: 50, default: 10 })),
  }),
  data: Type.Object({
    rows: Type.Integer({
      description: 'Of the table, or of the 10,000 rows of a database that are looked at',
    }),
    doubts: Doubts,
    against: Type.Array(Type.String(), {
      description: 'What a reader must know, such as rows that are left out',
    }),
    raw: Type.Union([Type.String(), Type.Null()], { description: 'The first lines as they are written' }),
    parsed: Cells,
    columns: Type.Array(
      Type.Object({
        name: Type.String(),
        type: Type.String(),
        nulls: Type.Integer(),
        distinct: Type.Integer(),
        min: Type.Unknown(),
        max: Type.Unknown(),
        often: Type.Array(Type.Unknown(), { description: 'The values that are there most often' }),
      }),
    ),
  }),
  async run({ client, given }): Promise<Told> {
    const table = await draftableOf(client, given)
    const shown = given.rows ?? 10
    const { source } = lookingAt(table, shown)
    const { tables, analyses, lineage } = await client.templates.preview({ source })
    const [read] = (lineage as { sources?: Pick<SourceLineage, 'dialect' | 'readings'>[] }).sources ?? []
    const dialect = read?.dialect
    const profile = analyses.columns as unknown as Profile
    const doubts = doubtsOf(dialect?.columns ?? read?.readings ?? [])
    const raw = given.file === undefined ? null : await rawOf(client, given.file, dialect?.encoding?.is ?? '')
    return {
      next: doubts.some(isOpen)
        ? `${CHOOSE} assay_draft.`
        : 'Call assay_draft with the same file and dialect for a first report, or write a template of your own and call assay_check.',
      data: {
        rows: profile.n,
        doubts,
        against: [...profile.blockers, ...profile.caveats].map(({ says }) => says),
        raw,
        parsed: tableOf(tables.rows, { rows: shown, columns: MOST_COLUMNS }),
        columns: profile.columns.map(({ top, ...column }) => ({
          name: column.name,
          type: column.type,
          nulls: column.nulls,
          distinct: column.distinct,
          min: column.min,
          max: column.max,
          often: top.slice(0, 3).map(({ value }) => value),
        })),
      },
    }
  },
})

const draft = tool({
  name: 'assay_draft',
  title: 'Draft a report of a table',
  description:
    'Decides what each column is to a report and writes a template that passes the checks and runs. Asks about what can be read in two ways, and leaves it out until dialect settles it. Stores nothing.',
  scope: 'analyst',
  effect: 'reads',
  outside: true,
  input: Type.Object(Named),
  data: Type.Object({
    template_id: Type.String({ description: 'A name for the template' }),
    source: Type.String({ description: 'The template' }),
    dialect: Type.Array(Type.String(), {
      description: 'The lines by which the file was read: those that were sent, or were kept with it',
    }),
    questions: Type.Array(
      Type.Object({ column: Type.String(), says: Type.String(), readings: Type.Array(Reading) }),
    ),
    assumptions: Type.Array(Type.String()),
    columns: Type.Array(
      Type.Object({ name: Type.String(), role: Type.String(), reason: Type.String(), sure: Type.Boolean() }),
    ),
    metrics: Type.Array(Type.Object({ metric_id: Type.String(), source: Type.String() })),
  }),
  async run({ client, given }) {
    const drafted = await client.drafts.create(given)
    const { name: template_id, source, dialect, questions, assumptions, columns, metrics } = drafted
    const after = 'Else call assay_check with the source, which you may change before.'
    const first =
      given.table === undefined
        ? 'Call assay_check with the source, which you may change before.'
        : 'The template reads the metrics: call assay_save_metric for each of them, then assay_check with the source.'
    return {
      next: questions.some(({ readings }) => readings.length > 0) ? `${CHOOSE} assay_draft. ${after}` : first,
      data: { template_id, source, dialect, questions, assumptions, columns, metrics },
    }
  },
})

export const TABLE_TOOLS: readonly AgentTool[] = [files, upload, connections, connectionTables, look, draft]
