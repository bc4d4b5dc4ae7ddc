/**
 * Reads for `assay plan --from` the level and spread of a measure over units, and the units of a day, from a table or a
 * metric.
 */
import type { Pool } from '@assay/engine/run/pool'
import { systemClock } from '@assay/model/clock'
import type { Column, Outcome } from '@assay/model/insight'
import type { TemplateSource } from '@assay/model/template'
import { type Config, resolveConfig } from '@assay/service/config/config'
import type { Call } from '../../command.ts'
import { EXIT, ExitError, UsageError } from '../../exit.ts'
import { choiceOption } from '../../options.ts'
import { tableOf } from './draft.ts'

export interface Seen {
  /** The name of the file or the metric, as it was given. */
  from: string
  /** The names of the measure and the unit, as they were given. */
  measure: string
  unit: string
  /** The number of units with a value; `left` have none. */
  units: number
  left: number
  /** The mean over units, or the value of a ratio. */
  value: number
  /** The standard deviation of a unit; for a ratio that of its linear part (delta method). */
  sd: number
  /** True if every unit is 0 or 1, so that the value is a share. */
  rate: boolean
  /** The days from the earliest to the latest first row of a unit; null if no days are known. */
  days: number | null
  /** The covariate that reduced the spread; absent if there is none. */
  covariate?: string
  /** Caveats for readers of the plan. */
  caveats: string[]
}

/** The difference and the rules of the plan, as options of the method `plan`. */
export type Rules = Record<string, string | number | number[]>

const METRIC = 'metric:'

/** Runs the method `plan` over the past. Throws UsageError or ExitError with a sentence for each missing column. */
export async function seenFrom(call: Call, rules: Rules): Promise<Seen> {
  const { config } = resolveConfig(call.environment, call.settings)
  const from = call.text('from')!
  const { silentLog } = await import('@assay/service/runtime/log')
  const { withPool } = await import('../../local-pool.ts')
  return withPool(config, silentLog, async (pool) => {
    const read = { call, config, pool, rules }
    return from.startsWith(METRIC) ? seenInMetric(from.slice(METRIC.length), read) : seenInTable(from, read)
  })
}

interface Read {
  call: Call
  config: Config
  pool: Pool
  rules: Rules
}

/** The options of the method, and its data. */
interface Asked {
  /** The front matter and the fences before the method. */
  head: string
  options: Record<string, string | number>
  partials: Record<string, string>
}

async function seenInTable(from: string, read: Read): Promise<Seen> {
  const { call, config } = read
  const { readKeys } = await import('@assay/engine/drafting/draft')
  const dialect = readKeys(call.text('source') ?? '')
  if (dialect === null)
    throw new UsageError(
      `--source takes keys of a source, such as "dates: dmy", not ${JSON.stringify(call.text('source'))}.`,
    )
  const table = tableOf(from, config)
  const head = `---\n${JSON.stringify({ sources: { data: { file: table.name, ...dialect } }, lineage: 'none' })}\n---\n`
  const within = { ...config, data: table.data }
  const named = await columnsIn(from, head, { ...read, config: within })
  const { unit, value, time, covariate } = named
  const sum = choiceOption(call, 'aggregate', ['mean', 'sum'] as const) === 'sum'
  const options = {
    of: 'data',
    unit: unit.name,
    [value.type === 'boolean' ? 'success' : 'value']: value.name,
    ...(sum && { aggregate: 'sum' }),
    ...(time && { time: time.name }),
    ...(covariate && { covariate: covariate.name }),
    ...winsorised(call),
  }
  const asked = { head, options, partials: {} }
  return {
    from,
    measure: value.name,
    unit: unit.name,
    ...(covariate && { covariate: covariate.name }),
    ...(await measure(asked, { ...read, config: within })),
  }
}

/** Returns the quantile above which the value of a unit counts as that quantile. */
function winsorised(call: Call): { winsorise?: number } {
  const given = call.text('winsorise')
  if (given === undefined) return {}
  const value = given.endsWith('%') ? Number(given.slice(0, -1)) / 100 : Number(given)
  if (!(value > 0.5 && value < 1))
    throw new UsageError(
      `--winsorise takes a quantile above 50 % and below 100 %, such as 99%; not "${given}".`,
    )
  return { winsorise: value }
}

const NUMBERS = ['integer', 'number', 'decimal']
const DEMANDS = {
  unit: { doc: 'who is drawn, such as a user', types: null, words: '' },
  value: {
    doc: 'the measure: a number, or true and false',
    types: [...NUMBERS, 'boolean'],
    words: 'a number, or true and false',
  },
  time: {
    doc: 'the day of a row',
    types: [...NUMBERS, 'date', 'timestamp'],
    words: 'a date, a timestamp or a number of days',
  },
  covariate: { doc: 'the same measure before', types: NUMBERS, words: 'a number' },
} as const

/** Returns the columns that the options name. All faults are reported together. */
async function columnsIn(from: string, head: string, { call, config, pool }: Read) {
  const { localRoots } = await import('../../local-template.ts')
  const { suggestAmong } = await import('@assay/engine/values/near')
  const template = await templateOf(`${head}\n# Plan\n`, {})
  const roots = await localRoots(config)
  const { data } = (
    await pool.describe({ kind: 'describe', template, roots }, { workspace_id: 'command line' })
  ).sources
  if (data === undefined || 'error' in data)
    throw new ExitError(EXIT.failed, `${from} cannot be read: ${data?.error ?? 'it is not a table.'}`)
  const known = data.columns.map(({ name }) => name)
  const wrong: string[] = []
  const find = (option: keyof typeof DEMANDS): Column | null => {
    const name = call.text(option)
    const { doc, types, words } = DEMANDS[option]
    if (name === undefined) {
      if (option !== 'time' && option !== 'covariate')
        wrong.push(`Name the column of ${doc}: --${option} COLUMN. ${from} has ${known.join(', ')}.`)
      return null
    }
    const found =
      data.columns.find((one) => one.name === name) ??
      data.columns.find((one) => one.name.toLowerCase() === name.toLowerCase())
    if (!found)
      wrong.push(`--${option}: ${from} has no column ${JSON.stringify(name)}. ${suggestAmong(name, known)}`)
    else if (types !== null && !(types as readonly string[]).includes(found.type))
      wrong.push(`--${option}: ${JSON.stringify(name)} holds values of the type ${found.type}, not ${words}.`)
    return found ?? null
  }
  const [unit, value, time, covariate] = [find('unit'), find('value'), find('time'), find('covariate')]
  if (wrong.length > 0 || unit === null || value === null) throw new UsageError(wrong.join('\n'))
  return { unit, value, time, covariate }
}

async function seenInMetric(name: string, read: Read): Promise<Seen> {
  const { call, config } = read
  const extra = ['value', 'time', 'aggregate', 'covariate', 'source'].find(
    (option) => call.text(option) !== undefined,
  )
  if (extra !== undefined) throw new UsageError(`The metric says what is read: leave out --${extra}.`)
  const unit = call.text('unit')
  if (unit === undefined)
    throw new UsageError('Name the column of who is drawn, such as a user: --unit COLUMN.')
  const { readMetrics } = await import('../../local-template.ts')
  const { metricNames, metricPartial } = await import('@assay/engine/metrics/names')
  const { readMetric } = await import('@assay/engine/metrics/definition')
  const all = await readMetrics(['.', ...config.templates.folders])
  const text = all[metricPartial(name)]
  if (text === undefined) {
    const { suggestAmong } = await import('@assay/engine/values/near')
    throw new ExitError(
      EXIT.notFound,
      `There is no metric ${JSON.stringify(name)} in metrics/ here. ${suggestAmong(name, metricNames(all))}`,
    )
  }
  const { metric, faults } = readMetric(name, text)
  if (!metric)
    throw new ExitError(
      EXIT.failed,
      `metrics/${name}.yaml:${faults[0]!.line}: ${faults[0]!.message} ${faults[0]!.remedy}`,
    )
  const ratio = metric.adding === 'ratio'
  if (!ratio && metric.adding !== 'sum')
    throw new ExitError(
      EXIT.refused,
      `The metric "${name}" cannot be added up for each unit: a sum, a count, an average or a ratio of sums can.`,
    )
  const head = `\`\`\`metric series\nmetric: ${name}\nby: [${JSON.stringify(unit)}]\n\`\`\`\n`
  const options = {
    of: 'series',
    unit,
    ...(ratio
      ? { numerator: 'numerator', denominator: 'denominator' }
      : { value: 'value', aggregate: 'sum' }),
    ...(['hour', 'day'].includes(metric.time.grain) && { time: 'time' }),
    ...winsorised(call),
  }
  const asked = { head, options, partials: { [metricPartial(name)]: text } }
  return { from: `${METRIC}${name}`, measure: metric.label, unit, ...(await measure(asked, read)) }
}

async function templateOf(source: string, partials: Record<string, string>): Promise<TemplateSource> {
  const { templateVersion } = await import('@assay/engine/reading/partials')
  return { template_id: 'plan', version: templateVersion(source, partials), source, partials }
}

function templateText({ head, options }: Asked, rules: Rules): string {
  return `${head}
\`\`\`analysis planned
${JSON.stringify({ method: 'plan', ...options, ...rules })}
\`\`\`

# Plan

{{ planned.summary }}
`
}

async function measure(asked: Asked, { call, config, pool, rules }: Read) {
  const { localConnections, localRoots } = await import('../../local-template.ts')
  const template = await templateOf(templateText(asked, rules), asked.partials)
  const task = {
    kind: 'run' as const,
    template,
    variables: {},
    started_at: new Date(systemClock.now()).toISOString(),
    roots: await localRoots(config),
  }
  const connections = await localConnections(config, call.environment, template)
  const result = await pool.run(task, { workspace_id: 'command line', signal: call.signal, connections })
  if (result.status !== 'done')
    throw new ExitError(
      EXIT.failed,
      `No plan: ${result.status === 'failed' ? result.error.detail : 'the analysis process ended'}`,
    )
  return readPlan(result.findings.analyses.planned!)
}

/** The outcome of the method over the past. */
interface Past {
  n: number
  level: number | null
  sd: number | null
  rate: boolean
  traffic: { days: number | null }
  without: number
}

function readPlan(outcome: Outcome): Omit<Seen, 'from' | 'measure' | 'unit'> {
  const [failed] = outcome.blockers
  if (failed) throw new ExitError(EXIT.failed, `No plan: ${failed.says}`)
  const { n, level, sd, rate, traffic, without } = outcome as unknown as Past
  if (level === null || sd === null) throw new ExitError(EXIT.failed, `No plan: ${outcome.headline}`)
  // The units without a value are printed beside the level, so their caveat is left out.
  const caveats = outcome.caveats.filter(({ code }) => code !== 'rows_left_out').map(({ says }) => says)
  return { units: n, left: without, value: level, sd, rate, days: traffic.days, caveats }
}
