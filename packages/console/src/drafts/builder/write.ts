/** Writes the choices of the builder as the text of a metric or a template. Pure. */
import {
  addingOf,
  type Choices,
  type Grain,
  labelOf,
  metricName,
  partsOf,
  type Question,
  tableName,
} from './choices.ts'

const column = (name: string): string => `"${name.replaceAll('"', '""')}"`
/**
 * Writes a YAML text. Plain words stay as they are. Any other text, and words that YAML reads as another value, are
 * quoted as JSON, which YAML reads.
 */
const yaml = (text: string): string =>
  /^[A-Za-z]\w*(?: \w+)*$/.test(text) && !/^(?:true|false|null)$/i.test(text) ? text : JSON.stringify(text)
/** Quotes an expression with single quotes, because expressions hold double quotes. */
const single = (text: string): string => `'${text.replaceAll("'", "''")}'`
const list = (texts: readonly string[]): string => `[${texts.map(yaml).join(', ')}]`
/** Returns a text for prose and titles, without Liquid, quotes and line ends. */
const plain = (text: string): string => text.replaceAll(/[{}%"\\\s]+/g, ' ').trim()
const opening = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

function sourceText({ of }: Choices): string {
  if ('connection' in of) return `{ connection: ${yaml(of.connection)}, table: ${yaml(of.table)} }`
  const file = 'file' in of ? of : { file: '', lines: [] }
  return `{ ${[`file: ${yaml(file.file)}`, ...file.lines].join(', ')} }`
}

/** Returns the expression of a metric. SQL reads it in the same way. */
function expression({ how, column: name, per }: Choices): string {
  const of = column(name)
  if (how === 'rows') return 'count(*)'
  if (how === 'per') return `sum(${of}) / sum(${column(per)})`
  if (how === 'different') return `count(distinct ${of})`
  return `${{ sum: 'sum', mean: 'avg', most: 'max', least: 'min' }[how]}(${of})`
}

export function metricText(choices: Choices): string {
  const { how, column: name, per, time, grain, dimensions, label, unit, good } = choices
  const ratio = `value: { ratio: { numerator: ${single(`sum(${column(name)})`)}, denominator: ${single(`sum(${column(per)})`)} } }`
  const lines = [
    `metric: ${metricName(choices)}`,
    `label: ${yaml(label || labelOf(choices))}`,
    `source: ${sourceText(choices)}`,
    `time: { column: ${yaml(time)}, grain: ${grain} }`,
    how === 'per' ? ratio : `value: ${single(expression(choices))}`,
    unit === '' ? '' : `unit: ${yaml(unit)}`,
    good === 'none' ? '' : `good: ${good}`,
    dimensions.length === 0 ? '' : `dimensions: ${list(dimensions)}`,
    how === 'rows' ? '' : `tests: [ { not_null: ${yaml(name)} } ]`,
  ]
  return `${lines.filter(Boolean).join('\n')}\n`
}

const fence = (kind: string, name: string, text: string): string => `\`\`\`${kind} ${name}\n${text}\n\`\`\`\n`

/** The period that is compared with the latest one, by grain. */
const PERIODS: Record<Grain, string> = {
  hour: 'day',
  day: 'month',
  week: 'week',
  month: 'month',
  quarter: 'quarter',
  year: 'year',
}

interface Answer {
  method: string
  /** The block that the answer reads: over time, or also by the parts. */
  of: 'main' | 'parts' | 'rows'
  options: string[]
  chart: string
}

function answerOf(choices: Choices, parts: readonly string[], part: string): Answer {
  const { grain, label } = choices
  const title = plain(opening(label || labelOf(choices)))
  const over = ['time: time', 'value: value']
  const line = `{% chart main, type: "line", x: "time", y: "value", title: "${title}" %}`
  const period = `period: ${PERIODS[grain]}`
  const metric = 'metric' in choices.of
  const adding = addingOf(choices)
  const [total, n] = metric ? ['numerator', 'denominator'] : ['total', 'n']
  const drivers = adding === 'ratio' ? [`numerator: ${total}`, `denominator: ${n}`] : ['value: value']
  // A metric defines itself how its steps make a period.
  const made = metric || adding === 'sum' ? [] : ['aggregate: mean']
  const table = `{% table answer.rows, limit: 20, columns: { segment: "${title}", value: "Value", share: "Share" }, fmt: { share: "pct1" } %}`
  const answers: Record<Question, Answer> = {
    rise: { method: 'trend', of: 'main', options: over, chart: line },
    latest: { method: 'compare', of: 'main', options: [...over, period, ...made], chart: line },
    unusual: { method: 'anomalies', of: 'main', options: over, chart: line },
    next: {
      method: 'forecast',
      of: 'main',
      options: [...over, 'horizon: 12'],
      chart: `{% if answer.points.size > 0 %}{% chart answer.points, type: "forecast", title: "${title}, and what to expect" %}{% endif %}`,
    },
    why: {
      method: 'drivers',
      of: 'parts',
      options: ['time: time', ...drivers, `by: ${list(parts)}`, period],
      chart: line,
    },
    largest: { method: 'pareto', of: 'parts', options: ['value: value', `by: ${yaml(part)}`], chart: table },
    differ: {
      method: 'compare_groups',
      of: 'rows',
      options: ['value: value', `group: ${yaml(part)}`],
      chart: `{% table answer.groups %}`,
    },
  }
  return answers[choices.question]
}

/** Returns the blocks by SQL over a file. */
function sqlBlock(name: Answer['of'], choices: Choices, parts: readonly string[]): string {
  const { how, time, grain, per } = choices
  const at = column(time)
  const value = how === 'sum' ? `${expression(choices)}::double` : expression(choices)
  const known = time === '' ? '' : ` where ${at} is not null`
  const step =
    time === ''
      ? []
      : [`cast(date_trunc('${grain}', ${at}) as ${grain === 'hour' ? 'timestamp' : 'date'}) as time`]
  if (name === 'rows') {
    const of = column(choices.column)
    const group = column(parts[0]!)
    return fence(
      'sql',
      name,
      `select ${group}, ${of}::double as value\nfrom data where ${of} is not null and ${group} is not null`,
    )
  }
  const names = name === 'parts' ? parts.map(column) : []
  const added: Partial<Record<Choices['how'], string>> = {
    mean: `sum(${column(choices.column)})::double as total, count(${column(choices.column)}) as n`,
    per: `sum(${column(choices.column)})::double as total, sum(${column(per)})::double as n`,
  }
  const number = (name === 'parts' && added[how]) || `${value} as value`
  return fence(
    'sql',
    name,
    `select ${[...step, ...names, number].join(', ')}\nfrom data${known} group by all order by all`,
  )
}

function metricBlock(name: Answer['of'], choices: Choices, parts: readonly string[]): string {
  const metric = 'metric' in choices.of ? choices.of.metric : ''
  const by = name === 'parts' ? `\nby: ${list(parts)}` : ''
  return fence('metric', name, `metric: ${metric}\ngrain: ${choices.grain}${by}`)
}

/** Returns a template with one question over one measure. It runs without changes. */
export function templateText(choices: Choices): string {
  const { of, label, unit, good, question } = choices
  const metric = 'metric' in of
  const parts = partsOf(choices)
  const part = parts[0] ?? ''
  const answer = answerOf(choices, parts, part)
  const block = metric ? metricBlock : sqlBlock
  const title = plain(opening(label || labelOf(choices)))
  const shown = [`label: ${yaml(plain(label || labelOf(choices)))}`]
  if (unit !== '') shown.push(`unit: ${yaml(unit)}`)
  if (good !== 'none') shown.push(`good: ${good}`)
  const columns = metric ? '' : `columns:\n  value: { ${shown.join(', ')} }\n`
  const isDrawn = answer.chart.includes('chart main')
  const blocks = [...new Set<Answer['of']>([...(isDrawn ? (['main'] as const) : []), answer.of])]
  return [
    `---\ntitle: ${yaml(question === 'latest' ? `${title}, latest` : title)}\ntags: [draft]\n`,
    metric ? '' : `sources:\n  data: ${sourceText(choices)}\n`,
    `${columns}---\n\n`,
    blocks.map((name) => block(name, choices, parts)).join('\n'),
    '\n',
    fence(
      'analysis',
      'answer',
      [`method: ${answer.method}`, `of: ${answer.of}`, ...answer.options].join('\n'),
    ),
    `\n# ${plain(opening(tableName(of)))}: ${title}\n\n**{{ answer.headline }}**\n\n${answer.chart}\n\n## What to doubt\n\n{% doubts %}\n\n{{ answer.evidence }}\n`,
  ].join('')
}
