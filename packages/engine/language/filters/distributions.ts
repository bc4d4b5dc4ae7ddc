/**
 * Filters of normal, t, F and chi-square distributions. `..._cdf` gives the probability of at most the value,
 * `..._quantile` the value of a probability. `tail: "upper"` takes the other side and keeps its digits far out. Null
 * stays null. The functions are those of numeric/distributions.ts, tested to 12 digits (docs/accuracy.md).
 */
import {
  chiSquareLower,
  chiSquareQuantile,
  chiSquareUpper,
  fLower,
  fQuantile,
  fUpper,
  normalLower,
  normalQuantile,
  normalUpper,
  normalUpperQuantile,
  studentLower,
  studentQuantile,
  studentUpper,
  studentUpperQuantile,
} from '../../numeric/distributions.ts'
import { ValueError } from '../../values/value.ts'
import { type Filter, numeric, shown } from './filter.ts'

type Tail = (x: number, parameters: readonly number[]) => number

interface Distribution {
  /** The names of its parameters, which are all positive. */
  parameters: readonly string[]
  lower: Tail
  upper: Tail
  quantile: Tail
  upperQuantile: Tail
}

const DISTRIBUTIONS: Record<string, Distribution> = {
  normal: {
    parameters: [],
    lower: normalLower,
    upper: normalUpper,
    quantile: normalQuantile,
    upperQuantile: normalUpperQuantile,
  },
  t: {
    parameters: ['df'],
    lower: (x, [df]) => studentLower(x, df!),
    upper: (x, [df]) => studentUpper(x, df!),
    quantile: (p, [df]) => studentQuantile(p, df!),
    upperQuantile: (p, [df]) => studentUpperQuantile(p, df!),
  },
  f: {
    parameters: ['df1', 'df2'],
    lower: (x, [df1, df2]) => fLower(x, df1!, df2!),
    upper: (x, [df1, df2]) => fUpper(x, df1!, df2!),
    quantile: (p, [df1, df2]) => fQuantile(p, df1!, df2!),
    upperQuantile: (p, [df1, df2]) => fQuantile(1 - p, df1!, df2!, p),
  },
  chi_square: {
    parameters: ['df'],
    lower: (x, [df]) => (x <= 0 ? 0 : chiSquareLower(x, df!)),
    upper: (x, [df]) => (x <= 0 ? 1 : chiSquareUpper(x, df!)),
    quantile: (p, [df]) => chiSquareQuantile(p, df!),
    upperQuantile: (p, [df]) => chiSquareQuantile(1 - p, df!, p),
  },
}

function filterOf(name: string, distribution: Distribution, quantile: boolean): Filter {
  const { parameters } = distribution
  const written = `${name}${parameters.length === 0 ? '' : `: ${parameters.join(', ')}`}`
  return (value, args, { named }) => {
    if (value === null || value === undefined) return null
    const x = Number(numeric(value, name))
    if (args.length !== parameters.length)
      throw new ValueError(
        `${name} takes ${parameters.length === 0 ? 'no argument' : parameters.join(' and ')} after its name, not ${args.length}.`,
        `Write ${written}.`,
      )
    const given = args.map((arg) => Number(numeric(arg, name)))
    if (given.some((one) => !(one > 0)))
      throw new ValueError(`${name}: ${parameters.join(' and ')} must be above 0.`, `Write ${written}.`)
    const tail = named.get('tail') ?? 'lower'
    if (tail !== 'lower' && tail !== 'upper')
      throw new ValueError(`${name}: tail is "lower" or "upper", not ${shown(tail)}.`, 'Write tail: "upper".')
    if (quantile && !(x >= 0 && x <= 1))
      throw new ValueError(
        `${name} needs a chance from 0 to 1, not ${shown(value)}.`,
        'Divide a percentage by 100.',
      )
    const { lower, upper, quantile: from, upperQuantile } = distribution
    const compute = quantile ? (tail === 'upper' ? upperQuantile : from) : tail === 'upper' ? upper : lower
    const result = compute(x, given)
    return Number.isNaN(result) ? null : result
  }
}

export const DISTRIBUTION_FILTERS: Record<string, Filter> = Object.fromEntries(
  Object.entries(DISTRIBUTIONS).flatMap(([name, distribution]) =>
    [false, true].map((quantile) => {
      const filter = `${name}_${quantile ? 'quantile' : 'cdf'}`
      return [filter, filterOf(filter, distribution, quantile)] as const
    }),
  ),
)

/** The arguments of each filter after its name, for `assay check`. */
export const DISTRIBUTION_ARGUMENTS: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(DISTRIBUTIONS).flatMap(([name, { parameters }]) =>
    ['cdf', 'quantile'].map((kind) => [`${name}_${kind}`, parameters] as const),
  ),
)
