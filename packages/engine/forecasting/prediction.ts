/** Defines the forecast of one step ahead, and arithmetic over forecasts. */

export interface Ahead {
  /** The median. */
  value: number
  low_80: number
  high_80: number
  low_95: number
  high_95: number
}

/** A model of known values. It forecasts from their end, or from the end of more values. */
export interface Model {
  name: string
  /** Forecasts from the end of `values`, which must begin with the values that the model was fitted to. */
  ahead(values: readonly number[], horizon: number): Ahead[]
}

/**
 * Makes a forecast that computes each quantile when it is first read. A backtest reads the medians of all models, but
 * the intervals only of the chosen one.
 */
export function onDemand(of: (quantile: keyof Ahead) => number): Ahead {
  const found: Partial<Ahead> = {}
  const read = (quantile: keyof Ahead): number => (found[quantile] ??= of(quantile))
  return {
    get value() {
      return read('value')
    },
    get low_80() {
      return read('low_80')
    },
    get high_80() {
      return read('high_80')
    },
    get low_95() {
      return read('low_95')
    },
    get high_95() {
      return read('high_95')
    },
  }
}

/** Maps each quantile by `to`, which must be increasing. */
export function mapped(ahead: readonly Ahead[], to: (value: number, step: number) => number): Ahead[] {
  return ahead.map((one, step) => onDemand((quantile) => to(one[quantile], step)))
}

/** Returns the means of each quantile (Lichtendahl, Grushka-Cockayne and Winkler, Management Science 59, 2013). */
export function averaged(many: readonly Ahead[][]): Ahead[] {
  return many[0]!.map((_, step) =>
    onDemand((quantile) => many.reduce((sum, ahead) => sum + ahead[step]![quantile], 0) / many.length),
  )
}

/** Returns normal or Student quantiles around a middle. */
export function around(value: number, scale: number, quantile80: number, quantile95: number): Ahead {
  return {
    value,
    low_80: value - quantile80 * scale,
    high_80: value + quantile80 * scale,
    low_95: value - quantile95 * scale,
    high_95: value + quantile95 * scale,
  }
}

/** Returns the same middle with intervals `factor` times as wide. */
export function widened(one: Ahead, factor: number): Ahead {
  return onDemand((quantile) =>
    quantile === 'value' ? one.value : one.value + factor * (one[quantile] - one.value),
  )
}
