/**
 * Writes metrics and a template for a table whose columns are decided (roles.ts). Comments say what is assumed and what is
 * left open. The template (template.ts) has at most 60 lines, passes the checks, and runs as it stands.
 */
import type { Cell } from '@assay/model/insight'
import { stringify } from 'yaml'
import { CURRENCIES } from '../printing/currencies.ts'
import { readable } from '../verdicts/measure.ts'
import { type Decision, type DraftColumn, type Question, type Role, UNWRITABLE } from './roles.ts'
import { overMetrics, overSource, withoutDates } from './template.ts'
import { comment, LEVEL_TABLES, LEVELS, MEANS, type Measured, quoted } from './words.ts'

export interface DraftTable {
  /** The name for people: a path, or the name of a table. */
  called: string
  /** The source of a metric: a file with its keys, or a table of a connection. */
  source: object
  /** The source of a template that reads the rows themselves. */
  rowSource: object
  /** The assumptions about the table as a whole. */
  assumed?: string[]
  /** True if the template reads the table itself and no metrics. */
  alone: boolean
  rows: number
  columns: readonly DraftColumn[]
  decisions: readonly Decision[]
  /** A question about the table as a whole, such as its sheet. */
  asked?: Question | null
}

export interface Draft {
  /** The texts of `metrics/NAME.yaml`, by name. */
  metrics: Record<string, string>
  /** The name of the template's file without ending, and its text. */
  name: string
  template: string
  /** The assumptions, as full sentences. */
  assumptions: string[]
  /** The questions that the author must answer. Their columns are left out of the draft. */
  questions: Question[]
}

const MOST_METRICS = 3
const MOST_DIMENSIONS = 4
const MOST_COMMENTS = 8

/** Turns "Orders 2026.csv" into "orders_2026". */
function nameOf(text: string): string {
  const base = text.split('/').at(-1)!.split('.')[0]!
  const name = base
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  return /^[a-z]/.test(name) ? name.slice(0, 40) : `table_${name}`.slice(0, 40).replace(/_$/, '')
}

export function writeDraft(table: DraftTable): Draft {
  const name = nameOf(table.called)
  const of = (role: Role): string[] =>
    table.decisions
      .filter((one) => one.role === role && !UNWRITABLE.test(one.column))
      .map(({ column }) => column)
  const dated = of('time').find((column) => typeOf(table, column) !== 'integer')
  const dimensions = of('dimension').slice(0, MOST_DIMENSIONS)
  const measures = of('measure')
  const left = table.decisions.filter(({ column }) => UNWRITABLE.test(column))
  const assumed = [
    ...(table.assumed ?? []),
    ...left.map(
      ({ column }) =>
        `${JSON.stringify(column)} is left out: its name has a line break, a control character, "{{", "{%", "~~~" or three backticks.`,
    ),
    ...assumedOf(table, dated ?? null),
  ]
  const questions = [table.asked ?? null, ...table.decisions.map(({ question }) => question)].filter(
    (one) => one !== null,
  )
  const notes = notesOf(assumed, questions)
  const parts = { source: table.rowSource, name, dimensions, notes }
  if (dated === undefined) {
    const [measure] = measures
    const whole = measure === undefined || typeOf(table, measure) === 'integer'
    const fmt = measure === undefined ? null : formatOf(table, measure)
    const mean = measure !== undefined && isMean(table, measure)
    const template = withoutDates({ ...parts, measures, whole, mean, fmt, years: of('time')[0] ?? null })
    return { metrics: {}, name, template, assumptions: assumed, questions }
  }
  const measured = measuredOf(table, measures, dated)
  const grain = grainOf(table, dated)
  const metrics = Object.fromEntries(
    measured.map((one) => [
      one.id,
      `${[wayOf(one), ...notes].map(comment).join('')}${stringify({
        metric: one.id,
        label: one.label,
        source: table.source,
        time: { column: dated, grain },
        value: one.level ? ratioOf(table, one, dated) : one.value,
        ...(one.fmt === null ? {} : { fmt: one.fmt }),
        ...(dimensions.length > 0 ? { dimensions } : {}),
      })}`,
    ]),
  )
  const whole = typeOf(table, dated) === 'date' && grain === 'day'
  const series = { ...parts, measured, grain, time: dated, whole }
  const template = table.alone ? overSource(series) : overMetrics(series)
  const assumptions = [
    ...measured.map((one) => `${one.label}: ${meansOf(one)}.`),
    'Days count in UTC.',
    ...assumed,
  ]
  return { metrics, name, template, assumptions, questions }
}

const columnOf = ({ columns }: DraftTable, name: string): DraftColumn =>
  columns.find((column) => column.name === name)!

/** Tells whether the mean of a measure is taken. Of shares a mean says more than a sum. */
const isMean = (table: DraftTable, name: string): boolean =>
  MEANS.test(name) || columnOf(table, name).percent === true

/** Returns the format of a measure by the signs around its numbers in the file. */
function formatOf(table: DraftTable, name: string): string | null {
  const { percent, currency } = columnOf(table, name)
  if (percent) return 'pct1'
  if (currency === undefined) return null
  const known = Object.entries(CURRENCIES).find(
    ([code, sign]) => sign.trim() === currency || code.toUpperCase() === currency,
  )
  return known?.[0] ?? null
}

const typeOf = (table: DraftTable, name: string): string => columnOf(table, name).type

const ratioOf = (table: DraftTable, { column }: Measured, time: string): object => ({
  ratio: { numerator: `sum(${quoted(column!)})`, denominator: timesOf(table, column!, time) },
})

/** Returns the number of times of a level. A time without a value does not count in its mean. */
function timesOf(table: DraftTable, name: string, time: string): string {
  const { nulls } = columnOf(table, name)
  const times = nulls > 0 ? `case when ${quoted(name)} is not null then ${quoted(time)} end` : quoted(time)
  return `count(distinct ${times})`
}

function measuredOf(table: DraftTable, measures: readonly string[], time: string): Measured[] {
  const name = nameOf(table.called)
  const standing = LEVEL_TABLES.test(name)
  const seen = new Set<string>()
  const counted: Measured = {
    id: `${name}_rows`,
    label: `rows of ${readable(name)}`,
    column: null,
    value: 'count(*)',
    level: false,
    fmt: null,
  }
  const found = measures.slice(0, MOST_METRICS - 1).flatMap((column): Measured[] => {
    const id = `${name}_${nameOf(column.replaceAll('.', ' '))}`.slice(0, 60)
    if (seen.has(id)) return []
    seen.add(id)
    const mean = isMean(table, column)
    const level = !mean && (standing || LEVELS.test(column))
    const label = readable(column)
    return [
      {
        id,
        label: mean && !/^(?:average|mean)/i.test(label) ? `average ${label}` : label,
        column,
        value: level
          ? `sum(${quoted(column)})::double / ${timesOf(table, column, time)}`
          : `${mean ? 'avg' : 'sum'}(${quoted(column)})`,
        level,
        fmt: formatOf(table, column),
      },
    ]
  })
  return [...found, counted]
}

const timeOf = (day: Cell): number => (typeof day === 'string' ? Date.parse(day) : Number.NaN)

/** Returns the grain, by the distances between days. */
function grainOf(table: DraftTable, time: string): 'day' | 'week' | 'month' | 'quarter' | 'year' {
  const { min, max, distinct, type } = columnOf(table, time)
  if (type !== 'date') return 'day'
  const days = (timeOf(max) - timeOf(min)) / 86_400_000
  const gap = distinct > 1 ? days / (distinct - 1) : 1
  if (gap >= 300) return 'year'
  if (gap >= 80) return 'quarter'
  if (gap >= 26) return 'month'
  return gap >= 6.5 ? 'week' : 'day'
}

const meansOf = ({ value, level }: Measured): string =>
  level
    ? 'a level, which is not added up over time: the value is the mean over the times of a step'
    : value.startsWith('avg')
      ? 'the value is the mean of a step'
      : value.startsWith('sum')
        ? 'the value is the sum of a step'
        : 'the value is the number of rows in a step'

const wayOf = (one: Measured): string => `Drafted. Assumed: ${meansOf(one)}; days count in UTC.`

/** Returns the assumptions about the columns. */
function assumedOf({ decisions, columns }: DraftTable, time: string | null): string[] {
  const times = decisions.filter(({ role, column }) => role === 'time' && column !== time)
  return [
    ...(time === null
      ? []
      : [
          `Time: ${time}${times.length > 0 ? `; also a time: ${times.map(({ column }) => column).join(', ')}` : ''}.`,
        ]),
    ...columns.flatMap(({ name, read = [] }) =>
      UNWRITABLE.test(name) ? [] : read.map((says) => `${JSON.stringify(name)}: ${says}`),
    ),
    ...decisions
      .filter(({ sure, question }) => !sure && question === null)
      .map(
        ({ column, role, reason }) =>
          `Not sure: ${column} is taken as ${role === 'other' ? 'none of these' : role}, because ${reason}.`,
      ),
  ]
}

/** Returns the comments of a file: the questions, and the assumptions about columns. */
function notesOf(assumed: readonly string[], questions: readonly Question[]): string[] {
  const notes = [...questions.map(({ column, says }) => `ASK: ${column}: ${says}`), ...assumed]
  return notes.length > MOST_COMMENTS
    ? [
        ...notes.slice(0, MOST_COMMENTS - 1),
        `${notes.length - MOST_COMMENTS + 1} more: the decisions of the draft list all.`,
      ]
    : notes
}
