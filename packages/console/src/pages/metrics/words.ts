/** What a metric is, in words. */
import type { MetricView } from '@assay/client'

export function targetText({ target, unit, fmt }: MetricView): string {
  if (target === null) return ''
  const share = fmt?.startsWith('pct')
  const value = share ? `${(target.value * 100).toLocaleString('en')} %` : target.value.toLocaleString('en')
  return [value, unit, 'per', target.per].filter(Boolean).join(' ')
}
