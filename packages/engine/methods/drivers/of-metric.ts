/** `by: all` of drivers: the dimensions of the metric that is read, and a ratio by its two parts. */
import { type MethodContext, MethodError } from '../shared/method.ts'
import type { Asked, Options } from './options.ts'

/** A sentence where the metric gives nothing to compare. Throws MethodError where it is not one metric. */
export function ofMetric({ by, ...asked }: Asked, { metrics }: MethodContext): Options | string {
  if (Array.isArray(by)) return { ...asked, by }
  const [metric] = metrics
  if (!metric || metrics.length > 1)
    throw new MethodError(
      'by: all is for one metric: read a metric block, or write "each: metric" where it has several.',
    )
  const { adding, dimensions, label } = metric.info
  if (dimensions.length === 0) return `${label} has no dimensions`
  if (adding !== 'sum' && adding !== 'ratio') return `${label} cannot be added up over its dimensions`
  const chosen = dimensions.slice(0, 10)
  if (adding === 'sum' || asked.value !== 'value') return { ...asked, by: chosen }
  const { value: _, ...rest } = asked
  return { ...rest, numerator: 'numerator', denominator: 'denominator', by: chosen }
}
