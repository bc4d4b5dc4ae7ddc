/** What a model says of one step ahead, and arithmetic over it. */

export interface Ahead {
  /** The middle: half of the chance on either side. */
  value: number
  low_80: number
  high_80: number
  low_95: number
  high_95: number
}

/** A model of known values that forecasts from the end of them or of more of them. */
export interface Model {
  name: string
  /** From the end of `values`, which begin as those that the model was fitted to. */
  ahead(values: readonly number[], horizon: number): Ahead[]
}

const FIELDS = ['value', 'low_80', 'high_80', 'low_95', 'high_95'] as const

/** Each quantile by itself through `to`, which must rise. */
export function mapped(ahead: readonly Ahead[], to: (value: number, step: number) => number): Ahead[] {
  return ahead.map((one, step) => {
    const next = { ...one }
    for (const field of FIELDS) next[field] = to(one[field], step)
    return next
  })
}

/** The means of each quantile (Lichtendahl, Grushka-Cockayne and Winkler, Management Science 59, 2013). */
export function averaged(many: readonly Ahead[][]): Ahead[] {
  return many[0]!.map((first, step) => {
    const mean = { ...first }
    for (const field of FIELDS)
      mean[field] = many.reduce((sum, ahead) => sum + ahead[step]![field], 0) / many.length
    return mean
  })
}

/** Normal or Student quantiles about a middle. */
export function around(value: number, scale: number, quantile80: number, quantile95: number): Ahead {
  return {
    value,
    low_80: value - quantile80 * scale,
    high_80: value + quantile80 * scale,
    low_95: value - quantile95 * scale,
    high_95: value + quantile95 * scale,
  }
}

/** The same middle with intervals `factor` times as wide. */
export function widened(one: Ahead, factor: number): Ahead {
  const from = (bound: number): number => one.value + factor * (bound - one.value)
  return {
    value: one.value,
    low_80: from(one.low_80),
    high_80: from(one.high_80),
    low_95: from(one.low_95),
    high_95: from(one.high_95),
  }
}
