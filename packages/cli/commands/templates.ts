/** assay templates ...: what there is to run, and the workspace's own. */
import path from 'node:path'
import type { TemplateView } from '@assay/model/template'
import { type Command, JSON_OPTION } from '../command.ts'
import { withClient } from '../connect.ts'
import { EXIT } from '../exit.ts'
import { readText } from '../local-template.ts'
import { out, printJson, table } from '../print.ts'

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

export const TEMPLATES: Command[] = [
  {
    name: 'templates list',
    operands: '',
    summary: 'List the templates',
    options: {
      json: JSON_OPTION,
      q: { type: 'string', value: 'TEXT', doc: 'Only those that hold this text' },
      tag: { type: 'string', value: 'TAG', doc: 'Only those with this tag' },
    },
    run: (call) =>
      withClient(call, async (client) => {
        const [q, tag] = [call.text('q'), call.text('tag')]
        const list = await client.templates.list({ ...(q ? { q } : {}), ...(tag ? { tag } : {}) })
        if (call.on('json')) printJson(list)
        else {
          const rows = list.map(({ template_id, origin, title }) => [template_id, origin, title])
          out(table(['TEMPLATE', 'ORIGIN', 'TITLE'], rows))
        }
        return EXIT.ok
      }),
  },
  {
    name: 'templates show',
    operands: 'ID',
    summary: 'Show a template and its variables',
    options: { json: JSON_OPTION, source: { type: 'boolean', doc: 'Print the source and nothing else' } },
    run: (call) =>
      withClient(call, async (client) => {
        const template = await client.templates.get(call.operands[0]!)
        if (call.on('json')) printJson(template)
        else if (call.on('source')) out(template.source)
        else {
          const { template_id, title, description, version, origin } = template
          out(`${template_id}: ${title}\n${description ? `${description}\n` : ''}`)
          out(`version ${version}, ${origin}\n\n${variableLines(template)}`)
        }
        return EXIT.ok
      }),
  },
  {
    name: 'templates put',
    operands: 'FILE',
    summary: "Put a file into the workspace's templates",
    options: {
      json: JSON_OPTION,
      id: { type: 'string', value: 'ID', doc: "Its id (default: the file's name)" },
    },
    run: (call) =>
      withClient(call, async (client) => {
        const [file] = call.operands
        const id = call.text('id') ?? path.basename(file!).replace(/\.md$/, '')
        const template = await client.templates.put(id, await readText(file!))
        if (call.on('json')) printJson(template)
        else out(`${id}\n`)
        return EXIT.ok
      }),
  },
  {
    name: 'templates delete',
    operands: 'ID...',
    summary: "Delete templates of the workspace's own",
    options: {},
    run: (call) =>
      withClient(call, async (client) => {
        for (const id of call.operands) await client.templates.delete(id)
        return EXIT.ok
      }),
  },
]
