/** The options of `plan`. */
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { MethodError } from '../shared/method.ts'

export const PlanOptions = Type.Object(
  {
    unit: Type.String({
      description: 'Who will be drawn, such as a user. Rows of one unit are one observation.',
    }),
    time: Type.Optional(
      Type.String({
        description: 'A date, a timestamp or a number of days: a unit counts on the day of its first row.',
      }),
    ),
    value: Type.Optional(
      Type.String({ description: "A number column; a unit's value is the mean of its rows." }),
    ),
    aggregate: Type.Optional(
      Type.Enum(['mean', 'sum'], { description: "`sum`: a unit's value is the sum of its rows." }),
    ),
    success: Type.Optional(Type.String({ description: 'True or false, or 1 or 0: the measure is a share.' })),
    numerator: Type.Optional(Type.String({ description: 'For a ratio: the sum of this column ...' })),
    denominator: Type.Optional(Type.String({ description: '... over the sum of this one.' })),
    minimum_effect: Type.Optional(
      Type.Number({
        description:
          'The smallest difference that must be found, in the unit of the measure; below 0 for a fall.',
      }),
    ),
    lift: Type.Optional(
      Type.Number({
        description: 'The same as a share of the value now: 0.05 is 5 %.',
      }),
    ),
    margin: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0,
        description: 'In its place, the loss that must be excluded if nothing changes.',
      }),
    ),
    arms: Type.Integer({
      minimum: 1,
      maximum: 49,
      default: 1,
      description: 'Arms beside the control; all groups have the same size unless `shares` says otherwise.',
    }),
    shares: Type.Optional(
      Type.Array(Type.Number({ exclusiveMinimum: 0, exclusiveMaximum: 1 }), {
        minItems: 2,
        maxItems: 50,
        description: 'The share of each group, the control first, such as [0.8, 0.2]; in place of `arms`.',
      }),
    ),
    covariate: Type.Optional(
      Type.String({
        description: 'The same measure of the unit before; the experiment will take its noise away (CUPED).',
      }),
    ),
    winsorise: Type.Optional(
      Type.Number({
        exclusiveMinimum: 0.5,
        exclusiveMaximum: 1,
        description: 'Units above this quantile of all units count with its value, such as 0.99.',
      }),
    ),
    looks: Type.Enum(['fixed', 'sequential'], {
      default: 'fixed',
      description: '`sequential`: the experiment may be looked at as often as wanted.',
    }),
    tuned_for: Type.Optional(
      Type.Integer({
        minimum: 10,
        maximum: 1_000_000_000,
        description:
          'Under `sequential`: the units of an arm and the control together at which the interval is narrowest (5,000).',
      }),
    ),
    power: Type.Number({
      exclusiveMinimum: 0,
      exclusiveMaximum: 1,
      default: 0.8,
      description: 'The chance to find the difference if it is there.',
    }),
    confidence: Type.Number({ exclusiveMinimum: 0.5, exclusiveMaximum: 1, default: 0.95 }),
  },
  { additionalProperties: false },
)
export type PlanOptions = Static<typeof PlanOptions>

/** The groups of options of which exactly one is given. */
export const EITHER = [
  [['value'], ['success'], ['numerator', 'denominator']],
  [['minimum_effect'], ['lift'], ['margin']],
]

/** Throws MethodError if the measure or the difference is missing or given twice. */
export function checkPlan(given: PlanOptions): void {
  const { value, success, numerator, denominator, minimum_effect, lift, margin } = given
  const measures = [value, success, numerator ?? denominator].filter((name) => name !== undefined)
  if (measures.length !== 1 || (numerator === undefined) !== (denominator === undefined))
    throw new MethodError(
      'plan needs one measure: `value`, a number column; or `success`, a boolean or 0/1 column; or `numerator` and `denominator`.',
    )
  const differences = [minimum_effect, lift, margin].filter((size) => size !== undefined)
  if (differences.length !== 1 || differences[0] === 0)
    throw new MethodError(
      'plan needs the smallest difference that matters, and it is not 0: `minimum_effect: 0.5` in the unit of the measure, or `lift: 0.05` of its value now; or `margin: 0.5`, the loss that must be excluded.',
    )
  checkShares(given)
  if (given.aggregate !== undefined && numerator !== undefined)
    throw new MethodError('aggregate: a ratio is one of sums. Leave it out.')
  if (given.tuned_for !== undefined && given.looks === 'fixed')
    throw new MethodError('tuned_for belongs to `looks: sequential`: write that, or leave tuned_for out.')
}

function checkShares({ shares, arms }: PlanOptions): void {
  if (!shares) return
  const sum = shares.reduce((all, share) => all + share, 0)
  if (Math.abs(sum - 1) > 1e-6)
    throw new MethodError(
      `shares: they add up to ${+sum.toPrecision(6)}, not to 1. Write the control first: [0.8, 0.2].`,
    )
  if (arms !== 1 && arms !== shares.length - 1)
    throw new MethodError(
      `shares: there are ${shares.length - 1} beside the control, and arms is ${arms}. Leave \`arms\` out.`,
    )
}
