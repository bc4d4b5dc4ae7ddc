/**
 * Compares `assay draft` over public tables with labels that were written by hand before (drafts/labels.ts). At least
 * 95 of 100 columns must be right, no wrong one may be marked as sure, and every draft must pass the checks and run.
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Pool } from '@assay/engine/run/pool'
import { type Drafted, draftFrom, fileToDraft, lookingAt } from '../packages/engine/drafting/draft.ts'
import { metricPartial } from '../packages/engine/metrics/names.ts'
import { parseTemplate } from '../packages/engine/reading/parse.ts'
import { templateVersion } from '../packages/engine/reading/partials.ts'
import { roots, STARTED_AT, withPool } from '../test/generated/gallery.ts'
import { LABELS } from './drafts/labels.ts'
import type { Proof } from './main.ts'

const LEAST = 0.95
const PAGE = path.join(import.meta.dirname, '../docs/drafts.md')
const FOLDER = path.join(import.meta.dirname, '../node_modules/vega-datasets/data')
const ROLES: Record<string, string> = { t: 'time', m: 'measure', d: 'dimension', i: 'identifier', o: 'other' }

/** Returns the labels by column. */
function labelsOf(text: string): Map<string, string> {
  return new Map(
    text.split('; ').flatMap((part) => {
      const [letter, names] = part.split(/: (.*)/s)
      return names!.split(', ').map((name) => [name, ROLES[letter!]!] as const)
    }),
  )
}

interface Judged {
  table: string
  drafted: Drafted
  /** The template that reads no metrics. */
  alone: string
  columns: number
  /** The columns whose role differs from the label. */
  wrong: { column: string; label: string; role: string; sure: boolean }[]
  lines: number
  /** The fault of the checks or of the run of either template; empty if both run. */
  fault: string
}

async function judge(pool: Pool, table: string, text: string): Promise<Judged> {
  const sample = { ...roots.sample, [table]: roots.sample[table] ?? path.join(FOLDER, table) }
  const at = { ...roots, sample }
  const file = `sample/${table}`
  const look = await pool.run(
    {
      kind: 'run',
      template: lookingAt(fileToDraft(file, {})),
      variables: {},
      started_at: STARTED_AT,
      roots: at,
    },
    { workspace_id: 'drafts' },
  )
  if (look.status !== 'done') throw new Error(`${table}: ${JSON.stringify(look)}`)
  const drafted = draftFrom(look.findings, fileToDraft(file, {}))
  const alone = draftFrom(look.findings, fileToDraft(file, {}), true).template
  const labels = labelsOf(text)
  const wrong = drafted.decisions.flatMap(({ column, role, sure }) => {
    const label = labels.get(column) ?? 'nothing'
    return label === role ? [] : [{ column, label, role, sure }]
  })
  const partials = Object.fromEntries(
    Object.entries(drafted.metrics).map(([name, source]) => [metricPartial(name), source]),
  )
  const source = drafted.template
  const template = { template_id: 'draft', version: templateVersion(source, partials), source, partials }
  const own = { template_id: 'draft', version: templateVersion(alone, {}), source: alone, partials: {} }
  const lines = Math.max(...[source, alone].map((text) => text.split('\n').length - 1))
  const fault = (await faultOf(pool, template, at)) || (await faultOf(pool, own, at))
  return { table, drafted, alone, columns: labels.size, wrong, lines, fault }
}

async function faultOf(
  pool: Pool,
  template: Parameters<Pool['check']>[0]['template'],
  at: typeof roots,
): Promise<string> {
  const [parsed] = parseTemplate(template).faults
  if (parsed) return parsed.message
  const [fault] = await pool.check(
    { kind: 'check', template, roots: at },
    { workspace_id: 'drafts', patient: true },
  )
  if (fault) return `${fault.line}: ${fault.message}`
  const result = await pool.run(
    { kind: 'run', template, variables: {}, started_at: STARTED_AT, roots: at },
    { workspace_id: 'drafts' },
  )
  return result.status === 'done' ? '' : JSON.stringify(result)
}

export async function judgeAll(tables: readonly string[] = Object.keys(LABELS)): Promise<Judged[]> {
  return withPool(async (pool) => {
    const found: Judged[] = []
    for (const table of tables) found.push(await judge(pool, table, LABELS[table]!))
    return found
  })
}

export function violationsOf(found: readonly Judged[]): string[] {
  const columns = found.reduce((sum, one) => sum + one.columns, 0)
  const wrong = found.flatMap((one) => one.wrong)
  const right = 1 - wrong.length / columns
  return [
    ...(right < LEAST ? [`Of ${columns} columns ${wrong.length} are not right.`] : []),
    ...found.flatMap(({ table, wrong: all }) =>
      all
        .filter(({ sure }) => sure)
        .map(
          ({ column, label, role }) =>
            `${table}: ${column} is ${label}, and ${role} was said without a doubt.`,
        ),
    ),
    ...found.flatMap(({ table, fault }) =>
      fault === '' ? [] : [`The draft of ${table} does not run: ${fault}`],
    ),
    ...found.flatMap(({ table, lines }) => (lines > 60 ? [`The draft of ${table} has ${lines} lines.`] : [])),
  ]
}

const escaped = (text: string): string => text.replaceAll(/[|<&_*]/g, (one) => `\\${one}`)

function page(found: readonly Judged[]): string {
  const columns = found.reduce((sum, one) => sum + one.columns, 0)
  const wrong = found.flatMap((one) => one.wrong)
  const named = ({ drafted }: Judged, role: string): string => {
    const names = drafted.decisions.filter((one) => one.role === role).map(({ column }) => escaped(column))
    return names.length > 6
      ? `${names.slice(0, 5).join(', ')} and ${names.length - 5} more`
      : names.join(', ')
  }
  const rows = found.map((one) => {
    const differs = one.wrong
      .map(({ column, label, role }) => `${escaped(column)}: ${role} for ${label}`)
      .join('; ')
    return `| ${escaped(one.table)} | ${['time', 'measure', 'dimension', 'identifier'].map((role) => named(one, role)).join(' | ')} | ${differs} |`
  })
  return `# What a draft finds

\`npm run proof -- drafts\` drafts reports from ${found.length} public tables (vega-datasets, and those of [data.md](data.md)) and writes this page. Each
column was labelled by hand before: time, measure, dimension, identifier, or something else. A draft that says another role than the label is listed, and
stands in the draft as "Not sure"; an \`unclear\` one is asked. Every draft passes \`assay check\`, runs, and has at most ${Math.max(...found.map(({ lines }) => lines))} lines.

**${columns - wrong.length} of ${columns} columns are right (${((100 * (columns - wrong.length)) / columns).toFixed(1)} %); ${wrong.filter(({ sure }) => sure).length} of the others ${wrong.length === 0 ? '' : 'are wrong without a doubt being said'}.**

| table | times | measures | dimensions | identifiers | other than the label |
|---|---|---|---|---|---|
${rows.join('\n')}
`
}

export const proof: Proof = {
  summary: 'what assay draft finds in 55 public tables, beside labels by hand; writes docs/drafts.md',
  async run({ log, text }) {
    const one = text('table', '')
    const found = await judgeAll(one === '' ? undefined : [one])
    for (const { table, wrong, fault } of found) {
      for (const { column, label, role, sure } of wrong)
        log(`${table}: ${column} is ${label}, found ${role}${sure ? ' SURE' : ''}`)
      if (fault !== '') log(`${table}: ${fault}`)
    }
    if (one === '') writeFileSync(PAGE, page(found))
    else
      log(
        `\n${JSON.stringify(found[0]!.drafted.metrics, null, 1).replaceAll('\\n', '\n')}\n${found[0]!.drafted.template}\n${found[0]!.alone}`,
      )
    return violationsOf(found)
  },
}
