/** Describes a metric in words. */
import type { MetricView } from '@assay/client'
import { size } from '../../words/durations.ts'

const BETTER: Record<MetricView['good'], string> = { up: 'higher', down: 'lower', none: '' }
export const betterText = ({ good }: MetricView): string => BETTER[good]

/** The units of durations in words. */
const LONG = { d: 'day', h: 'hour', m: 'minute' }

export function testText(test: string): string {
  return test
    .replace(/^not_null: (.+)$/, '$1 is never missing')
    .replace(/^unique: (.+)$/, 'each $1 once')
    .replace(/^accepted: (.+)$/, '$1 has listed values only')
    .replace(
      /^fresh: (\d+)([dhm])$/,
      (_, count: string, unit: 'd' | 'h' | 'm') =>
        `newest row at most ${count} ${LONG[unit]}${count === '1' ? '' : 's'} old`,
    )
}

export const testsText = ({ tests }: MetricView): string => tests.map(testText).join('; ')

export function targetText({ target, unit, fmt }: MetricView): string {
  if (target === null) return ''
  const share = fmt?.startsWith('pct')
  const value = share ? `${(target.value * 100).toLocaleString('en')} %` : target.value.toLocaleString('en')
  return [value, unit, 'per', target.per].filter(Boolean).join(' ')
}

export function keptText({ kept }: MetricView): string {
  if (kept === null) return ''
  const { series, days, bytes, most_bytes } = kept
  return `${days.toLocaleString('en')} of ${series} series, ${size(bytes)} of the ${size(most_bytes)} that the workspace may take`
}
