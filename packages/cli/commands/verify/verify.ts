/** assay verify: computes an insight again from its lineage, and tells which of its printed values still hold. */
import path from 'node:path'
import type { Pool } from '@assay/engine/run/pool'
import { addDays, isDay } from '@assay/model/dates'
import { type Findings, READ_CHART_FORMS } from '@assay/model/insight'
import type { Variable } from '@assay/model/template'
import { type Config, resolveConfig } from '@assay/service/config/config'
import type { Call, Command } from '../../command.ts'
import { EXIT, ExitError } from '../../exit.ts'
import { flag, JSON_OPTION, text } from '../../options.ts'
import { out, printJson } from '../../print.ts'
import { cataloguedFile, type Found, findingsOf, load, runHere } from '../local/run-here.ts'
import { compare } from './compare.ts'
import { type InsightRecord, readInsight } from './insight-file.ts'
import { type Report, reportOf, reportText } from './report.ts'

/** Returns the template that the insight names. It never reads a path from the insight. */
async function templateOf(insight: InsightRecord, call: Call, config: Config): Promise<Found> {
  const { template_id, template_version } = insight
  const named = call.text('template')
  const file = named ?? (await cataloguedFile(template_id, config))
  if (file === null)
    throw new ExitError(
      EXIT.notFound,
      `The template ${JSON.stringify(template_id)} of the insight is neither in ASSAY_TEMPLATES nor a shipped one: give its file by --template FILE ("assay templates show ID --source" prints a template of a service).`,
    )
  const found = await load(file, config)
  const { version } = found.source
  if (version !== template_version && !call.on('any-version'))
    throw new ExitError(
      EXIT.refused,
      `The insight is of version ${template_version} of its template, and ${path.basename(file)} is version ${version}: with its partials and metrics it has another text. Give the text of that time by --template FILE, or compare with this one by --any-version.`,
    )
  return found
}

/** The first possible day. */
const FIRST_DAY = '0001-01-01'

/** Returns a stored value as a job takes it. A period is stored with its days. */
function asGiven({ type }: Variable, stored: unknown): unknown {
  if (type !== 'period' || typeof stored !== 'object' || stored === null) return stored
  const { start, end } = stored as { start?: unknown; end?: unknown }
  const days = [start, end].every((day) => typeof day === 'string' && isDay(day)) && end !== FIRST_DAY
  return days ? `${start as string}..${addDays(end as string, -1)}` : JSON.stringify(stored)
}

async function variablesOf({ parsed }: Found, { lineage }: InsightRecord): Promise<Record<string, unknown>> {
  const { convertVariables } = await import('@assay/engine/values/variables')
  const declared = new Map(parsed.template!.variables.map((variable) => [variable.name, variable]))
  const given = Object.entries(lineage.variables).map(([name, stored]): [string, unknown] => {
    const variable = declared.get(name)
    return [name, variable ? asGiven(variable, stored) : stored]
  })
  const { values, errors } = convertVariables(parsed.template!.variables, Object.fromEntries(given))
  if (errors.length === 0) return values
  const lines = errors.map(({ message }) => `  ${message}`)
  throw new ExitError(
    EXIT.refused,
    `The variables of the insight do not fit the template:\n${lines.join('\n')}`,
  )
}

/**
 * Returns the function that gives a piece of Markdown with its charts in every form. Pictures are drawn only if the
 * insight has some.
 */
async function fillerOf({ charts }: Findings, { markdown }: InsightRecord, pool: Pool) {
  const { fillCharts } = await import('@assay/engine/charts/charts')
  const { drawingsOf } = await import('@assay/engine/pages/chart-figure')
  const drawn = charts.length > 0 && markdown.includes('](data:image/svg+xml;base64,')
  const task = { kind: 'draw', form: 'pages', specs: charts.map(({ spec }) => spec) } as const
  const drawings = drawn ? drawingsOf(await pool.draw(task, { workspace_id: 'command line' })) : []
  const svgs = drawings.map(({ wide }) => wide)
  return (piece: string): string[] => READ_CHART_FORMS.map((form) => fillCharts(piece, charts, form, svgs))
}

async function verified(insight: InsightRecord, call: Call, config: Config, pool: Pool): Promise<Report> {
  const template = await templateOf(insight, call, config)
  const variables = await variablesOf(template, insight)
  const { started_at } = insight.lineage
  const result = await runHere(template, { variables, started_at }, { call, config, pool })
  if (result.status === 'failed') return reportOf(insight, template.source, { failed: result.error })
  const findings = findingsOf(result)
  const now = { markdown: findings.markdown, provenance: findings.provenance ?? [] }
  const comparison = compare(insight, now, await fillerOf(findings, insight, pool))
  return reportOf(insight, template.source, { comparison, lineage: findings.lineage })
}

export const VERIFY: Command = {
  name: 'verify',
  operands: 'INSIGHT.json',
  summary: 'Compute an insight again and say which of its printed numbers still hold',
  details:
    'INSIGHT.json is what "assay jobs result ID --format json" or "assay run TEMPLATE --format json" prints.\n' +
    'The template is the one of that id in ASSAY_TEMPLATES or a shipped one. Ends with 0 where all holds, else with 1.\n' +
    'A language model is not asked again.',
  options: {
    template: text('FILE', 'The template, if it is not in ASSAY_TEMPLATES'),
    'any-version': flag('Also with another version of the template than the insight is of'),
    json: JSON_OPTION,
  },
  listens: true,
  async run(call) {
    const { config } = resolveConfig(call.environment, call.settings)
    const [file] = call.operands
    const insight = await readInsight(file!)
    const { createLog } = await import('@assay/service/runtime/log')
    const { withPool } = await import('../../local-pool.ts')
    const log = createLog({ level: 'error', format: 'text' })
    const report = await withPool({ ...config, narrateUrl: null }, log, (pool) =>
      verified(insight, call, config, pool),
    )
    if (call.on('json')) printJson(report)
    else out(reportText(report))
    return report.holds ? EXIT.ok : EXIT.failed
  },
}
