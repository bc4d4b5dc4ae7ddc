/**
 * Writes metrics and a template for a table whose columns are decided (roles.ts). Comments say what is assumed and what is
 * left open. The template has at most 60 lines, passes the checks, and runs as it stands.
 */
import type { Cell } from '@assay/model/insight'
import { stringify } from 'yaml'
import { opening, readable } from '../verdicts/measure.ts'
import type { Decision, DraftColumn, Role } from './roles.ts'

export interface DraftTable {
  /** As a template names it. */
  file: string
  /** Further keys of the source, such as `dates: dmy`. */
  dialect: Record<string, unknown>
  rows: number
  columns: readonly DraftColumn[]
  decisions: readonly Decision[]
}

export interface Draft {
  /** By name, each the text of `metrics/NAME.yaml`. */
  metrics: Record<string, string>
  /** The name of the template's file without ending, and its text. */
  name: string
  template: string
  /** What the author must answer. */
  questions: string[]
}

const MOST_METRICS = 3
const MOST_DIMENSIONS = 4
const MOST_COMMENTS = 8
const LONGEST = 200

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** "Orders 2026.csv" -> "orders_2026" */
function nameOf(text: string): string {
  const base = text.split('/').at(-1)!.split('.')[0]!
  const name = base
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  return /^[a-z]/.test(name) ? name.slice(0, 40) : `table_${name}`.slice(0, 40).replace(/_$/, '')
}

/** Of these a mean says more than a sum. */
const MEANS =
  /(?:^|[^a-z])(?:rate|share|percent|pct|perc|ratio|score|rating|price|temp\w*|age|speed|delay|distance|height|weight|length|depth|mean|avg|average|index|level|open|high|low|close|pressure|wind|minutes?|min|expect\w*|fertility|co2|mpg)(?:[^a-z]|$)/i

interface Measured {
  id: string
  label: string
  value: string
}

export function writeDraft(table: DraftTable): Draft {
  const name = nameOf(table.file)
  const of = (role: Role): string[] =>
    table.decisions.filter((one) => one.role === role).map(({ column }) => column)
  const dated = of('time').find((column) => typeOf(table, column) !== 'integer')
  const dimensions = of('dimension').slice(0, MOST_DIMENSIONS)
  const notes = notesOf(table, dated ?? null)
  const questions = table.decisions.flatMap(({ question }) => question ?? [])
  const parts = { table, name, dimensions, measures: of('measure'), years: of('time')[0] ?? null, notes }
  if (dated === undefined) return { metrics: {}, name, template: withoutDates(parts), questions }
  const measured = measuredOf(name, of('measure'))
  const grain = grainOf(table, dated)
  const metrics = Object.fromEntries(
    measured.map((one) => [
      one.id,
      `${assumed(one, notes)}${stringify({
        metric: one.id,
        label: one.label,
        source: sourceOf(table),
        time: { column: dated, grain },
        value: one.value,
        ...(dimensions.length > 0 ? { dimensions } : {}),
      })}`,
    ]),
  )
  const template = overMetrics({ ...parts, measured, grain })
  return { metrics, name, template, questions }
}

const typeOf = ({ columns }: DraftTable, name: string): string =>
  columns.find((column) => column.name === name)!.type

const sourceOf = ({ file, dialect }: DraftTable): object => ({ file, ...dialect })

function measuredOf(name: string, measures: readonly string[]): Measured[] {
  const seen = new Set<string>()
  const counted = { id: `${name}_rows`, label: `rows of ${readable(name)}`, value: 'count(*)' }
  const found = measures.slice(0, MOST_METRICS - 1).flatMap((column): Measured[] => {
    const id = `${name}_${nameOf(column.replaceAll('.', ' '))}`.slice(0, 60)
    if (seen.has(id)) return []
    seen.add(id)
    const mean = MEANS.test(column)
    const label = readable(column)
    return [
      {
        id,
        label: mean && !/^(?:average|mean)/i.test(label) ? `average ${label}` : label,
        value: `${mean ? 'avg' : 'sum'}(${quoted(column)})`,
      },
    ]
  })
  return [...found, counted]
}

const timeOf = (day: Cell): number => (typeof day === 'string' ? Date.parse(day) : Number.NaN)

/** By how far the days lie apart. */
function grainOf({ columns }: DraftTable, time: string): 'day' | 'week' | 'month' | 'quarter' | 'year' {
  const { min, max, distinct, type } = columns.find((column) => column.name === time)!
  if (type !== 'date') return 'day'
  const days = (timeOf(max) - timeOf(min)) / 86_400_000
  const gap = distinct > 1 ? days / (distinct - 1) : 1
  if (gap >= 300) return 'year'
  if (gap >= 80) return 'quarter'
  if (gap >= 26) return 'month'
  return gap >= 6.5 ? 'week' : 'day'
}

const comment = (text: string): string => `# ${text.replaceAll(/\s+/g, ' ').slice(0, LONGEST)}\n`

function assumed({ value }: Measured, notes: readonly string[]): string {
  const way = value.startsWith('avg')
    ? 'the mean of a step'
    : value.startsWith('sum')
      ? 'the sum of a step'
      : 'the rows of a step'
  return [`Drafted. Assumed: the value is ${way}; days count in UTC.`, ...notes].map(comment).join('')
}

/** What is assumed of columns, and what could not be decided. */
function notesOf({ decisions }: DraftTable, time: string | null): string[] {
  const times = decisions.filter(({ role, column }) => role === 'time' && column !== time)
  const notes = [
    ...decisions.flatMap(({ question }) => (question === null ? [] : [`ASK: ${question}`])),
    ...(time === null
      ? []
      : [
          `Time: ${time}${times.length > 0 ? `; also a time: ${times.map(({ column }) => column).join(', ')}` : ''}.`,
        ]),
    ...decisions
      .filter(({ sure, question }) => !sure && question === null)
      .map(
        ({ column, role, reason }) =>
          `Not sure: ${column} is taken as ${role === 'other' ? 'none of these' : role}, because ${reason}.`,
      ),
  ]
  return notes.length > MOST_COMMENTS
    ? [
        ...notes.slice(0, MOST_COMMENTS - 1),
        `${notes.length - MOST_COMMENTS + 1} more: assay draft --json lists all.`,
      ]
    : notes
}

interface Parts {
  table: DraftTable
  name: string
  dimensions: readonly string[]
  measures: readonly string[]
  /** A column of years, where there are no dates. */
  years: string | null
  notes: readonly string[]
}

const heading = (name: string): string => opening(plain(readable(name)))

function head({ name, notes }: Parts, more: object): string {
  const settings = { title: heading(name), tags: ['draft'], ...more }
  return `---\n${notes.map(comment).join('')}${stringify(settings, { lineWidth: 0 })}---\n`
}

const fence = (kind: string, name: string, text: string): string =>
  `\n\`\`\`${kind} ${name}\n${text.trimEnd()}\n\`\`\`\n`

/** Text of the data in prose: no Liquid, no line ends. */
const plain = (text: string): string => text.replaceAll(/[{}%\s]+/g, ' ').trim()

function overMetrics(parts: Parts & { measured: readonly Measured[]; grain: string }): string {
  const { name, dimensions, measured, grain } = parts
  const [first, second] = measured
  const period = grain === 'day' ? 'month' : grain
  const time = { time: 'time', value: 'value' }
  const block = (text: object): string => stringify(text, { lineWidth: 0 })
  const why = dimensions.length > 0
  const extra = second ? fence('metric', 'beside', `metric: ${second.id}`) : ''
  return [
    head(parts, {}),
    fence('metric', 'main', `metric: ${first!.id}`),
    extra,
    why ? fence('metric', 'parts', `metric: ${first!.id}\nby: all`) : '',
    fence('analysis', 'direction', block({ method: 'trend', of: 'main', ...time })),
    fence('analysis', 'unusual', block({ method: 'anomalies', of: 'main', ...time })),
    why
      ? fence('analysis', 'why', block({ method: 'drivers', of: 'parts', ...time, period, by: 'all' }))
      : '',
    `\n# ${heading(name)}\n\n**{{ direction.summary }}**\n\n{{ unusual.summary }}\n`,
    why ? '\n{{ why.summary }}\n' : '',
    `\n{% chart main, type: "line", x: "time", y: "value", title: ${JSON.stringify(plain(first!.label))} %}\n`,
    second
      ? `\n{% chart beside, type: "line", x: "time", y: "value", title: ${JSON.stringify(plain(second.label))} %}\n`
      : '',
  ].join('')
}

function withoutDates(parts: Parts): string {
  const { table, name, dimensions, measures, years } = parts
  const [measure] = measures
  const [dimension] = dimensions
  const value =
    measure === undefined ? 'count(*)' : `${MEANS.test(measure) ? 'avg' : 'sum'}(${quoted(measure)})`
  const blocks: string[] = []
  const prose: string[] = []
  if (years !== null) {
    const column = quoted(years)
    blocks.push(
      fence(
        'sql',
        'by_year',
        `select ${column} as year, ${value} as value from data where ${column} is not null group by ${column} order by ${column}`,
      ),
      fence('analysis', 'direction', 'method: trend\nof: by_year\ntime: year\nvalue: value'),
    )
    prose.push(
      '**{{ direction.summary }}**',
      '{% chart by_year, type: "line", x: "year", y: "value", title: "By year" %}',
    )
  }
  if (dimension !== undefined) {
    const column = quoted(dimension)
    blocks.push(
      fence(
        'sql',
        'by_group',
        `select ${column} as part, count(*) as n, ${value} as value from data group by ${column} order by value desc, part`,
      ),
    )
    prose.push(
      '{% chart by_group, type: "bar", x: "part", y: "value", title: "By group" %}',
      '{% table by_group, limit: 20 %}',
    )
  }
  if (measure !== undefined) {
    blocks.push(
      fence('sql', 'numbers', `select ${quoted(measure)} as value from data`),
      fence('analysis', 'spread', 'method: describe\nof: numbers\nvalue: value'),
    )
    prose.push('{{ spread.summary }}')
  }
  if (blocks.length === 0 || measure === undefined) {
    blocks.push(fence('analysis', 'columns', 'method: profile\nof: data'))
    prose.push('{{ columns.summary }}')
  }
  const columns = Object.fromEntries(
    [
      ['part', dimension],
      [
        'value',
        measure === undefined ? 'rows' : `${MEANS.test(measure) ? 'average ' : ''}${readable(measure)}`,
      ],
    ].flatMap(([key, label]) => (label === undefined ? [] : [[key, { label: plain(readable(label)) }]])),
  )
  return [
    head(parts, { sources: { data: sourceOf(table) }, columns }),
    ...blocks,
    `\n# ${heading(name)}\n\n${prose.join('\n\n')}\n`,
  ].join('')
}
