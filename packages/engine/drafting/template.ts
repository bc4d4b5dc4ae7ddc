/** The template of a draft: over metrics, over the table alone, or over a table without dates. */
import { Document, visit } from 'yaml'
import { readable } from '../verdicts/measure.ts'
import { comment, type Measured, quoted, titled } from './words.ts'

interface Parts {
  /** The keys of the source. */
  source: object
  name: string
  dimensions: readonly string[]
  notes: readonly string[]
}

export interface Series extends Parts {
  measured: readonly Measured[]
  grain: string
  /** The column of the time. */
  time: string
  /** Whether the column holds the steps as they are. */
  whole: boolean
}

export interface Undated extends Parts {
  measures: readonly string[]
  /** A column of years. */
  years: string | null
  /** Whether the first measure holds whole numbers only, or there is none. */
  whole: boolean
  /** Whether its mean is taken, and no sum; and how its numbers are printed. */
  mean: boolean
  fmt: string | null
}

const heading = (name: string): string => titled(plain(readable(name)))

/** Text of the data in prose: no Liquid, no quotes, no line ends. */
const plain = (text: string): string => text.replaceAll(/[{}%"\\\s]+/g, ' ').trim()

/** YAML with one line for each key. */
function shortYaml(settings: object): string {
  const document = new Document(settings, { aliasDuplicateObjects: false })
  visit(document, {
    Collection(_, node, { length }) {
      if (length > 1) node.flow = true
    },
  })
  return document.toString({ lineWidth: 0 })
}

function head({ name, notes }: Parts, more: object): string {
  const settings = { title: heading(name), tags: ['draft'], ...more }
  return `---\n${notes.map(comment).join('')}${shortYaml(settings)}---\n`
}

const fence = (kind: string, name: string, text: string): string =>
  `\n\`\`\`${kind} ${name}\n${text.trimEnd()}\n\`\`\`\n`

const TIME_AND_VALUE = { time: 'time', value: 'value' }

interface Read {
  settings: object
  /** The blocks `main` and `parts`. */
  fences: string
  /** What `drivers` takes of `parts`. */
  drivers: object
  /** Where the second measure is: the block and its column. */
  beside: [block: string, column: string]
}

/** What is compared with the one before. */
const periodOf = ({ grain }: Series): string => (grain === 'day' ? 'month' : grain)

/** Writes every part of the template except the blocks `main` and `parts`. */
function overTime(parts: Series, { settings, fences, drivers, beside }: Read): string {
  const { name, dimensions, measured } = parts
  const [first, second] = measured
  const why = dimensions.length > 0
  const period = periodOf(parts)
  const chart = (of: string, y: string, { label }: Measured): string =>
    `\n{% chart ${of}, type: "line", x: "time", y: "${y}", title: ${JSON.stringify(titled(plain(label)))} %}\n`
  return [
    head(parts, settings),
    fences,
    fence('analysis', 'direction', shortYaml({ method: 'trend', of: 'main', ...TIME_AND_VALUE })),
    fence('analysis', 'unusual', shortYaml({ method: 'anomalies', of: 'main', ...TIME_AND_VALUE })),
    why
      ? fence(
          'analysis',
          'why',
          shortYaml({ method: 'drivers', of: 'parts', time: 'time', ...drivers, period }),
        )
      : '',
    `\n# ${heading(name)}\n\n**{{ direction.summary }}**\n\n{{ unusual.summary }}\n`,
    why ? '\n{{ why.summary }}\n' : '',
    chart('main', 'value', first!),
    second ? chart(...beside, second) : '',
  ].join('')
}

/**
 * The metrics stand beside the template. The causes of a level's change are left out, because its steps do not add up
 * over the parts.
 */
export function overMetrics(given: Series): string {
  const [first, second] = given.measured
  const parts = first!.level ? { ...given, dimensions: [] } : given
  const fences = [
    fence('metric', 'main', `metric: ${first!.id}`),
    second ? fence('metric', 'beside', `metric: ${second.id}`) : '',
    parts.dimensions.length > 0 ? fence('metric', 'parts', `metric: ${first!.id}\nby: all`) : '',
  ].join('')
  return overTime(parts, {
    settings: {},
    fences,
    drivers: { value: 'value', by: 'all' },
    beside: ['beside', 'value'],
  })
}

/** Names that the columns of the blocks have. */
const TAKEN = new Set(['time', 'value', 'beside', 'total', 'n'])
const RATIO = { numerator: 'total', denominator: 'n' }

/** The template reads the table itself: the same series as those of the metrics, by SQL. */
export function overSource(given: Series): string {
  const dimensions = given.dimensions.filter((name) => !TAKEN.has(name.toLowerCase()))
  const parts = { ...given, dimensions }
  const { measured, grain, whole, source } = parts
  const [first, second] = measured
  const time = quoted(parts.time)
  const step = whole ? time : `cast(date_trunc('${grain}', ${time}) as date)`
  const read = (columns: readonly string[], each = step): string =>
    `select ${[`${each} as time`, ...columns].join(', ')}\nfrom data where ${time} is not null group by all order by all`
  const number = ({ value, level }: Measured): string =>
    value.startsWith('sum') && !level ? `${value}::double` : value
  const mean = first!.value.startsWith('avg')
  const of = quoted(first!.column ?? '')
  const added = mean ? [`sum(${of})::double as total`, `count(${of}) as n`] : [`${number(first!)} as value`]
  // The days of a level are not added up, so its periods are read as one row of each part.
  const stepOfParts = first!.level ? `cast(date_trunc('${periodOf(parts)}', ${time}) as date)` : step
  const main = [`${number(first!)} as value`, ...(second ? [`${number(second)} as beside`] : [])]
  const meaningOf = ({ label, fmt }: Measured): object => ({
    label: plain(label),
    ...(fmt === null ? {} : { fmt }),
  })
  const label = meaningOf(first!)
  return overTime(parts, {
    settings: {
      sources: { data: source },
      columns: {
        value: label,
        ...(second ? { beside: meaningOf(second) } : {}),
        ...(mean && dimensions.length > 0 ? { 'total per n': label } : {}),
      },
    },
    fences: [
      fence('sql', 'main', read(main)),
      dimensions.length > 0
        ? fence('sql', 'parts', read([...dimensions.map(quoted), ...added], stepOfParts))
        : '',
    ].join(''),
    drivers: { ...(mean ? RATIO : { value: 'value' }), by: dimensions },
    beside: ['main', 'beside'],
  })
}

export function withoutDates(parts: Undated): string {
  const { source, name, dimensions, measures, years, whole, mean, fmt } = parts
  const [measure] = measures
  const [dimension] = dimensions
  const value = measure === undefined ? 'count(*)' : `${mean ? 'avg' : 'sum'}(${quoted(measure)})`
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
    // A sum over years would count people and the like once for each year.
    const year = years === null ? '' : `, max(${quoted(years)}) as year`
    const newest = years === null ? '' : ` where ${quoted(years)} = (select max(${quoted(years)}) from data)`
    blocks.push(
      fence(
        'sql',
        'by_group',
        `select ${column} as part${year}, count(*) as n, ${value} as value from data${newest} group by ${column} order by value desc, part`,
      ),
    )
    const title = years === null ? 'By group' : 'By group, in the newest year'
    prose.push(
      `{% chart by_group, type: "bar", x: "part", y: "value", title: "${title}" %}`,
      `{% table by_group, limit: 20, fmt: { n: "num0", value: "${fmt ?? (whole && !mean ? 'num0' : 'num2')}" } %}`,
    )
  }
  // A report begins with a sentence, and charts follow.
  const said: string[] = []
  if (measure !== undefined) {
    blocks.push(
      fence('sql', 'numbers', `select ${quoted(measure)} as value from data`),
      fence('analysis', 'spread', 'method: describe\nof: numbers\nvalue: value'),
    )
    said.push('{{ spread.summary }}')
  }
  if (blocks.length === 0 || measure === undefined) {
    blocks.push(fence('analysis', 'columns', 'method: profile\nof: data'))
    said.push('{{ columns.summary }}')
  }
  const told = years === null ? [...said, ...prose] : [...prose, ...said]
  const columns = Object.fromEntries(
    [
      ['part', dimension],
      ['value', measure === undefined ? 'rows' : `${mean ? 'average ' : ''}${readable(measure)}`],
    ].flatMap(([key, label]) =>
      label === undefined
        ? []
        : [[key, { label: plain(readable(label)), ...(key === 'value' && fmt !== null ? { fmt } : {}) }]],
    ),
  )
  return [
    head(parts, { sources: { data: source }, columns }),
    ...blocks,
    `\n# ${heading(name)}\n\n${told.join('\n\n')}\n`,
  ].join('')
}
