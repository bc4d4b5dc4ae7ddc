/** Reads the definition of a metric: one YAML file. Every fault has its position and says what to write instead. */

import { createHash } from 'node:crypto'
import { isDay, isTimeZone } from '@assay/model/dates'
import type { Dialect } from '@assay/model/dialect'
import type {
  Adding,
  Grain,
  MetricEvent,
  MetricInfo,
  MetricTarget,
  MetricTest,
  MetricView,
  PartitionRules,
} from '@assay/model/metric'
import type { RowRule } from '@assay/model/reader'
import type { ColumnMeaning, Fault, Origin } from '@assay/model/template'
import { makeFault, type Position, sortFaults } from '../language/fault.ts'
import { normaliseNewlines } from '../language/fences.ts'
import { SqlTextFault } from '../language/sql-tokens.ts'
import { readRows } from '../personal/rows-key.ts'
import { checkFormat } from '../printing/format.ts'
import { dialectProperties, readDialect } from '../reading/dialect-schema.ts'
import { readDuration } from '../reading/limits.ts'
import { schemaFaults } from '../reading/schema-faults.ts'
import { readYaml, type YamlReading } from '../reading/yaml-reading.ts'
import { bucketPath, isAddress, vetAddressText, vetPath } from '../values/file-path.ts'
import { ValueError } from '../values/value.ts'
import { readable } from '../verdicts/measure.ts'
import { columnsIn, isAdditive, type Node, parseAggregate, parseRowExpression } from './expression.ts'
import { metricSchema } from './schema.ts'

export interface MetricSource {
  file: string | null
  connection: string | null
  table: string | null
  sql: string | null
  columns: Record<string, string>
  dialect: Dialect
}

export interface Metric extends MetricInfo {
  source: MetricSource
  /** The value over all rows of a step. */
  value: Node
  /** The parts of a ratio. An average is the ratio of its sum and count. Null for other values. */
  ratio: { numerator: Node; denominator: Node } | null
  where: Node | null
  /** The rule of the rows that count for a reader. */
  rows: RowRule | null
  /** The rules by which its days are kept; null if each run reads all rows. */
  partitions: PartitionRules | null
  /** The line of each key of the file. */
  lines: Record<string, number>
}

export interface MetricReading {
  /** The metric; null if there are errors. */
  metric: Metric | null
  faults: Fault[]
}

type Fields = Record<string, unknown>

/** The most characters of a definition that is read. */
const MAX_METRIC = 50_000

/** Returns the first 16 hex digits of the SHA-256 of a definition. */
function metricVersion(source: string): string {
  return createHash('sha256').update(normaliseNewlines(source)).digest('hex').slice(0, 16)
}

const cache = new Map<string, MetricReading>()
const MOST_KEPT = 500

/** Reads a metric. `name`: the name that it must have. Readings are cached. */
export function readMetric(name: string, source: string): MetricReading {
  const key = `${name}\n${source}`
  const known = cache.get(key)
  if (known) return known
  const reading = read(name, source)
  cache.set(key, reading)
  if (cache.size > MOST_KEPT) cache.delete(cache.keys().next().value!)
  return reading
}

function read(name: string, source: string): MetricReading {
  if (source.length > MAX_METRIC) {
    const message = `The metric has ${source.length} characters.`
    const fault = makeFault('too_long', { line: 1, column: 1 }, message, `At most ${MAX_METRIC} are read.`)
    return { metric: null, faults: [fault] }
  }
  const yaml = readYaml(normaliseNewlines(source), 1)
  const faults =
    yaml.faults.length > 0
      ? [...yaml.faults]
      : schemaFaults(metricSchema, yaml.value ?? {}, 'the metric', yaml.position)
  if (faults.length > 0) return { metric: null, faults: sortFaults(faults) }
  const given = yaml.value as Fields
  const reader = new Reader(given, yaml, faults)
  const metric = reader.metric(name, metricVersion(source))
  return { metric: faults.length > 0 ? null : metric, faults: sortFaults(faults) }
}

class Reader {
  readonly #given: Fields
  readonly #yaml: YamlReading
  readonly #faults: Fault[]

  constructor(given: Fields, yaml: YamlReading, faults: Fault[]) {
    this.#given = given
    this.#yaml = yaml
    this.#faults = faults
  }

  #refuse(path: (string | number)[], message: string, remedy: string, place?: Position): void {
    this.#faults.push(makeFault('bad_value', place ?? this.#yaml.position(path), message, remedy))
  }

  metric(name: string, version: string): Metric {
    const given = this.#given
    if (given.metric !== name)
      this.#refuse(
        ['metric'],
        `The metric is called ${JSON.stringify(given.metric)} here and ${JSON.stringify(name)} by its file or address.`,
        `Write "metric: ${name}", or rename the file.`,
      )
    const time = given.time as { column: string; grain?: Grain; zone?: string }
    const { value, ratio } = this.#value()
    const keys = Object.keys(given)
    return {
      metric: name,
      version,
      label: (given.label as string | undefined) ?? readable(name),
      description: (given.description as string | undefined)?.trim() ?? null,
      source: this.#source(),
      time: { column: time.column, grain: time.grain ?? 'day', zone: this.#zone(time.zone) },
      value,
      ratio,
      adding: addingOf(value, ratio),
      where: this.#expression(['where'], given.where as string | undefined, parseRowExpression),
      rows: readRows(given.rows as string | undefined, ['rows'], this.#yaml, this.#faults),
      partitions: this.#partitions(),
      unit: (given.unit as string | undefined) ?? null,
      fmt: this.#format(),
      good: (given.good as ColumnMeaning['good'] | undefined) ?? 'none',
      missing: (given.missing as 'gap' | 'zero' | undefined) ?? 'gap',
      target: (given.target as MetricTarget | undefined) ?? null,
      dimensions: (given.dimensions as string[] | undefined) ?? [],
      tests: this.#tests(),
      events: this.#events(),
      lines: Object.fromEntries(keys.map((key) => [key, this.#yaml.position([key], 'key').line])),
    }
  }

  #source(): MetricSource {
    const given = this.#given.source as Record<string, unknown>
    const { file, connection, table, sql } = given as Partial<MetricSource>
    const { columns, dialect } = readDialect(given)
    const named = [file, table, sql].filter((one) => one !== undefined).length
    if (named !== 1)
      this.#refuse(
        ['source'],
        `A source has exactly one of "file", "table" and "sql", not ${named}.`,
        'Write { file: orders.csv }, or { connection: shop, table: orders }.',
      )
    if ((table ?? sql) !== undefined && connection === undefined)
      this.#refuse(['source'], 'A table or a query needs a connection.', 'Add "connection".')
    if (file !== undefined) {
      const fault = fileFault(file!, connection !== undefined)
      if (fault !== null)
        this.#refuse(['source', 'file'], fault, 'Name a file below the data folder, or sample/NAME.')
    } else {
      const key = ['columns', ...Object.keys(dialectProperties)].find((one) => given[one] !== undefined)
      if (key !== undefined) this.#refuse(['source', key], `"${key}" is for files.`, 'Cast in "sql".')
    }
    return {
      file: file ?? null,
      connection: connection ?? null,
      table: table ?? null,
      sql: sql ?? null,
      columns,
      dialect,
    }
  }

  #partitions(): PartitionRules | null {
    const given = this.#given.partitions as
      | { reopen: string; deletes: 'none' | 'marked'; changed?: string }
      | undefined
    if (!given) return null
    const { reopen, deletes, changed = null } = given
    const { file } = this.#given.source as Partial<MetricSource>
    if (file !== undefined)
      this.#refuse(
        ['partitions'],
        'Days are kept of a table or a query of a connection.',
        'Leave "partitions" out.',
      )
    if ((deletes === 'marked') !== (changed !== null))
      this.#refuse(
        ['partitions', 'deletes'],
        deletes === 'marked'
          ? 'Nothing tells when a row was marked.'
          : 'Where nothing is deleted, nothing is marked.',
        deletes === 'marked'
          ? 'Name the column with the moment of the last change in "changed".'
          : 'Write "deletes: marked", or leave "changed" out.',
      )
    return { reopen_days: Number.parseInt(reopen, 10), deletes, changed }
  }

  #zone(zone = 'UTC'): string {
    if (isTimeZone(zone)) return zone
    this.#refuse(
      ['time', 'zone'],
      `There is no time zone ${JSON.stringify(zone)}.`,
      'Use an IANA name such as Europe/Berlin.',
    )
    return 'UTC'
  }

  #format(): string | null {
    const fmt = (this.#given.fmt as string | undefined) ?? null
    if (fmt === null) return null
    try {
      checkFormat(fmt)
    } catch (error) {
      if (!(error instanceof ValueError)) throw error
      this.#refuse(['fmt'], error.message, error.remedy)
    }
    return fmt
  }

  #expression(path: string[], text: string | undefined, parse: (text: string) => Node): Node | null {
    if (text === undefined) return null
    try {
      const tree = parse(text)
      const variable = path[0] === 'where' ? /\$\w+/.exec(text) : null
      if (variable)
        throw new SqlTextFault(
          `${variable[0]} cannot stand in a definition.`,
          variable.index,
          'Variables belong to templates.',
        )
      return tree
    } catch (error) {
      if (!(error instanceof SqlTextFault)) throw error
      this.#refuse(
        path,
        `${path.at(-1)}: ${error.message}`,
        error.remedy,
        this.#yaml.positionInText(path)(error.at),
      )
      return null
    }
  }

  #value(): Pick<Metric, 'value' | 'ratio'> {
    const { value } = this.#given as { value: string | { ratio: { numerator: string; denominator: string } } }
    const nothing: Node = { kind: 'constant', value: 'null' }
    if (typeof value === 'string') {
      const tree = this.#expression(['value'], value, parseAggregate) ?? nothing
      return { value: tree, ratio: averageOf(tree) ?? quotientOf(tree) }
    }
    const part = (name: 'numerator' | 'denominator'): Node =>
      this.#expression(['value', 'ratio', name], value.ratio[name], parseAggregate) ?? nothing
    const ratio = { numerator: part('numerator'), denominator: part('denominator') }
    return {
      value: { kind: 'binary', operator: '/', left: ratio.numerator, right: ratio.denominator },
      ratio,
    }
  }

  #tests(): MetricTest[] {
    const given = (this.#given.tests ?? []) as Fields[]
    return given.flatMap((test, index): MetricTest[] => {
      const [kind, of] = Object.entries(test)[0]!
      if (kind === 'accepted')
        return Object.entries(of as Record<string, (string | number | boolean)[]>).map(
          ([column, values]) => ({ kind, column, values }),
        )
      if (kind !== 'fresh') return [{ kind: kind as 'not_null' | 'unique', column: of as string }]
      const ms = readDuration(of)
      if (ms !== null) return [{ kind, ms, text: String(of) }]
      this.#refuse(['tests', index, 'fresh'], `${JSON.stringify(of)} is not a duration.`, 'Write 12h or 2d.')
      return []
    })
  }

  #events(): MetricEvent[] {
    const events = (this.#given.events ?? []) as MetricEvent[]
    for (const [index, { date }] of events.entries())
      if (!isDay(date))
        this.#refuse(['events', index, 'date'], `${JSON.stringify(date)} is not a day.`, 'Write 2026-03-01.')
    return events.toSorted((a, b) => (a.date < b.date ? -1 : 1))
  }
}

function fileFault(file: string, connected: boolean): string | null {
  if (/\{[{%]/.test(file)) return 'A metric has no variables, so its file has no Liquid.'
  if (!connected && isAddress(file)) return vetAddressText(file)
  if (!connected && bucketPath(file) !== null) return null
  return vetPath(connected ? file.split('?')[0]! : file)
}

/** Returns the parts of an average of all rows: a sum over a count, so that parts and periods can be combined. */
function averageOf(node: Node): Metric['ratio'] {
  if (node.kind !== 'aggregate' || node.name !== 'avg') return null
  return {
    numerator: { ...node, name: 'sum' },
    denominator: { ...node, name: 'count' },
  }
}

/** Returns the parts of a quotient of sums, also of a multiple: 100 * sum(a) / sum(b). */
function quotientOf(node: Node): Metric['ratio'] {
  if (node.kind !== 'binary') return null
  const { operator, left, right } = node
  if (operator === '/')
    return isAdditive(left) && isAdditive(right) ? { numerator: left, denominator: right } : null
  if (operator !== '*') return null
  const [factor, inner] = left.kind === 'number' ? [left, quotientOf(right)] : [right, quotientOf(left)]
  if (factor.kind !== 'number' || !inner) return null
  return { ...inner, numerator: { kind: 'binary', operator: '*', left: factor, right: inner.numerator } }
}

function addingOf(value: Node, ratio: Metric['ratio']): Adding {
  if (ratio) return isAdditive(ratio.numerator) && isAdditive(ratio.denominator) ? 'ratio' : 'none'
  if (isAdditive(value)) return 'sum'
  if (value.kind !== 'aggregate') return 'none'
  return value.name === 'min' ? 'minimum' : value.name === 'max' ? 'maximum' : 'none'
}

export function testText(test: MetricTest): string {
  switch (test.kind) {
    case 'fresh':
      return `fresh: ${test.text}`
    case 'accepted':
      return `accepted: ${test.column}`
    default:
      return `${test.kind}: ${test.column}`
  }
}

/** Returns every column of the source that a definition names, with the key that names it. */
export function namedColumns(metric: Metric): { column: string; key: string }[] {
  const list = (key: string, columns: string[]) => columns.map((column) => ({ column, key }))
  return [
    ...list('time', [metric.time.column]),
    ...list(
      'value',
      metric.ratio
        ? columnsIn(metric.value, metric.ratio.numerator, metric.ratio.denominator)
        : columnsIn(metric.value),
    ),
    ...list('where', metric.where ? columnsIn(metric.where) : []),
    ...list('rows', metric.rows?.columns ?? []),
    ...list('partitions', metric.partitions?.changed ? [metric.partitions.changed] : []),
    ...list('dimensions', metric.dimensions),
    ...list(
      'tests',
      metric.tests.flatMap((test) => (test.kind === 'fresh' ? [] : [test.column])),
    ),
  ]
}

export function metricView(metric: Metric, origin: Origin): MetricView {
  return {
    metric_id: metric.metric,
    label: metric.label,
    description: metric.description,
    version: metric.version,
    unit: metric.unit,
    fmt: metric.fmt,
    good: metric.good,
    grain: metric.time.grain,
    zone: metric.time.zone,
    adding: metric.adding,
    dimensions: metric.dimensions,
    target: metric.target,
    tests: metric.tests.map(testText),
    events: metric.events,
    origin,
    connections: metric.source.connection === null ? [] : [metric.source.connection],
    kept: null,
  }
}
