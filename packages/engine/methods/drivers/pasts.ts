/** Holds the pasts of leaves in groups that are dense enough for a diagnosis, and forecasts a period from them. */
import type { Calendar } from './counted-days.ts'
import { emptySums, type LeafRows, SUM_NAMES, type Sums } from './leaf-rows.ts'
import { leavesOf } from './leaves.ts'
import { type Next, oneAhead } from './one-ahead.ts'
import type { Options } from './options.ts'

export interface Expected {
  before: Sums
  after: Sums
  /** The variance of each leaf around what was expected. */
  noise: Float64Array
  error: number
}

interface Group {
  leaves: number[]
  /** The sum of all its leaves, by period. */
  top: Float64Array
  bottom: Float64Array
}

const MOST_SERIES = 40
const LEAST = 6

export class Pasts {
  readonly codes: Int32Array[]
  readonly #rows: LeafRows
  readonly #calendar: Calendar
  readonly #ratio: boolean
  /** The rows of each leaf, by period. */
  readonly #of: { period: number; row: number }[][]
  readonly #whole: Group
  readonly #groups: Group[]

  constructor(rows: LeafRows, options: Options, calendar: Calendar) {
    this.#rows = rows
    this.#calendar = calendar
    this.#ratio = options.denominator !== undefined
    const { places, codes } = leavesOf(rows)
    this.codes = codes
    this.#of = Array.from({ length: codes[0]!.length }, () => [])
    for (const [row, leaf] of places.entries()) this.#of[leaf]!.push({ period: rows.side[row]!, row })
    this.#whole = this.#groupOf([...this.#of.keys()])
    this.#groups = this.#grouped()
  }

  /** The number of series that are forecast beside the whole. */
  get series(): number {
    return this.#groups.length
  }

  /** Forecasts the period `target` from those before it. Returns null if they are too few. */
  expectAt(target: number): Expected | null {
    const whole = this.#values(this.#whole, target)
    const next = this.#next(whole, target)
    if (!next) return null
    const n = this.#of.length
    const expected: Expected = {
      before: emptySums(n),
      after: this.#sumsAt(target),
      noise: new Float64Array(n),
      error: 0,
    }
    const size = this.#ratio ? 1 : this.#calendar.days[target]!
    expected.error = next.error * size
    const positive = whole.every((value) => !(value <= 0))
    for (const group of this.#groups) {
      const own = this.#values(group, target)
      // A group is forecast as a part of the whole if parts exist, because the whole holds what all share.
      const parts = positive && own.every((value) => !(value < 0))
      const step = this.#next(parts ? own.map((value, at) => value / whole[at]!) : own, target)
      if (!step) continue
      const by = parts ? next.value : 1
      this.#share(group, { value: step.value * by, error: step.error * Math.abs(by) }, target, expected)
    }
    return expected
  }

  #next(values: number[], target: number): Next | null {
    const { times, positions, kind } = this.#calendar
    const last = values.findLastIndex(Number.isFinite)
    return oneAhead(
      { times: times.slice(0, target), positions: positions.slice(0, target), kind, values },
      target - last,
    )
  }

  /** Returns the values per day of the calendar, or the rates of a ratio; NaN if there is none. */
  #values({ top, bottom }: Group, target: number): number[] {
    const { seen, days } = this.#calendar
    return Array.from({ length: target }, (_, at) => {
      if (this.#ratio) return bottom[at]! > 0 ? top[at]! / bottom[at]! : Number.NaN
      return seen[at] && days[at]! > 0 ? top[at]! / days[at]! : Number.NaN
    })
  }

  /** Writes the expectation of each leaf: its recent part of the group. */
  #share(group: Group, next: Next, target: number, expected: Expected): void {
    const { recent, days, seen } = this.#calendar
    const from = Math.max(0, target - recent)
    const window = Array.from({ length: target - from }, (_, offset) => from + offset).filter(
      (at) => seen[at],
    )
    const sum = (values: Float64Array): number => window.reduce((total, at) => total + values[at]!, 0)
    const [top, bottom] = [sum(group.top), sum(group.bottom)]
    const wholeBottom = [this.#whole.bottom[target]!, sum(this.#whole.bottom)] as const
    for (const leaf of group.leaves) {
      const own = this.#groupOf([leaf])
      const single = group.leaves.length === 1
      const [ownTop, ownBottom] = [sum(own.top), sum(own.bottom)]
      const part = single
        ? 1
        : this.#ratio
          ? relativeRate(ownTop, ownBottom, top, bottom)
          : top === 0
            ? 0
            : ownTop / top
      const size = this.#ratio ? (wholeBottom[0] * ownBottom) / (wholeBottom[1] || 1) : days[target]!
      expected.before.top[leaf] = part * next.value * size
      expected.before.bottom[leaf] = this.#ratio ? size : 0
      expected.before.rows[leaf] = this.#meanOf('rows', leaf, window)
      const at = this.#ratio ? own.bottom[target]! : size
      const ofGroup = (part * next.error * at) ** 2
      expected.noise[leaf] = single ? ofGroup : ofGroup + this.#strays(own, group, part, window, at)
      // A leaf without rows for half of the time has the noise of the rows that came.
      const silent = window.filter((period) => own.top[period] === 0).length > window.length / 2
      if (silent) expected.noise[leaf] = Math.max(expected.noise[leaf], expected.after.top2[leaf]!)
    }
  }

  /** Returns how much a leaf lately varied around its part of the group, as a variance at the size `at`. */
  #strays(own: Group, group: Group, part: number, window: readonly number[], at: number): number {
    const squares = window.flatMap((period) => {
      const size = this.#ratio ? own.bottom[period]! : this.#calendar.days[period]!
      if (!(size > 0)) return []
      const told = this.#ratio
        ? part * (group.top[period]! / group.bottom[period]!) * size
        : part * group.top[period]!
      return [((own.top[period]! - told) / size) ** 2 * size]
    })
    const mean = squares.reduce((sum, square) => sum + square, 0) / Math.max(1, squares.length - 1)
    return mean * at
  }

  #meanOf(name: keyof Sums, leaf: number, window: readonly number[]): number {
    const near = new Set(window)
    const rows = this.#of[leaf]!.filter(({ period }) => near.has(period))
    return rows.reduce((sum, { row }) => sum + this.#rows.sums[name][row]!, 0) / Math.max(1, window.length)
  }

  #sumsAt(target: number): Sums {
    const sums = emptySums(this.#of.length)
    for (const [leaf, rows] of this.#of.entries())
      for (const { period, row } of rows)
        if (period === target) for (const name of SUM_NAMES) sums[name][leaf] = this.#rows.sums[name][row]!
    return sums
  }

  #groupOf(leaves: number[]): Group {
    const n = this.#calendar.positions.length
    const [top, bottom] = [new Float64Array(n), new Float64Array(n)]
    for (const leaf of leaves)
      for (const { period, row } of this.#of[leaf]!) {
        top[period]! += this.#rows.sums.top[row]!
        bottom[period]! += this.#rows.sums.bottom[row]!
      }
    return { leaves, top, bottom }
  }

  /** Groups the leaves: each dense leaf by itself, the others by fewer and fewer columns, and the rest as one. */
  #grouped(): Group[] {
    const found: Group[] = []
    let left = [...this.#of.keys()]
    for (let columns = this.codes.length; columns > 0; columns--) {
      const name = (leaf: number): string =>
        this.codes
          .slice(0, columns)
          .map((codes) => codes[leaf]!)
          .join()
      const groups = [...Map.groupBy(left, name).values()].filter((leaves) => this.#mayBeDense(leaves))
      const dense = groups.map((leaves) => this.#groupOf(leaves)).filter((group) => this.#isDense(group))
      const size = ({ top }: Group): number => top.reduce((sum, value) => sum + Math.abs(value), 0)
      const largest = dense
        .map((group) => ({ group, size: size(group) }))
        .toSorted((a, b) => b.size - a.size)
        .slice(0, MOST_SERIES - found.length)
      found.push(...largest.map(({ group }) => group))
      const taken = new Set(found.flatMap(({ leaves }) => leaves))
      left = left.filter((leaf) => !taken.has(leaf))
    }
    return left.length === 0 ? found : [...found, this.#groupOf(left)]
  }

  #mayBeDense(leaves: readonly number[]): boolean {
    return leaves.reduce((sum, leaf) => sum + this.#of[leaf]!.length, 0) >= LEAST
  }

  /**
   * Tells whether at least six periods before the last, and at least half of those that have data, have a value other
   * than 0.
   */
  #isDense({ top, bottom }: Group): boolean {
    const before = [...this.#calendar.seen.keys()].filter(
      (at) => this.#calendar.seen[at] && at < this.#calendar.positions.length - 1,
    )
    const values = this.#ratio ? bottom : top
    const full = before.filter((at) => values[at] !== 0).length
    return full >= LEAST && 2 * full >= before.length
  }
}

/** Returns the rate of a leaf over the rate of its group, or 1 if the leaf had no denominator. */
function relativeRate(top: number, bottom: number, groupTop: number, groupBottom: number): number {
  return bottom > 0 && groupTop !== 0 ? top / bottom / (groupTop / groupBottom) : 1
}
