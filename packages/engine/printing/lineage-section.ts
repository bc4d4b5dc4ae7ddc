/**
 * Writes "How this was computed", the end of every insight. It holds only what is the same for the same data: no time
 * of the run.
 */
import type { BlockLineage, Insight, Lineage, SourceLineage } from '@assay/model/insight'
import type { Template } from '@assay/model/template'
import { codeSpan, escapeMarkdown, fenced } from './escape.ts'
import { formatCount } from './format.ts'
import { metricSection } from './metric-section.ts'
import { layOut } from './tables.ts'

/** The heading at which messages end. */
export const LINEAGE_HEADING = 'How this was computed'

export function lineageSection(template: Template, lineage: Lineage): string {
  const parts = [`## ${LINEAGE_HEADING}`, facts(lineage)]
  const variables = Object.entries(lineage.variables)
  if (variables.length > 0) {
    const rows = variables.map(([name, value]) => [codeSpan(name), escapeMarkdown(variableText(value))])
    parts.push('### Variables', layOut(['Variable', 'Value'], rows, ['left', 'left']))
  }
  parts.push(...metricSection(lineage))
  if (lineage.sources.length > 0) parts.push('### Sources')
  if (lineage.sources.some(({ files }) => files.length > 0)) parts.push(sources(lineage))
  parts.push(...lineage.sources.flatMap(queryText))
  if (lineage.blocks.length > 0) {
    parts.push('### Blocks', ...lineage.blocks.map((block) => blockText(template, block)))
  }
  return parts.join('\n\n')
}

/**
 * Returns the Markdown of a message. Prose cannot imitate the first line of the section, because that holds the hash
 * of the template.
 */
export function withoutLineage({ markdown, lineage }: Pick<Insight, 'markdown' | 'lineage'>): string {
  const start = markdown.indexOf(`## ${LINEAGE_HEADING}\n\n${templateLine(lineage)}\n`)
  return start < 0 ? markdown : markdown.slice(0, start)
}

function templateLine({ template_id, template_version, template_commit }: Lineage): string {
  const commit = template_commit === undefined ? '' : `, commit ${codeSpan(template_commit.slice(0, 12))}`
  return `- Template ${codeSpan(template_id)}, version ${codeSpan(template_version)}${commit}`
}

function facts(lineage: Lineage): string {
  return [
    templateLine(lineage),
    `- Assay ${escapeMarkdown(lineage.assay_version)} on ${escapeMarkdown(lineage.engine)}`,
    `- Days and periods in ${escapeMarkdown(lineage.time_zone)}`,
  ].join('\n')
}

function variableText(value: unknown): string {
  if (value === null || value === undefined) return 'not given'
  if (typeof value === 'string') return value
  if (typeof value === 'object' && 'label' in value && typeof value.label === 'string') return value.label
  return JSON.stringify(value)
}

function sources(lineage: Lineage): string {
  const rows = lineage.sources.flatMap((source) =>
    source.files.map((file, index) => [
      index === 0 ? codeSpan(source.name) : '',
      `${codeSpan(file.path)}${placeOf(source)}`,
      index === 0 && source.rows !== null ? formatCount(source.rows) : '',
      formatCount(file.bytes),
      codeSpan(file.fingerprint),
    ]),
  )
  return layOut(['Source', 'File', 'Rows', 'Bytes', 'Fingerprint'], rows, [
    'left',
    'left',
    'right',
    'right',
    'left',
  ])
}

function placeOf({ dialect, list }: SourceLineage): string {
  if (list !== undefined) return `, list ${codeSpan(list)}`
  if (!dialect?.sheet) return ''
  const { is, range } = dialect.sheet
  return `, sheet ${codeSpan(is)}${range === undefined ? '' : `, ${codeSpan(range)}`}`
}

/** Prints a query over a connection, with its count of rows. */
function queryText({ name, rows, remote }: SourceLineage): string[] {
  if (!remote) return []
  const count = rows === null ? '' : `: ${formatCount(rows)} ${rows === 1 ? 'row' : 'rows'}`
  const from = `the connection ${codeSpan(remote.connection)} (${escapeMarkdown(remote.kind)})`
  const moved = remote.moved === undefined ? '' : `. ${escapeMarkdown(remote.moved)} reads its rows here`
  return [
    `${codeSpan(name)} from ${from}${count}${moved}\n\n${fenced(remote.query.replace(/[ \t]+$/gm, '').trim(), 'sql')}`,
  ]
}

function blockText(template: Template, lineage: BlockLineage): string {
  const block = template.blocks.find(({ name }) => name === lineage.name)
  const rows =
    lineage.rows === null ? '' : `: ${formatCount(lineage.rows)} ${lineage.rows === 1 ? 'row' : 'rows'}`
  const head = `${codeSpan(lineage.name)}${rows}`
  const sql = lineage.sql ?? (block?.kind === 'sql' ? block.sql : null)
  if (sql !== null) return `${head}\n\n${fenced(sql, 'sql')}`
  if (block?.kind !== 'analysis') return head
  return `${head}, method ${codeSpan(block.method)} of ${codeSpan(block.of)}${askedText(lineage)}`
}

/** Prints the queries that an analysis sent to a database, which returned only the answers. */
function askedText({ asked }: BlockLineage): string {
  if (!asked) return ''
  const statements = `${asked.sql.length} ${asked.sql.length === 1 ? 'statement' : 'statements'}`
  const rows = `${formatCount(asked.rows)} ${asked.rows === 1 ? 'row' : 'rows'}`
  return `: asked there by ${statements}, ${rows} came here`
}
