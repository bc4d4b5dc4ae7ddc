/** Tools over templates: list, read, check, preview, save. */
import type { Client } from '@assay/client'
import { ClientError } from '@assay/client'
import type { Fact } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import { TEMPLATE_ID } from '@assay/model/template'
import { includesScope } from '@assay/model/token'
import { Cells, tableOf } from './cells.ts'
import { type AgentTool, refuse, tool } from './tool.ts'

const Source = Type.String({ minLength: 1, maxLength: 300_000, description: 'The Markdown of a template' })
const Id = Type.String({ pattern: TEMPLATE_ID, description: 'Lower-case letters, digits, - and _' })
const Values = Type.Optional(
  Type.Record(Type.String(), Type.Unknown(), { description: 'The values of its variables by name' }),
)
const Variables = Type.Array(Type.Record(Type.String(), Type.Unknown()), {
  description: 'The declared variables',
})

const Reader = Type.Optional(
  Type.Record(Type.String(), Type.Unknown(), {
    description:
      'Where assay_check says personal: whose rows to show, an id with each of reader_attributes, such as {"id": "ada", "region": "north"}. An admin may send the id of a stored reader alone',
  }),
)
const Personal = Type.Boolean({
  description: 'It shows each reader rows of their own: each run needs a reader',
})
const ReaderAttributes = Type.Array(Type.String(), {
  description: 'What such a reader must have beside the id',
})

const LISTED = 100
/** The most characters, facts, tables, rows and columns of a preview that an answer shows. */
const PREVIEWED = { markdown: 25_000, facts: 100, tables: 20, rows: 20, columns: 30 }

const list = tool({
  name: 'assay_templates',
  title: 'List templates',
  description:
    'The reports that can be run, at most 100: what each tells, and its variables. Words in q narrow them.',
  scope: 'viewer',
  effect: 'reads',
  input: Type.Object({ q: Type.Optional(Type.String({ maxLength: 200 })) }),
  data: Type.Object({
    templates: Type.Array(
      Type.Object({
        template_id: Type.String(),
        title: Type.String(),
        description: Type.Union([Type.String(), Type.Null()]),
        variables: Variables,
        personal: Personal,
      }),
    ),
    more: Type.Integer({ description: 'Those that are left out: ask with words in q' }),
  }),
  async run({ client, given }) {
    const all = await client.templates.list(given)
    const templates = all
      .slice(0, LISTED)
      .map(({ template_id, title, description, variables, personal }) => ({
        template_id,
        title,
        description,
        variables: variables.map(({ name, type, required }) => ({ name, type, required })),
        personal,
      }))
    return {
      next:
        templates.length === 0
          ? 'There is no such template: draft one with assay_draft.'
          : 'Call assay_run with a template_id and its variables, or assay_template to see how it is computed.',
      data: { templates, more: all.length - templates.length },
    }
  },
})

const read = tool({
  name: 'assay_template',
  title: 'Read a template',
  description: 'The source of a template: its sources, SQL, analyses and prose, with its variables.',
  scope: 'viewer',
  effect: 'reads',
  input: Type.Object({ template_id: Id }),
  data: Type.Object({
    template_id: Type.String(),
    version: Type.String(),
    origin: Type.String({ description: 'workspace: it may be replaced; others are read-only' }),
    source: Type.String(),
    variables: Variables,
  }),
  async run({ client, given: { template_id } }) {
    const { version, origin, source, variables } = await client.templates.get(template_id)
    return {
      next: 'Call assay_run to run it, or change the source and call assay_check with it.',
      data: { template_id, version, origin, source, variables },
    }
  },
})

const check = tool({
  name: 'assay_check',
  title: 'Find the faults of a template',
  description:
    'Reads a template against its data without running it: each fault with line, column and what to write instead.',
  scope: 'analyst',
  effect: 'reads',
  outside: true,
  input: Type.Object({ source: Source }),
  data: Type.Object({
    faults: Type.Array(
      Type.Object({
        line: Type.Integer(),
        column: Type.Integer(),
        severity: Type.String({ description: 'error: it cannot run; warning: it may' }),
        code: Type.String(),
        message: Type.String(),
        fix: Type.String(),
      }),
    ),
    variables: Variables,
    personal: Personal,
    reader_attributes: ReaderAttributes,
  }),
  async run({ client, given: { source } }) {
    const { faults, variables, personal, reader_attributes } = await client.templates.check(source)
    const wrong = faults.some(({ severity }) => severity === 'error')
    return {
      next: wrong
        ? 'Mend the faults in the source, and call assay_check again.'
        : `The template has no faults: call assay_preview with the same source${personal ? ' and a reader' : ''}.`,
      data: {
        faults: faults.map(({ line, column, severity, code, message, remedy }) => ({
          line,
          column,
          severity,
          code,
          message,
          fix: remedy,
        })),
        variables,
        personal,
        reader_attributes,
      },
    }
  },
})

const Analysis = Type.Object({
  block: Type.String(),
  method: Type.String(),
  grade: Type.String({ description: 'firm, likely, unclear, or withheld: it must not be told' }),
  headline: Type.String(),
  against: Type.Array(Type.String(), { description: 'What stands against the claim' }),
})

const preview = tool({
  name: 'assay_preview',
  title: 'Run a template without storing it',
  description:
    'Runs a source on the data: the report, its facts, what each analysis found and how sure it is, and the first rows of each block.',
  scope: 'analyst',
  effect: 'reads',
  outside: true,
  input: Type.Object({ source: Source, template_vars: Values, reader: Reader }),
  data: Type.Object({
    markdown: Type.String(),
    facts: Type.Array(Type.Object({ name: Type.String(), value: Type.Unknown(), text: Type.String() })),
    analyses: Type.Array(Analysis),
    tables: Type.Array(Type.Object({ block: Type.String(), ...Cells.properties })),
  }),
  async run({ client, given }) {
    const { markdown, facts, analyses, tables } = await client.templates.preview(given, { charts: 'text' })
    const found = Object.entries(analyses).map(([block, one]) => ({
      block,
      method: one.method,
      grade: one.grade,
      headline: one.headline,
      against: [...one.blockers, ...one.caveats].map(({ says }) => says),
    }))
    const most = PREVIEWED
    const { scopes } = await client.me()
    return {
      next: includesScope(scopes, 'publisher')
        ? 'If the report says what it should, call assay_save with a template_id and the same source. Else change the source, and call assay_check.'
        : 'If the report says what it should, quote it, and give its source to somebody whose token may publish: yours does not save templates. Else change the source, and call assay_check.',
      data: {
        markdown:
          markdown.length > most.markdown
            ? `${markdown.slice(0, most.markdown).toWellFormed()}…\n`
            : markdown,
        facts: (facts as unknown as Fact[])
          .slice(0, most.facts)
          .map(({ name, value, text }) => ({ name, value, text })),
        analyses: found,
        tables: Object.entries(tables)
          .slice(0, most.tables)
          .map(([block, table]) => ({ block, ...tableOf(table, most) })),
      },
    }
  },
})

async function exists(client: Client, template_id: string): Promise<boolean> {
  try {
    await client.templates.get(template_id)
    return true
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return false
    // The list also holds templates that can no longer be read.
    if (error instanceof ClientError && error.status === 422) return true
    throw error
  }
}

const save = tool({
  name: 'assay_save',
  title: 'Save a template',
  description: 'Puts a template into the workspace, so that it can be run, scheduled and shared.',
  scope: 'publisher',
  effect: 'replaces',
  input: Type.Object({
    template_id: Id,
    source: Source,
    replace: Type.Optional(
      Type.Boolean({ default: false, description: 'Whether a template of this id may be replaced' }),
    ),
  }),
  data: Type.Object({ template_id: Type.String(), version: Type.String(), variables: Variables }),
  async run({ client, given: { template_id, source, replace = false } }) {
    if (!replace && (await exists(client, template_id)))
      throw refuse('template_id', 'is there already: choose another id, or send replace: true')
    const { version, variables } = await client.templates.put(template_id, source)
    return {
      next: 'It is saved: call assay_run with its template_id.',
      data: { template_id, version, variables },
    }
  },
})

export const TEMPLATE_TOOLS: readonly AgentTool[] = [list, read, check, preview, save]
