/**
 * Hands a finding to drivers: the value against the expectation by which the anomaly was judged, split over the leaves
 * of its segment.
 */
import type { Cell } from '@assay/model/insight'
import { inWords } from '../../series/spans.ts'
import { type Measure, measureOf } from '../../verdicts/measure.ts'
import { both } from '../../verdicts/words.ts'
import { type Cause, causesOf } from '../drivers/causes.ts'
import type { Options as Drivers } from '../drivers/options.ts'
import type { Side, Sides } from '../drivers/sides.ts'
import { headline, restSays, whereInWords } from '../drivers/words.ts'
import type { MethodContext } from '../shared/method.ts'
import type { Measures } from './measures.ts'
import { expectRatesAt, type RateLeaves } from './rate-shares.ts'
import type { Scanned } from './scanned.ts'
import type { Segment } from './segments.ts'
import { expectAt } from './shares.ts'

export interface Point {
  value: number
  expected: number
  low: number
  high: number
}

export interface Explained {
  says: string
  causes: Cause[]
  explained: number | null
  rest: string | null
}

const Z95 = 1.959963984540054

/** Explains a finding. `step` is a step of the whole's grid; `usual` are the steps without a finding. */
export function explain(
  scanned: Scanned,
  { by, value, numerator, denominator }: Measures,
  { segment, step, point, q }: { segment: Segment; step: number; point: Point; q: number },
  usual: readonly number[],
  context: MethodContext,
): Explained {
  const { whole } = scanned
  const labels = (column: string): string => measureOf(context.meanings, column).label
  const measure = ofSegment(whole.measure, segment.where, labels)
  const time = whole.grid.times[step]!
  const after = sideOf(String(time), inWords(time, whole.grid))
  const sides: Sides = {
    before: sideOf('expected', 'what was expected'),
    after,
    per_day: false,
    doubts: [],
    history: [],
    expected: 'forecast',
    usual: both([point.low, point.high], measure, { step: (point.high - point.low) / 2 }),
    unfinished: null,
  }
  const inside = leavesIn(scanned, segment)
  const columns = by.flatMap((name, at) => (segment.codes[at] === -1 ? [{ name, at }] : []))
  const season = Math.round(whole.seasons[0]?.period ?? 1)
  const window = { usual, season: season <= MOST_SEASON ? season : 1 }
  const error = (point.high - point.low) / 2 / Z95
  const expected = { value: point.expected, error }
  const { ends, values: total } = segment
  const compared =
    columns.length === 0
      ? null
      : ends && scanned.ratio
        ? expectRatesAt({ ...inside.leaves, ends, event: scanned.event }, step, expected, window)
        : expectAt({ ...inside.leaves, total }, step, expected, window)
  if (!compared) {
    const says = headline(measure, { ...sides, parted: false }, alone(point), labels, null).headline
    return { says, causes: itself(segment, point, q), explained: null, rest: null }
  }
  const names = columns.map(({ at }) => scanned.rows.names[at]!)
  const codes = columns.map(({ at }) => Int32Array.from(inside.of, (leaf) => scanned.codes[at]![leaf]!))
  const table = { codes, names, rare: columns.map(() => -1), kept: null, n: scanned.n, ...compared.now }
  const measures: Partial<Drivers> = scanned.ratio
    ? { numerator: numerator!, denominator: denominator! }
    : { value: value! }
  const options = { ...measures, by: columns.map(({ name }) => name), depth: by.length } as Drivers
  const found = causesOf(table, options, sides, compared.history)
  // If a segment fell to nothing, all of its parts did.
  const gone = point.value === 0 && Object.keys(segment.where).length > 0
  return {
    says: headline(measure, sides, found, labels, null).headline,
    causes:
      found.causes.length === 0 || gone
        ? itself(segment, point, q)
        : found.causes.map((cause) => ({ ...cause, where: { ...segment.where, ...cause.where } })),
    explained: found.explained,
    rest: restSays(found, measure, sides.expected),
  }
}

/** Makes a segment in which no part stands out its own cause. The whole cannot be a cause. */
function itself({ where, ends }: Segment, { value, expected, low, high }: Point, q: number): Cause[] {
  if (Object.keys(where).length === 0) return []
  const change = value - expected
  const row = { before: expected, after: value, expected, change, share: change === 0 ? null : 1 }
  const kind = ends ? { kind: 'rate' as const } : {}
  return [{ where, ...kind, ...row, low: value - high, high: value - low, q }]
}

/** The longest season. A longer one has too few nearby steps at the same position. */
const MOST_SEASON = 31

const sideOf = (label: string, named: string): Side => ({ where: 'true', label, named, days: 1 })

/** Says `Revenue of country "DE"`. */
function ofSegment(
  measure: Measure,
  where: Record<string, Cell>,
  labels: (column: string) => string,
): Measure {
  if (Object.keys(where).length === 0) return measure
  return { ...measure, label: `${measure.label} of ${whereInWords({ where }, labels)}` }
}

/**
 * Returns a finding without causes, for a segment that has no parts to tell apart or of whose parts too little is
 * known.
 */
const alone = ({ value, expected }: Point) => ({
  causes: [],
  explained: null,
  rest: null,
  before: expected,
  after: value,
  error: null,
  told: false,
  in_all: false,
  cancelling: false,
  searched: 0,
  depth: 0,
})

/** Returns the leaves of a segment with new numbers. `of` is the number of each leaf in the scan. */
function leavesIn(
  scanned: Scanned,
  { codes }: Segment,
): { of: number[]; leaves: Omit<RateLeaves, 'ends' | 'event'> } {
  const of = [...scanned.codes[0]!.keys()].filter((leaf) =>
    codes.every((code, at) => code === -1 || scanned.codes[at]![leaf] === code),
  )
  const place = new Map(of.map((leaf, index) => [leaf, index]))
  const rows = [...scanned.leaf.keys()].filter(
    (row) => scanned.step[row]! >= 0 && place.has(scanned.leaf[row]!),
  )
  const { top, bottom } = scanned.rows.sums
  return {
    of,
    leaves: {
      n: of.length,
      leaf: Int32Array.from(rows, (row) => place.get(scanned.leaf[row]!)!),
      step: Int32Array.from(rows, (row) => scanned.step[row]!),
      value: Float64Array.from(rows, (row) => top[row]!),
      bottom: Float64Array.from(rows, (row) => bottom[row]!),
    },
  }
}
