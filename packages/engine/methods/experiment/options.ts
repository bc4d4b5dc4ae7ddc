/** The options of `experiment`. */
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { MethodError } from '../shared/method.ts'
import { Shares } from '../shared/split.ts'

const MetricOption = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    value: Type.Optional(
      Type.String({ description: "A number column; a unit's value is the mean of its rows." }),
    ),
    aggregate: Type.Optional(
      Type.Enum(['mean', 'sum'], { description: "`sum`: a unit's value is the sum of its rows." }),
    ),
    numerator: Type.Optional(Type.String({ description: 'For a ratio: the sum of this column ...' })),
    denominator: Type.Optional(Type.String({ description: '... over the sum of this one.' })),
    good: Type.Optional(Type.Enum(['up', 'down', 'none'])),
    primary: Type.Optional(
      Type.Boolean({
        description: 'What the experiment decides by. The first metric, unless any is marked.',
      }),
    ),
    minimum_effect: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, description: 'The smallest difference that matters.' }),
    ),
    margin: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        description: 'Asks whether the arm is not worse than the control by more than this; needs `good`.',
      }),
    ),
    winsorise: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0.5,
        exclusiveMaximum: 1,
        description: 'Units above this quantile of all units count with its value, such as 0.99.',
      }),
    ),
    covariate: Type.Optional(
      Type.String({
        description: 'The same measure of the unit before the start; it takes noise away (CUPED).',
      }),
    ),
  },
  { additionalProperties: false },
)
export type Metric = Static<typeof MetricOption>

export const ExperimentOptions = Type.Object(
  {
    unit: Type.String({
      description: 'Who was drawn, such as a user. Rows of one unit are one observation.',
    }),
    arm: Type.String({ description: 'The column that names the arm.' }),
    control: Type.Optional(Type.String({ description: 'The arm that the others are compared with.' })),
    planned: Type.Optional(Type.Union([Shares, Type.Literal('none')])),
    metrics: Type.Array(MetricOption, { minItems: 1, maxItems: 20 }),
    looks: Type.Enum(['fixed', 'sequential'], {
      default: 'fixed',
      description: '`sequential`: the result holds however often it is looked at.',
    }),
    tuned_for: Type.Optional(
      Type.Integer({
        minimum: 10,
        maximum: 1_000_000_000,
        description:
          'Under `sequential`: the units of an arm and the control together at which the interval is narrowest (5,000).',
      }),
    ),
    time: Type.Optional(
      Type.String({
        description:
          "A date, a timestamp or a number of days, to tell the days left from each unit's first row.",
      }),
    ),
    confidence: Type.Number({ exclusiveMinimum: 0.5, exclusiveMaximum: 1, default: 0.95 }),
  },
  { additionalProperties: false },
)
export type ExperimentOptions = Static<typeof ExperimentOptions>

/** Returns the columns that the metrics name. */
export function metricColumns(metrics: readonly Metric[]): string[] {
  return metrics.flatMap(({ value, numerator, denominator, covariate }) =>
    [value, numerator, denominator, covariate].filter((name) => name !== undefined),
  )
}

/**
 * Throws MethodError if a metric is neither a value nor a ratio or asks two questions, or if two metrics have one name.
 */
export function checkMetrics(metrics: readonly Metric[]): void {
  const names = new Set<string>()
  for (const { name, value, numerator, denominator, margin, minimum_effect } of metrics) {
    if (names.has(name)) throw new MethodError(`metrics: two metrics have the name "${name}".`)
    if (margin !== undefined && minimum_effect !== undefined)
      throw new MethodError(
        `metrics: "${name}" asks either for a difference (\`minimum_effect\`) or for no loss (\`margin\`): leave one out.`,
      )
    names.add(name)
    const ratio = numerator !== undefined && denominator !== undefined
    const half = (numerator === undefined) !== (denominator === undefined)
    if (half || ratio === (value !== undefined))
      throw new MethodError(
        `metrics: "${name}" needs either \`value\`, or \`numerator\` and \`denominator\`.`,
      )
  }
}
