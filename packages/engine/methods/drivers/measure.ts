/** What drivers and a scan measure, for sentences: a column, or the ratio of two. */
import { type Measure, measureOf } from '../../verdicts/measure.ts'
import type { MethodContext } from '../shared/method.ts'

interface Measured {
  value?: string | undefined
  numerator?: string | undefined
  denominator?: string | undefined
}

export const nameOf = ({ value, numerator, denominator }: Measured): string =>
  value ?? `${numerator} per ${denominator}`

export function measured(options: Measured, context: MethodContext): Measure {
  const { value, numerator, denominator } = options
  if (value !== undefined) return measureOf(context.meanings, value)
  const label = (column: string): string => measureOf(context.meanings, column).label
  const name = nameOf(options)
  const declared = context.meanings.get(name.toLowerCase())
  const parts = numerator === 'numerator' && denominator === 'denominator'
  if (parts && !declared && context.metrics.length === 1) return measureOf(context.meanings, 'value')
  const own = measureOf(context.meanings, name)
  return declared ? own : { ...own, label: `${label(numerator!)} per ${label(denominator!)}` }
}
