/** What a metric is, in words. */
import type { MetricView } from '@assay/client'

export function targetText({ target, unit }: MetricView): string {
  return target === null ? '' : `${target.value.toLocaleString('en')} ${unit ?? ''} per ${target.per}`
}
