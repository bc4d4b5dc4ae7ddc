/**
 * Finds values of a series that stand out from what the others lead one to expect. Beside its line, seasons and levels,
 * each value is compared with its neighbours on both sides (level-and-noise.ts). On three scales (plain, root and
 * logarithm) the residuals are judged by their own tails (tails.ts), and the scales are weighted by their likelihood.
 *
 * Groups of the farthest one, two, three, ... values are judged; the first takes 0.7 of alpha, the others share the
 * rest (as 1, 1/4, 1/9, ...), so that the chance of any false alarm is alpha. Tests that assume normal values raise a
 * false alarm in 91 to 99 % of log-normal series.
 */
import { gammaTails } from '../../numeric/gamma.ts'
import { centreOf } from '../persistence/centre.ts'
import { persistentFits } from '../persistence/persistent-fits.ts'
import { noiseBySize, type Sizes } from './by-size.ts'
import { fitLevelNoise, residualsOf } from './level-and-noise.ts'
import { medianOf, type Tails, tailsOf } from './tails.ts'

export interface Spike {
  /** The position in the values. */
  index: number
  expected: number
  /** The range in which 95 of 100 usual values lie. */
  low: number
  high: number
  /** The distance from the expectation in standard deviations of usual values; negative below. */
  score: number
  /** The chance of such a group of values if none stands out, after the search. */
  p: number
}

export interface Spikes {
  /** The values that stand out, the farthest first. */
  spikes: Spike[]
  /** The farthest values, whether they stand out or not. */
  farthest: Spike[]
  /** The scale on which the residuals are likeliest. */
  scale: 'plain' | 'root' | 'logarithm'
  /** The residuals on that scale, and their tails; null if most values are equal. */
  residuals: Residuals | null
  tails: Tails | null
}

export interface Residuals {
  standardised: Float64Array
  /** The same as `standardised`, for values one step nearer to their expectation. */
  lenient: Float64Array
  /** The expectation of each value, on the scale of the values. */
  expected: Float64Array
}

interface Beside {
  aside?: ReadonlyMap<number, number>
  sizes?: Sizes | null
}

interface Scale {
  name: Spikes['scale']
  to(value: number): number
  back(value: number): number
  /** Returns the log of the derivative of `to`. */
  slope(value: number): number
}

interface View extends Residuals {
  scale: Scale
  /** The values on the scale. */
  values: readonly number[]
  spread: Float64Array
  /** The residuals from the line, seasons and levels, on the scale. */
  rest: Float64Array
  /** The log of the change of likelihood by the scale. */
  jacobian: number
}

const ROUNDS = 6
const NEAR_FARTHEST = 0.6
/**
 * The distance, in median deviations scaled to standard deviations, from which a value does not shape the expectation
 * of others.
 */
const SUSPICIOUS = 4
const FIRST_SHARE = 0.7
/**
 * The factor of caution. By measurement, 5 % of series with 3 degrees of freedom show a false one at 5 % stated, and
 * fewer of all others.
 */
const CAUTION = 1.6
/** The number of groups that are tried beyond the last one that stood out. */
const BEYOND = 8
const FARTHEST = 5
/** The least jump of a value from its neighbours, as a share of its distance from the expectation. */
const LEAP = 0.25
const MOST_SCORE = 1e6
/**
 * For series in which most values are equal: the share of others that counts as few, and the fewest others that are
 * judged among themselves.
 */
const FEW = 0.01
const LEAST_OTHERS = 10
/** A distance below this share of the values is rounding. */
const ROUNDING = 1e-9
const Z95 = 1.959963984540054

const residualsOn = ({ standardised, lenient, expected, scale }: View): Residuals => ({
  standardised,
  lenient,
  expected: expected.map(scale.back),
})

/**
 * Finds the values that stand out. `rows` are the steps of the values, ascending. `beside` are columns that explain the
 * series (seasons, levels), without a constant and a line. At most `most` values are found, and the chance of any false
 * one is `alpha`. Values `aside`, with their chances, neither shape the expectation of others nor are judged. Those
 * beyond the usual are returned. `sizes` are the denominators of ratios, whose noise depends on them.
 */
export function findSpikes(
  values: readonly number[],
  rows: readonly number[],
  beside: readonly (readonly number[])[],
  most: number,
  alpha: number,
  { aside = new Map(), sizes = null }: Beside = {},
): Spikes {
  const usual = commonest(values)
  if (usual !== null) return besideOne(values, usual, most, alpha)
  const views = scalesOf(values, sizes).map((scale) => viewOf(values, rows, beside, scale, { aside, sizes }))
  if (aside.size === 0) return judgeViews(views, most, alpha)
  const kept = [...values.keys()].filter((index) => !aside.has(index))
  const pick = (all: Float64Array): Float64Array => Float64Array.from(kept, (index) => all[index]!)
  const judged = judgeViews(
    views.map((view) => ({
      ...view,
      values: kept.map((index) => view.values[index]!),
      standardised: pick(view.standardised),
      lenient: pick(view.lenient),
      expected: pick(view.expected),
      spread: pick(view.spread),
      rest: pick(view.rest),
    })),
    most,
    alpha,
  )
  const placed = (spike: Spike): Spike => ({ ...spike, index: kept[spike.index]! })
  const view = views.find(({ scale }) => scale.name === judged.scale)!
  const known = [...aside]
    .map(([index, p]) => spikeOf(view, judged.tails!, index, p))
    .filter(({ score }) => Math.abs(score) > Z95)
  const farFirst = (all: Spike[]): Spike[] => all.toSorted((a, b) => Math.abs(b.score) - Math.abs(a.score))
  return {
    ...judged,
    spikes: farFirst([...judged.spikes.map(placed), ...known]),
    farthest: farFirst([...judged.farthest.map(placed), ...known]),
    residuals: residualsOn(view),
  }
}

/**
 * Judges the residuals of several series as one set, each over its own median deviation, so that all series show the
 * tails together. Returns, for a position in one of them, the chance of any value as far out in all series if none
 * stands out.
 */
export function judgeTogether(
  series: readonly Residuals[],
  most: number,
  alpha: number,
): (index: number, at: number) => number {
  const scales = series.map(({ standardised }) => {
    const center = medianOf(standardised)
    return { center, spread: 1.4826 * medianOf(standardised.map((value) => Math.abs(value - center))) || 1 }
  })
  const joined = (name: 'standardised' | 'lenient'): Float64Array =>
    Float64Array.from(
      series.flatMap((one, index) =>
        [...one[name]].map((value) => (value - scales[index]!.center) / scales[index]!.spread),
      ),
    )
  const view = { standardised: joined('standardised'), lenient: joined('lenient'), jacobian: 0 }
  const distance = view.standardised.map(Math.abs)
  const order = [...distance.keys()].toSorted((i, j) => distance[j]! - distance[i]! || i - j)
  const { chances } = judgeGroups([view], order, most, alpha)
  const chance = new Map(chances.map((p, rank) => [order[rank]!, p]))
  const starts = series.map((_, index) =>
    series.slice(0, index).reduce((sum, one) => sum + one.standardised.length, 0),
  )
  return (index, at) => chance.get(starts[index]! + at) ?? 1
}

function judgeViews(views: readonly View[], most: number, alpha: number): Spikes {
  const none = new Set<number>()
  const likeliest = views
    .map((view) => ({ view, likelihood: tailsOf(view.standardised, none).likelihood + view.jacobian }))
    .reduce((best, one) => (one.likelihood > best.likelihood ? one : best)).view
  const center = medianOf(likeliest.standardised)
  const distance = likeliest.standardised.map((value) => Math.abs(value - center))
  const order = [...distance.keys()].toSorted((i, j) => distance[j]! - distance[i]! || i - j)
  const { last, chances } = judgeGroups(views, order, most, alpha)
  const tails = tailsOf(likeliest.standardised, new Set(order.slice(0, last)))
  const ranked = chances.map((p, rank) => spikeOf(likeliest, tails, order[rank]!, p))
  const far = new Set(order.slice(0, last))
  return {
    spikes: ranked.slice(0, last).filter(({ index }) => leapsOut(likeliest, index, far)),
    farthest: ranked.slice(0, Math.max(last, FARTHEST)),
    scale: likeliest.scale.name,
    residuals: residualsOn(likeliest),
    tails,
  }
}

/**
 * Tells whether a value, with the far ones beside it, jumps away from its neighbours. A curve that no root or logarithm
 * makes straight also lies far from its expectation near its ends, but it gets there in steps of similar size.
 */
function leapsOut({ rest, values, expected }: View, index: number, far: ReadonlySet<number>): boolean {
  const gap = (at: number): number => values[at]! - expected[at]!
  let [first, last] = [index, index]
  while (far.has(first - 1)) first -= 1
  while (far.has(last + 1)) last += 1
  let most = 0
  for (let at = first; at <= last; at++) most = Math.max(most, Math.abs(gap(at)))
  const bend = (at: number, way: 1 | -1): number =>
    Math.abs(rest[at]! - 2 * (rest[at + way] ?? Number.NaN) + (rest[at + 2 * way] ?? Number.NaN))
  const bends = [bend(first, -1), bend(last, 1)].filter((one) => !Number.isNaN(one))
  return bends.length === 0 || bends.some((one) => one >= LEAP * most)
}

/** Returns the value that more than half of the values have, or null if there is none. */
function commonest(values: readonly number[]): number | null {
  const middle = medianOf(values)
  return 2 * values.filter((value) => value === middle).length > values.length ? middle : null
}

/**
 * Judges series in which most values are equal. The other values are judged among themselves. If they are few, each
 * stands out because it differs, unless they are counts as rare as random events (Poisson).
 */
function besideOne(values: readonly number[], usual: number, most: number, alpha: number): Spikes {
  const n = values.length
  const others = [...values.keys()].filter((index) => values[index] !== usual)
  const few = others.length <= Math.max(1, n * FEW)
  if (!few && others.length >= LEAST_OTHERS) {
    const own = others.map((index) => values[index]!)
    const rows = own.map((_, row) => row)
    const views = scalesOf(own).map((scale) =>
      viewOf(own, rows, [], scale, { aside: new Map(), sizes: null }),
    )
    const { spikes, farthest, scale } = judgeViews(views, Math.min(most, Math.floor(own.length / 10)), alpha)
    // The value that most of them have is usual as well.
    const placed = (found: Spike[]): Spike[] =>
      found.map((spike) => ({
        ...spike,
        index: others[spike.index]!,
        low: Math.min(usual, spike.low),
        high: Math.max(usual, spike.high),
      }))
    return { spikes: placed(spikes), farthest: placed(farthest), scale, residuals: null, tails: null }
  }
  const p = (index: number): number => Math.max(others.length / n, rarity(values, values[index]!))
  const found = few ? others.filter((index) => p(index) <= alpha) : []
  const spikes = found.slice(0, most).map((index): Spike => {
    const score = Math.sign(values[index]! - usual) * MOST_SCORE
    return { index, expected: usual, low: usual, high: usual, score, p: p(index) }
  })
  return { spikes, farthest: spikes, scale: 'plain', residuals: null, tails: null }
}

/** Returns the chance that one of the counts is as large, by their mean; 0 for values that are no counts. */
function rarity(values: readonly number[], value: number): number {
  if (!values.every((one) => one >= 0 && Number.isInteger(one))) return 0
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length
  // P(X >= k) of a Poisson variable is the lower tail of a gamma variable with shape k.
  const beyond = value > 0 ? gammaTails(value, mean).lower : 1
  return -Math.expm1(values.length * Math.log1p(-Math.min(beyond, 1 - 1e-16)))
}

/** The p of each value, the farthest first, and how many of them stand out. */
type Judged = Omit<Residuals, 'expected'> & { jacobian: number }

function judgeGroups(
  views: readonly Judged[],
  order: readonly number[],
  most: number,
  alpha: number,
): { last: number; chances: number[] } {
  const chances: number[] = []
  let last = 0
  for (let size = 1; size <= Math.min(most, last + BEYOND); size++) {
    const share = size === 1 ? FIRST_SHARE : ((1 - FIRST_SHARE) * 6) / (Math.PI * (size - 1)) ** 2
    const p = Math.min(1, (CAUTION * chanceOf(views, new Set(order.slice(0, size)))) / share)
    chances.push(p)
    if (p <= alpha) last = size
  }
  // A value is as sure as the surest group that holds it.
  for (let rank = last - 2; rank >= 0; rank--) chances[rank] = Math.min(chances[rank]!, chances[rank + 1]!)
  return { last, chances }
}

function chanceOf(views: readonly Judged[], out: ReadonlySet<number>): number {
  const judged = views.map((view) => {
    const { p, likelihood } = tailsOf(view.standardised, out, view.lenient)
    return { p, likelihood: likelihood + view.jacobian }
  })
  const best = Math.max(...judged.map(({ likelihood }) => likelihood))
  let whole = 0
  let sum = 0
  for (const { p, likelihood } of judged) {
    const weight = Math.exp(likelihood - best)
    whole += weight
    sum += weight * p
  }
  return sum / whole
}

function spikeOf({ scale, values, expected, spread }: View, tails: Tails, index: number, p: number): Spike {
  const unit = spread[index]!
  const middle = expected[index]! + tails.center * unit
  const gap = values[index]! - middle
  const half = (gap < 0 ? tails.below : tails.above) * unit
  return {
    index,
    expected: scale.back(middle),
    low: scale.back(middle - tails.below * unit),
    high: scale.back(middle + tails.above * unit),
    score:
      half > 0
        ? Math.max(-MOST_SCORE, Math.min(MOST_SCORE, (gap / half) * Z95))
        : Math.sign(gap) * MOST_SCORE,
    p,
  }
}

function scalesOf(values: readonly number[], sizes: Sizes | null = null): Scale[] {
  const centre = centreOf(values)
  const plain: Scale = { name: 'plain', to: (y) => y - centre, back: (z) => z + centre, slope: () => 0 }
  if (sizes) return [plain]
  // A root and a logarithm are nearly straight lines this far from zero.
  if (centre !== 0) return [plain]
  const least = values.reduce((low, value) => Math.min(low, value), Number.POSITIVE_INFINITY)
  const whole = values.every((value) => Number.isInteger(value))
  if (least < 0 || (least === 0 && !whole)) return [plain]
  // Counts take Anscombe's root (Biometrika 35, 1948).
  const shift = whole ? 3 / 8 : 0
  const root: Scale = {
    name: 'root',
    to: (y) => Math.sqrt(y + shift),
    back: (z) => Math.max(0, Math.max(0, z) ** 2 - shift),
    slope: (y) => -Math.log(2) - 0.5 * Math.log(y + shift),
  }
  const logarithm: Scale = { name: 'logarithm', to: Math.log, back: Math.exp, slope: (y) => -Math.log(y) }
  return least > 0 ? [plain, root, logarithm] : [plain, root]
}

/**
 * Computes the expectation of each value on a scale: by line and `beside` at the likeliest persistence, then by its
 * neighbours. Values that stand far out shape neither.
 */
function viewOf(
  values: readonly number[],
  rows: readonly number[],
  beside: readonly (readonly number[])[],
  scale: Scale,
  { aside, sizes }: Required<Beside>,
): View {
  const y = values.map(scale.to)
  const first = rows[0]!
  const length = rows.at(-1)! - first + 1
  const ramp = rows.map((row) => (row - first) / (length - 1 || 1) - 0.5)
  const columns = [y.map(() => 1), ramp, ...beside]
  const clean = y.slice()
  const seen = new Uint8Array(length)
  for (const [at, row] of rows.entries()) if (!aside.has(at)) seen[row - first] = 1
  for (let round = 1; ; round++) {
    const base = explained(clean, columns)
    const rest = new Float64Array(length)
    for (const [at, row] of rows.entries()) rest[row - first] = y[at]! - base[at]!
    const residuals = residualsOf(rest, seen, fitLevelNoise(rest, seen))
    const expected = Float64Array.from(rows, (row, at) => base[at]! + residuals.expected[row - first]!)
    const even = Float64Array.from(rows, (row) => residuals.spread[row - first]!)
    const own =
      sizes &&
      noiseBySize(
        even.map((one, at) => (y[at]! - expected[at]!) / one),
        sizes,
      )
    const spread = own ? even.map((one, at) => one * own[at]!) : even
    const rounding = ROUNDING * y.reduce((size, value) => Math.max(size, Math.abs(value)), 0)
    const standardised = expected.map((value, at) =>
      Math.abs(y[at]! - value) <= rounding ? 0 : (y[at]! - value) / spread[at]!,
    )
    if (round >= ROUNDS) {
      const jacobian = values.reduce((sum, value) => sum + scale.slope(value), 0)
      const step = resolutionOf(values)
      const lenient = values.map((value, at) => {
        const sign = Math.sign(standardised[at]!)
        const one = sizes ? (sizes.event ?? 0) / sizes.denominators[at]! : step
        const nearer = (scale.to(value - sign * one) - expected[at]!) / spread[at]!
        return sign * nearer > 0 ? nearer : 0
      })
      return {
        scale,
        values: y,
        standardised,
        lenient: Float64Array.from(lenient),
        expected,
        spread,
        rest: Float64Array.from(y, (value, at) => value - base[at]!),
        jacobian,
      }
    }
    const changed = setAside(standardised, seen, rows, aside)
    for (const [at, row] of rows.entries()) clean[at] = seen[row - first] ? y[at]! : expected[at]!
    if (!changed) round = ROUNDS - 1
  }
}

/**
 * Marks the farthest values as not seen, and values that are no longer far as seen. Only values near the farthest of
 * all are marked: it may have moved the season away from others, which fit again once it is set aside. Returns false if
 * nothing changes.
 */
function setAside(
  standardised: Float64Array,
  seen: Uint8Array,
  rows: readonly number[],
  known: ReadonlyMap<number, number>,
): boolean {
  const first = rows[0]!
  const sizes = standardised.map(Math.abs)
  const far = SUSPICIOUS * 1.4826 * medianOf(sizes)
  let most = 0
  for (const [at, row] of rows.entries()) if (seen[row - first]) most = Math.max(most, sizes[at]!)
  let changed = false
  for (const [at, row] of rows.entries()) {
    const aside = seen[row - first] ? sizes[at]! > Math.max(far, NEAR_FARTHEST * most) : sizes[at]! > far
    if (!known.has(at) && aside === (seen[row - first] === 1)) {
      seen[row - first] = aside ? 0 : 1
      changed = true
    }
  }
  return changed
}

/** Returns the smallest difference between values, which is 1 for counts. */
function resolutionOf(values: readonly number[]): number {
  const sorted = Float64Array.from(values).toSorted()
  let least = Number.POSITIVE_INFINITY
  for (let row = 1; row < sorted.length; row++) {
    const gap = sorted[row]! - sorted[row - 1]!
    if (gap > 0 && gap < least) least = gap
  }
  return Number.isFinite(least) ? least : 0
}

function explained(y: readonly number[], columns: readonly (readonly number[])[]): number[] {
  const fits = persistentFits(y, columns)
  if (fits.length === 0) return y.map(() => medianOf(y))
  const { coefficients } = fits.reduce((best, fit) => (fit.restricted > best.restricted ? fit : best))
  return y.map((_, row) =>
    columns.reduce((sum, column, place) => sum + column[row]! * coefficients[place]!, 0),
  )
}
