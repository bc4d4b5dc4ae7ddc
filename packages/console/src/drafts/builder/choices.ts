/** The questions of the builder of metrics and templates, and the closed lists that it offers. Pure. */
import type { MetricView } from '@assay/model/metric'

export const GRAINS = ['hour', 'day', 'week', 'month', 'quarter', 'year'] as const
export type Grain = (typeof GRAINS)[number]

/** The ways in which rows become one number. */
export const HOWS = ['rows', 'sum', 'mean', 'per', 'different', 'most', 'least'] as const
export type How = (typeof HOWS)[number]

export const HOW_WORDS: Record<How, string> = {
  rows: 'Number of rows',
  sum: 'Sum of a column',
  mean: 'Mean of a column',
  per: 'One column per another (a ratio)',
  different: 'Number of different values',
  most: 'Highest value',
  least: 'Lowest value',
}

export const QUESTIONS = ['rise', 'latest', 'unusual', 'next', 'why', 'largest', 'differ'] as const
export type Question = (typeof QUESTIONS)[number]

export const QUESTION_WORDS: Record<Question, string> = {
  rise: 'Does it rise or fall?',
  latest: 'How was the latest period, beside the one before?',
  unusual: 'Which times stand out?',
  next: 'What comes next?',
  why: 'What moved it?',
  largest: 'Which parts make up most of it?',
  differ: 'Do the groups differ?',
}

export type BuiltOf =
  | { file: string; lines: readonly string[] }
  | { connection: string; table: string }
  | { metric: string }

export interface Choices {
  of: BuiltOf
  /** The way in which values of several steps make one; only for a metric. */
  adding?: MetricView['adding']
  how: How
  column: string
  /** The divisor of a ratio. */
  per: string
  /** The column of times; empty for none. */
  time: string
  grain: Grain
  dimensions: readonly string[]
  label: string
  unit: string
  good: 'up' | 'down' | 'none'
  question: Question
}

/** Tells how parts and steps make the whole: by their sum, by the ratio of two sums, or not at all. */
export function addingOf({ of, how, adding }: Choices): 'sum' | 'ratio' | 'none' {
  if ('metric' in of) return adding === 'sum' || adding === 'ratio' ? adding : 'none'
  if (how === 'rows' || how === 'sum') return 'sum'
  return how === 'mean' || how === 'per' ? 'ratio' : 'none'
}

/** Names that columns of the blocks already have. */
const TAKEN = new Set(['time', 'value', 'total', 'n'])

/** Returns the dimensions that a template can ask for. */
export const partsOf = ({ of, dimensions }: Choices): string[] =>
  dimensions.filter((name) => 'metric' in of || !TAKEN.has(name.toLowerCase()))

/** Tells whether a template can hold the name of a column. */
export const isWritable = (name: string): boolean => !/[\p{Cc}\p{Zl}\p{Zp}]|\{[{%]|```|~~~/u.test(name)

/** Returns the questions that the choices can answer. */
export function questionsFor(choices: Choices): Question[] {
  const { of, how, time } = choices
  const metric = 'metric' in of
  const timed = metric || time !== ''
  const parts = partsOf(choices).length > 0
  const adding = addingOf(choices)
  return QUESTIONS.filter((question) => {
    if (question === 'largest') return parts && adding === 'sum'
    if (question === 'differ') return parts && !metric && ['sum', 'mean'].includes(how)
    if (question === 'why') return timed && parts && adding !== 'none'
    return timed
  })
}

/** Returns the choice that is missing, as a sentence, or null if the text can be written. */
export function missingOf(choices: Choices, kind: 'metric' | 'template'): string | null {
  const { of, how, column, per, time, question } = choices
  if ('file' in of && of.file === '') return 'Choose a file.'
  if ('metric' in of) return of.metric === '' ? 'Choose a metric.' : null
  if (how !== 'rows' && column === '') return 'Choose the column to measure.'
  if (how === 'per' && per === '') return 'Choose the column to divide by.'
  if (kind === 'metric' && time === '') return 'A metric is a number over time: choose the column of times.'
  if (kind === 'template' && !questionsFor(choices).includes(question)) return 'Choose a question.'
  return null
}

const words = (name: string): string => name.replaceAll(/[_\s]+/g, ' ').trim()

/** Returns the name of the table: "orders" of "uploads/2025/orders.csv". */
export function tableName(of: BuiltOf): string {
  if ('metric' in of) return of.metric
  const name =
    'file' in of ? (of.file.split('/').at(-1) ?? '').replace(/\.[^.]*(\.gz|\.zst)?$/, '') : of.table
  return words(name)
}

/** Returns the default label for readers. */
export function labelOf({ of, how, column, per }: Choices): string {
  if ('metric' in of || how === 'rows') return tableName(of)
  const name = words(column)
  if (how === 'per') return `${name} per ${words(per)}`
  if (how === 'sum') return name
  const before = { mean: 'mean', different: 'different', most: 'highest', least: 'lowest' } as const
  return `${before[how]} ${name}`
}

/** Returns a name that a metric may have. */
export function metricName(choices: Choices): string {
  const name = `${tableName(choices.of)} ${choices.how === 'rows' ? 'rows' : labelOf(choices)}`
  const plain = name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_')
  return (
    plain
      .replace(/^[^a-z]+/, '')
      .replace(/_+$/, '')
      .slice(0, 60) || 'my_metric'
  )
}
