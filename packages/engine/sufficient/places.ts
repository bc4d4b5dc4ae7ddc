/**
 * Computes exact order statistics by counting: the values between two bounds are counted in 1,024 steps, and the steps
 * that hold a position are counted again, all in one statement, until few or equal values are left. No engine sorts
 * more than 5,000 values of a step, and no answer has more rows for each.
 */
import {
  and,
  atLeast,
  atMost,
  below,
  column,
  counted,
  type Expression,
  type From,
  least,
  minus,
  most,
  number,
  or,
  size,
  times,
  where,
  whole,
} from '../dialects/language.ts'
import { SourceError } from '../sources/source.ts'
import { type Answer, type Asked, columnsOf, numberOf } from './ask.ts'

const STEPS = 1024
/** The most rows of a step whose values are fetched. */
const FEW = 5000
/** The width of a step below which the values themselves are counted. */
const NARROW = 1e-280

export interface Stretch {
  low: number
  high: number
  n: number
  /** The number of values below it. */
  before: number
}

/** Tells whether a stretch is counted in steps. Of any other one the values themselves are counted. */
export const isDivided = ({ low, high, n }: Stretch): boolean => n > FEW && high - low >= NARROW

/** Returns the values at `places` (from 1) of the finite values `v`, which `parts` divide in their order. */
export async function valuesAt(
  asked: Asked,
  values: From,
  parts: readonly Stretch[],
  places: readonly number[],
): Promise<Map<number, number>> {
  const found = new Map<number, number>()
  let open = holding(parts, [...new Set(places)])
  while (open.length > 0) {
    for (const { stretch, places: wanted } of open)
      if (stretch.low === stretch.high) for (const place of wanted) found.set(place, stretch.low)
    const wide = open.filter(({ stretch }) => stretch.low !== stretch.high)
    const divided = [
      ...(await counts(asked, values, wide.map(({ stretch }) => stretch).filter(isDivided), true)),
      ...(await counts(
        asked,
        values,
        wide.map(({ stretch }) => stretch).filter((one) => !isDivided(one)),
        false,
      )),
    ]
    open = wide.flatMap(({ stretch, places: wanted }) =>
      holding(divided.find(([one]) => one === stretch)![1], wanted),
    )
  }
  return found
}

interface Holding {
  stretch: Stretch
  places: readonly number[]
}

/** Returns the parts that hold places, with these. */
const holding = (parts: readonly Stretch[], places: readonly number[]): Holding[] =>
  parts.flatMap((stretch) => {
    const inside = places.filter((place) => place > stretch.before && place <= stretch.before + stretch.n)
    return inside.length > 0 ? [{ stretch, places: inside }] : []
  })

/** Returns the error for rows that changed, because each SELECT reads the rows as they are when it runs. */
const changed = (): SourceError =>
  new SourceError(
    'The rows changed while they were counted there, so that no place among them is known: run the report again, or read a copy that nobody changes.',
  )

/** Counts the values of stretches, which follow each other, by their steps or one by one. */
async function counts(
  asked: Asked,
  values: From,
  stretches: readonly Stretch[],
  isStepped: boolean,
): Promise<[Stretch, Stretch[]][]> {
  if (stretches.length === 0) return []
  const v = column('v')
  const inside = columnsOf(within(values, stretches), {
    v,
    place: ofEach(stretches, (_, index) => number(index)),
    ...(isStepped ? { step: ofEach(stretches, (stretch) => stepOf(v, stretch)) } : {}),
  })
  const rows = await asked.ask({
    from: inside,
    keys: { stretch: column('place'), part: isStepped ? column('step') : v },
    list: { n: counted, low: least(v), high: most(v) },
    order: [{ name: 'stretch' }, { name: 'part' }],
    limit: 10 * FEW * stretches.length,
  })
  return stretches.map((stretch, index) => [
    stretch,
    partsIn(
      stretch,
      rows.filter((row) => numberOf(row.stretch) === index),
    ),
  ])
}

/** Returns the parts of a stretch from their counts, in their order. */
export function partsIn(stretch: Stretch, rows: readonly Answer[]): Stretch[] {
  let { before } = stretch
  const parts = rows.map((row) => {
    const part = { low: numberOf(row.low), high: numberOf(row.high), n: numberOf(row.n), before }
    before += part.n
    return part
  })
  if (before !== stretch.before + stretch.n) throw changed()
  return parts
}

/** Returns the values between the bounds of a stretch. The condition stands where the rows are read. */
function within(values: From, stretches: readonly Stretch[]): From {
  const { select } = values as Extract<From, { select: unknown }>
  const v = select.list.v!
  const inside = or(
    ...stretches.map(({ low, high }) => and(atLeast(v, number(low)), atMost(v, number(high)))),
  )
  return { select: { ...select, where: select.where ? and(select.where, inside) : inside } }
}

/** Returns what `make` gives for the stretch that holds `v`. */
function ofEach(
  stretches: readonly Stretch[],
  make: (stretch: Stretch, index: number) => Expression,
): Expression {
  const all = stretches.map(make)
  return stretches
    .slice(0, -1)
    .map((stretch, index) => ({ stretch, made: all[index]! }))
    .reduceRight(
      (rest, { stretch, made }) => where(atMost(column('v'), number(stretch.high)), made, rest),
      all.at(-1)!,
    )
}

/** Returns the position of a value between the bounds, as an integer. It never falls when the value rises. */
export function stepOf(v: Expression, { low, high }: Stretch): Expression {
  const half = Number.isFinite(high - low) ? 1 : 0.5
  const away = half === 1 ? minus(v, number(low)) : minus(times(v, number(half)), number(low * half))
  const width = half * high - half * low
  const share = times(away, number(STEPS / width))
  // Some databases treat an underflow as an error.
  return whole(where(below(size(away), number(width * 2 ** -60)), number(0), share))
}
