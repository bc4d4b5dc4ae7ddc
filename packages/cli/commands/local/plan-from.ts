/** What `assay plan --from` reads: the level and spread of a measure over units, and the units of a day, from a table or a metric. */
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
  /** The file or the metric, as it was named. */
  from: string
  /** The measure and the unit, as they were named. */
  measure: string
  unit: string
  /** Units that have a value; `left` have none. */
  units: number
  left: number
  /** The mean over units; of a ratio its value. */
  value: number
  /** Of a unit; of a ratio that of its linear part (delta method). */
  sd: number
  /** Whether every unit is 0 or 1: the value is a share. */
  rate: boolean
  /** Days from the first to the last first row of a unit; null where no days are known. */
  days: number | null
}

const METRIC = 'metric:'
const quote = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Throws UsageError or ExitError with a sentence for each column that is missing. */
export async function seenFrom(call: Call): Promise<Seen> {
  const { config } = resolveConfig(call.environment, call.settings)
  const from = call.text('from')!
  const { silentLog } = await import('@assay/service/runtime/log')
  const { withPool } = await import('../../local-pool.ts')
  return withPool(config, silentLog, async (pool) => {
    const read = { call, config, pool }
    return from.startsWith(METRIC) ? seenInMetric(from.slice(METRIC.length), read) : seenInTable(from, read)
  })
}

interface Read {
  call: Call
  config: Config
  pool: Pool
}

/** SQL of a relation with `a` and `day` for each unit, and for a ratio `b`, the denominator. */
interface PerUnit {
  /** The fences and front matter before it. */
  head: string
  sql: string
  ratio: boolean
  /** Whether `day`, a number of days, is known. */
  dated: boolean
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
  const { unit, value, time } = named
  const number = `cast(${quote(value.name)} as double)`
  const finite = `case when isfinite(${number}) then ${number} end`
  const sum = choiceOption(call, 'aggregate', ['mean', 'sum'] as const) === 'sum'
  const sql = `select ${quote(unit.name)} as unit, ${sum ? 'fsum' : 'favg'}(${finite}) as a, ${time === null ? 'null::double' : `min(${dayOf(time)})`} as day
from data where ${quote(unit.name)} is not null group by ${quote(unit.name)}`
  const per = { head, sql, ratio: false, dated: time !== null, partials: {} }
  return { from, measure: value.name, unit: unit.name, ...(await measure(per, { ...read, config: within })) }
}

/** A number counts days, as the option `time` of `experiment` has it. */
function dayOf({ name, type }: Column): string {
  const dated = type === 'date' || type === 'timestamp'
  return dated
    ? `case when isfinite(${quote(name)}) then date_diff('day', date '1970-01-01', cast(${quote(name)} as date))::double end`
    : `cast(${quote(name)} as double)`
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
} as const

/** The columns that the options name. All that is wrong is said at once. */
async function columnsIn(from: string, head: string, { call, config, pool }: Read) {
  const { localRoots } = await import('../../local-template.ts')
  const { suggestAmong } = await import('@assay/engine/values/near')
  const template = await templateOf(`${head}\n# Plan\n`, {})
  const roots = await localRoots(config)
  const { data } = (await pool.describe({ kind: 'describe', template, roots })).sources
  if (data === undefined || 'error' in data)
    throw new ExitError(EXIT.failed, `${from} cannot be read: ${data?.error ?? 'it is no table.'}`)
  const known = data.columns.map(({ name }) => name)
  const wrong: string[] = []
  const find = (option: keyof typeof DEMANDS): Column | null => {
    const name = call.text(option)
    const { doc, types, words } = DEMANDS[option]
    if (name === undefined) {
      if (option !== 'time')
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
  const [unit, value, time] = [find('unit'), find('value'), find('time')]
  if (wrong.length > 0 || unit === null || value === null) throw new UsageError(wrong.join('\n'))
  return { unit, value, time }
}

async function seenInMetric(name: string, read: Read): Promise<Seen> {
  const { call, config } = read
  const extra = ['value', 'time', 'aggregate', 'source'].find((option) => call.text(option) !== undefined)
  if (extra !== undefined) throw new UsageError(`The metric says what is read: leave out --${extra}.`)
  const unit = call.text('unit')
  if (unit === undefined)
    throw new UsageError('Name the column of who is drawn, such as a user: --unit COLUMN.')
  const { readMetrics } = await import('../../local-template.ts')
  const { metricNames, metricPartial } = await import('@assay/engine/metrics/names')
  const { readMetric } = await import('@assay/engine/metrics/definition')
  const all = await readMetrics(['.', ...config.templates])
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
  const dated = ['hour', 'day'].includes(metric.time.grain)
  const parts = ratio ? 'fsum("numerator") as a, fsum("denominator") as b' : 'fsum("value") as a'
  const sql = `select ${quote(unit)} as unit, ${parts}, min(date_diff('day', date '1970-01-01', cast("time" as date)))::double as day
from series where ${quote(unit)} is not null group by ${quote(unit)}`
  const head = `\`\`\`metric series\nmetric: ${name}\nby: [${JSON.stringify(unit)}]\n\`\`\`\n`
  const per = { head, sql, ratio, dated, partials: { [metricPartial(name)]: text } }
  return { from: `${METRIC}${name}`, measure: metric.label, unit, ...(await measure(per, read)) }
}

async function templateOf(source: string, partials: Record<string, string>): Promise<TemplateSource> {
  const { templateVersion } = await import('@assay/engine/reading/partials')
  return { template_id: 'plan', version: templateVersion(source, partials), source, partials }
}

/** A ratio's units are those of its linear part, whose mean is the ratio (Deng, Knoblich and Lu, KDD 2018). */
const LINEAR = `select r + (a - r * b) / mean_b as value, day
from per_unit, (select fsum(a) / fsum(b) as r, favg(b) as mean_b from per_unit where a is not null and b is not null)`

function templateText({ head, sql, ratio, dated }: PerUnit): string {
  const values = dated ? '[value, day, other]' : '[value, other]'
  return `${head}
\`\`\`sql per_unit
${sql}
\`\`\`

\`\`\`sql seen
select value, case when value is not null then day end as day,
  (abs(value) > 1e-9 and abs(value - 1) > 1e-9)::int as other
from (${ratio ? LINEAR : 'select a as value, day from per_unit'})
\`\`\`

\`\`\`analysis spread
method: describe
of: seen
values: ${values}
\`\`\`

# Plan

{{ spread.summary }}
`
}

interface Described {
  n: number
  nulls: number
  mean: number | null
  sd: number | null
  max: number | null
  range: number | null
}

async function measure(per: PerUnit, { call, config, pool }: Read) {
  const { localConnections, localRoots } = await import('../../local-template.ts')
  const template = await templateOf(templateText(per), per.partials)
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
  return readSpread(result.findings.analyses.spread!)
}

function readSpread(outcome: Outcome): Pick<Seen, 'units' | 'left' | 'value' | 'sd' | 'rate' | 'days'> {
  const failed = outcome.blockers.find(({ code }) => code === 'test_failed' || code === 'data_stale')
  if (failed) throw new ExitError(EXIT.failed, `No plan: ${failed.says}`)
  const { value, day, other } = outcome.columns as Record<string, Described>
  if (value!.n < 2 || value!.sd === null || value!.mean === null)
    throw new ExitError(EXIT.failed, `No plan: there are ${value!.n} units with a value, and two are needed.`)
  if (value!.sd === 0)
    throw new ExitError(EXIT.failed, `No plan: every unit has the value ${value!.mean}, so nothing varies.`)
  return {
    units: value!.n,
    left: value!.nulls,
    value: value!.mean,
    sd: value!.sd,
    rate: other!.max === 0,
    days: day === undefined || day.range === null ? null : Math.floor(day.range) + 1,
  }
}
