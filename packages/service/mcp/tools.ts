/**
 * Lists all tools of agents: those named assay_..., and one for each template. The input of a template's tool is its
 * variables, and its answer is the insight.
 */
import { type Client, ClientError } from '@assay/client'
import type { TemplateView } from '@assay/model/template'
import { includesScope } from '@assay/model/token'
import type { CallToolResult, Tool } from '@modelcontextprotocol/server'
import { inputSchema, READER_ID, takesReaderId } from './input-schema.ts'
import { Ended, JOB_TOOLS, runTemplate } from './job-tools.ts'
import { METHOD_TOOLS } from './method-tools.ts'
import { METRIC_TOOLS } from './metric-tools.ts'
import { TABLE_TOOLS } from './table-tools.ts'
import { TEMPLATE_TOOLS } from './template-tools.ts'
import { answerOf, refusalOf, type Told } from './told.ts'
import { type Asked, annotationsOf, outputSchema, refuse } from './tool.ts'

export type ToolCall = Omit<Asked<Record<string, unknown>>, 'client'>

const FIXED = new Map(
  [...TABLE_TOOLS, ...METHOD_TOOLS, ...TEMPLATE_TOOLS, ...METRIC_TOOLS, ...JOB_TOOLS].map((tool) => [
    tool.about.name,
    tool,
  ]),
)
/** The most tools of templates on one page of the list. */
const PAGE = 200

/**
 * Makes the tool of a template. It counts as reaching outside, because sources may lie on other servers and others
 * write their data.
 */
function toolOf(template: TemplateView): Tool {
  const { template_id, title, description } = template
  return {
    name: template_id,
    title,
    description: `${description ?? title} Runs the analysis and answers with its findings as Markdown.`,
    inputSchema: inputSchema(template),
    outputSchema: outputSchema(Ended),
    annotations: annotationsOf('adds', true),
  }
}

/** Returns a page of the tools that the token may use. `after`: the last template of the page before. */
export async function listTools(client: Client, after = ''): Promise<{ tools: Tool[]; nextCursor?: string }> {
  const { scopes } = await client.me()
  const fixed = [...FIXED.values()].flatMap(({ about, scope }) =>
    includesScope(scopes, scope) ? [about] : [],
  )
  if (!includesScope(scopes, 'analyst')) return { tools: fixed }
  const templates = (await client.templates.list()).filter(
    ({ template_id }) => !FIXED.has(template_id) && template_id > after,
  )
  const page = templates.slice(0, PAGE)
  return {
    tools: [...(after === '' ? fixed : []), ...page.map(toolOf)],
    ...(templates.length > PAGE ? { nextCursor: page.at(-1)!.template_id } : {}),
  }
}

/** Runs the tool of a template with its values, and for a reader if the template takes one. */
async function runNamed(asked: Asked<Record<string, unknown>>, template_id: string): Promise<Told> {
  const { client, given } = asked
  const { [READER_ID]: reader_id, ...values } = given
  if (reader_id === undefined || !takesReaderId(await client.templates.get(template_id)))
    return runTemplate(asked, template_id, given)
  if (typeof reader_id !== 'string') throw refuse(READER_ID, 'must be the id of a reader, a text')
  return runTemplate(asked, template_id, values, reader_id)
}

export async function callTool(client: Client, name: string, call: ToolCall): Promise<CallToolResult> {
  try {
    const fixed = FIXED.get(name)
    return answerOf(fixed ? await fixed.run({ client, ...call }) : await runNamed({ client, ...call }, name))
  } catch (error) {
    if (!(error instanceof ClientError)) throw error
    return refusalOf(error)
  }
}
