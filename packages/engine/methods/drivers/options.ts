/**
 * The options of drivers. `by: all` stands for the dimensions of the metric; a metric that is a ratio becomes its two
 * parts.
 */
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { type Measure, measureOf } from '../../verdicts/measure.ts'
import { singular } from '../../verdicts/nouns.ts'
import { type MethodContext, MethodError } from '../shared/method.ts'
import { Period } from '../shared/time/periods.ts'

export const Options = Type.Object(
  {
    value: Type.Optional(Type.String({ description: 'A number to add up.' })),
    numerator: Type.Optional(Type.String({ description: 'With `denominator`: a ratio of sums.' })),
    denominator: Type.Optional(Type.String()),
    by: Type.Array(Type.String(), { minItems: 1, maxItems: 10, uniqueItems: true }),
    time: Type.Optional(
      Type.String({ description: 'Compare the latest complete period with an earlier one.' }),
    ),
    period: Period,
    compare_with: Type.Enum(['previous', 'year_before', 'forecast'], {
      default: 'previous',
      description:
        'With `time`: the period before, the same one a year before, or what the past leads to expect.',
    }),
    missing: Type.Enum(['gap', 'zero'], {
      default: 'gap',
      description: 'With `time`: a day without a row is unknown, or zero, as of rare events.',
    }),
    split: Type.Optional(
      Type.Object(
        {
          column: Type.String(),
          before: Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
          after: Type.Union([Type.String(), Type.Number(), Type.Boolean()]),
        },
        { additionalProperties: false, description: 'Compare two groups.' },
      ),
    ),
    expected: Type.Optional(
      Type.String({ description: 'With `value`: the column of what each row was expected to be.' }),
    ),
    depth: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 10,
        description: 'How many attributes a cause may combine; all of `by`.',
      }),
    ),
  },
  { additionalProperties: false },
)
export type Options = Static<typeof Options>

/** The options as a template writes them. */
export const Asked = Type.Object(
  {
    ...Options.properties,
    by: Type.Union([Options.properties.by, Type.Enum(['all'])], {
      description: 'Columns; all: the dimensions of the metric that is read.',
    }),
  },
  { additionalProperties: false },
)
export type Asked = Static<typeof Asked>

export function checkOptions(options: Options): void {
  const { value, numerator, denominator, time, split, expected, compare_with, period } = options
  const ratio = numerator !== undefined && denominator !== undefined
  if (ratio === (value !== undefined) || (numerator === undefined) !== (denominator === undefined))
    throw new MethodError('drivers needs either `value`, or `numerator` and `denominator`.')
  if ([time, split, expected].filter((one) => one !== undefined).length !== 1)
    throw new MethodError(
      'drivers needs either `time` (two periods), `split` (two groups) or `expected` (a column of expected values).',
    )
  if (expected !== undefined && ratio)
    throw new MethodError('expected: it goes with `value`; for a ratio compare two periods or two groups.')
  if (compare_with === 'forecast' && time === undefined)
    throw new MethodError(
      'compare_with: forecast needs `time`: it learns from the periods before the latest.',
    )
  if (compare_with === 'year_before' && (time === undefined || typeof period === 'number'))
    throw new MethodError('compare_with: year_before needs `time` with dates and a calendar `period`.')
}

/**
 * Fills the options from the metric. Returns a sentence if the metric gives nothing to compare. Throws MethodError if
 * the data are not one metric.
 */
export function ofMetric({ by, ...asked }: Asked, { metrics }: MethodContext): Options | string {
  if (Array.isArray(by)) return { ...asked, by }
  const [metric] = metrics
  if (!metric || metrics.length > 1)
    throw new MethodError(
      'by: all is for one metric: read a metric block, or write "each: metric" where it has several.',
    )
  const { adding, dimensions } = metric.info
  if (dimensions.length === 0) return 'the metric names no dimensions'
  if (adding !== 'sum' && adding !== 'ratio') return 'its values cannot be added up over its dimensions'
  const chosen = dimensions.slice(0, 10)
  if (adding === 'sum' || asked.value !== 'value') return { ...asked, by: chosen }
  const { value: _, ...rest } = asked
  return { ...rest, numerator: 'numerator', denominator: 'denominator', by: chosen }
}

/** What drivers and a scan measure: a column, or the ratio of two. */
interface Measured {
  value?: string | undefined
  numerator?: string | undefined
  denominator?: string | undefined
}

export const nameOf = ({ value, numerator, denominator }: Measured): string =>
  value ?? `${numerator} per ${denominator}`

/** Returns how sentences name what is measured. */
export function measured(options: Measured, context: MethodContext): Measure {
  const { value, numerator, denominator } = options
  if (value !== undefined) return measureOf(context.meanings, value)
  const label = (column: string): string => measureOf(context.meanings, column).label
  const name = nameOf(options)
  const declared = context.meanings.get(name.toLowerCase())
  const parts = numerator === 'numerator' && denominator === 'denominator'
  if (parts && !declared && context.metrics.length === 1) return measureOf(context.meanings, 'value')
  const own = measureOf(context.meanings, name)
  return declared ? own : { ...own, label: `${label(numerator!)} per ${singular(label(denominator!))}` }
}
