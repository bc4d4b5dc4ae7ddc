/** Writes the sentences of a scan. */
import type { Cell } from '@assay/model/insight'
import type { Time } from '../../series/load.ts'
import type { ReadSeries } from '../../series/read.ts'
import { atTime } from '../../series/spans.ts'
import { measureOf } from '../../verdicts/measure.ts'
import { shareOf } from '../../verdicts/words.ts'
import { whereInWords } from '../drivers/words.ts'
import { FAR, noneOf, type Options, OUT } from '../over-time/anomaly-points.ts'
import type { MethodContext } from '../shared/method.ts'
import { count, enumeration, probability } from '../shared/sentence.ts'

interface Told {
  time: Time
  says: string
}

const MOST_TIMES = 3

/** Says "Revenue came to 80 on 3 May 2026, 20 % less than expected (100, usually 90 to 110): ...". */
export function headline(
  whole: ReadSeries,
  events: readonly Told[],
  scanned: number,
  options: Options,
): string {
  const { measure, grid, diagnosis } = whole
  const [first, ...others] = events
  if (!first) {
    const parts = scanned === 1 ? '' : `, neither of the whole nor of its ${count(scanned - 1, 'segment')}`
    const shift = diagnosis.level_shifts.at(-1)
    const level = shift ? `; its level seems to have changed ${atTime(shift.time, grid)}` : ''
    const out = options.at_least === undefined ? OUT : FAR
    return `${noneOf(measure.label, options, out)}${parts}${level}.`
  }
  if (others.length === 0) return first.says
  const named = new Set(others.slice(0, MOST_TIMES).map(({ time }) => time))
  const times = grid.times.filter((time) => named.has(time)).map((time) => atTime(time, grid))
  const more = others.length - times.length
  const also = enumeration(more > 0 ? [...times, more === 1 ? 'once more' : `${more} more times`] : times)
  return `${first.says} Something stands out ${also}, too.`
}

/** Says "At the same time country "US" and channel "free" was 110 % above what was expected." */
export function alsoInWords(
  { where, value, expected }: { where: Record<string, Cell>; value: number | null; expected: number | null },
  { meanings }: MethodContext,
): string {
  const part = whereInWords({ where }, (column) => measureOf(meanings, column).label)
  const change = (value ?? 0) - (expected ?? 0)
  const size = expected !== null && expected > 0 ? `${shareOf(change / expected)} ` : ''
  return `At the same time ${part} was ${size}${change > 0 ? 'above' : 'below'} what was expected.`
}

export function evidence(
  findings: number,
  scanned: number,
  { series }: ReadSeries,
  p: number | null,
): string {
  const all = `${count(findings, 'value')} beyond what is usual in ${count(scanned, 'series', 'series')} of ${count(series.values.length, 'time')}`
  return `${all} (by its own tails and by those of all${p === null ? '' : `, ${probability(p)}`}).`
}
