/** What anomalies judges: a column, or the ratio of two sums. */
import type { SeriesOptions } from '../../series/read.ts'
import { type MethodContext, MethodError } from '../shared/method.ts'

export interface Measured extends Omit<SeriesOptions, 'value'> {
  value?: string | undefined
  numerator?: string | undefined
  denominator?: string | undefined
}

export interface Measures extends Measured {
  by: string[]
}

/** Throws MethodError if the measure is missing or given twice. */
export function checkMeasure({ value, numerator, denominator, missing }: Measured): void {
  const ratio = numerator !== undefined || denominator !== undefined
  if (ratio === (value !== undefined))
    throw new MethodError('anomalies needs either `value`, or `numerator` and `denominator`.')
  if (ratio && (numerator === undefined || denominator === undefined))
    throw new MethodError('A ratio of sums needs both `numerator` and `denominator`.')
  if (ratio && missing === 'zero')
    throw new MethodError(
      'missing: a ratio without a denominator is unknown and never zero. Leave `missing` out.',
    )
}

/** Replaces a ratio metric by its two parts. Throws MethodError for a metric that cannot be added up. */
export function scannedOf(options: Measures, { metrics }: MethodContext): Measures {
  const [metric] = metrics
  const info = metrics.length === 1 && options.value === 'value' ? metric!.info : null
  if (info && info.adding !== 'sum' && info.adding !== 'ratio')
    throw new MethodError(
      `by: ${info.label} cannot be added up over its dimensions, so segments of several columns cannot be judged together. Name one column: by: ${options.by[0]}.`,
    )
  const parts = { value: undefined, numerator: 'numerator', denominator: 'denominator' }
  const asked = info?.adding === 'ratio' ? { ...options, ...parts } : options
  checkMeasure(asked)
  return asked
}
