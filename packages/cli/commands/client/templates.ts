/** assay templates ...: lists the templates that can run, and manages the workspace's own. */
import path from 'node:path'
import type { TemplateView } from '@assay/client'
import { eachCommand, listCommand, showCommand } from '../../client-command.ts'
import { flag, text } from '../../options.ts'
import { table } from '../../print.ts'
import { readText } from '../local/text-file.ts'

function variableLines({ variables }: TemplateView): string {
  if (variables.length === 0) return 'It takes no variables.\n'
  const rows = variables.map((variable) => [
    variable.name,
    variable.type,
    variable.required ? 'required' : variable.default === null ? '' : JSON.stringify(variable.default),
    variable.description ?? '',
  ])
  return table(['VARIABLE', 'TYPE', 'DEFAULT', 'DESCRIPTION'], rows)
}

function describe(template: TemplateView): string {
  const { template_id, title, description, version, origin, commit_id } = template
  const about = description ? `${description}\n` : ''
  return `${template_id}: ${title}\n${about}version ${version}, ${origin}${commit_id === null ? '' : `, commit ${commit_id.slice(0, 12)}`}\n\n${variableLines(template)}`
}

export const TEMPLATES = [
  listCommand(
    {
      name: 'templates list',
      summary: 'List the templates',
      options: {
        q: text('TEXT', 'Only those that hold this text'),
        tag: text('TAG', 'Only those with this tag'),
      },
    },
    ['TEMPLATE', 'ORIGIN', 'TITLE'],
    (client, call) => client.templates.list({ q: call.text('q'), tag: call.text('tag') }),
    ({ template_id, origin, title }) => [template_id, origin, title],
  ),
  showCommand(
    {
      name: 'templates show',
      operands: 'ID',
      summary: 'Show a template and its variables',
      options: { source: flag('Print the source and nothing else') },
    },
    (client, call) => client.templates.get(call.operands[0]!),
    (template, call) => (call.on('source') ? template.source : describe(template)),
  ),
  showCommand(
    {
      name: 'templates put',
      operands: 'FILE',
      summary: "Put a file into the workspace's templates",
      options: { id: text('ID', "Its id (default: the file's name)") },
    },
    async (client, call) => {
      const file = call.operands[0]!
      return client.templates.put(call.text('id') ?? path.basename(file, '.md'), await readText(file))
    },
    ({ template_id }) => `${template_id}\n`,
  ),
  eachCommand(
    { name: 'templates delete', summary: "Delete templates of the workspace's own" },
    (client, id) => client.templates.delete(id),
  ),
]
