/**
 * Computes exact order statistics by counting: the values between two bounds are counted in 1,024 steps, and the step
 * that holds a position is counted again, until few or equal values are left. No engine sorts more than 5,000 values,
 * and no answer has more rows.
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
  size,
  times,
  where,
  whole,
} from '../dialects/language.ts'
import { SourceError } from '../sources/source.ts'
import { type Asked, columnsOf, numberOf } from './ask.ts'

const STEPS = 1024
/** The most rows of a step whose values are fetched. */
const FEW = 5000
/** The width of a step below which the values themselves are counted. */
const NARROW = 1e-280

interface Stretch {
  low: number
  high: number
  n: number
  /** The number of values below it. */
  before: number
}

/** Returns the values at `places` (from 1) of the `n` finite values `v` between `low` and `high`. */
export async function valuesAt(
  asked: Asked,
  values: From,
  { n, low, high }: { n: number; low: number; high: number },
  places: readonly number[],
): Promise<Map<number, number>> {
  const found = new Map<number, number>()
  let open: { stretch: Stretch; places: readonly number[] }[] = [
    { stretch: { low, high, n, before: 0 }, places: [...new Set(places)] },
  ]
  while (open.length > 0) {
    const next: typeof open = []
    for (const { stretch, places: wanted } of open) {
      if (stretch.low === stretch.high) {
        for (const place of wanted) found.set(place, stretch.low)
        continue
      }
      const parts = await divided(asked, values, stretch)
      for (const part of parts) {
        const inside = wanted.filter((place) => place > part.before && place <= part.before + part.n)
        if (inside.length > 0) next.push({ stretch: part, places: inside })
      }
      const last = parts.at(-1)
      if (last === undefined || last.before + last.n !== stretch.before + stretch.n) throw changed()
    }
    open = next
  }
  return found
}

/** Returns the error for rows that changed, because each SELECT reads the rows as they are when it runs. */
const changed = (): SourceError =>
  new SourceError(
    'The rows changed while they were counted there, so that no place among them is known: run the report again, or read a copy that nobody changes.',
  )

/** Divides the stretch into steps, or into its values. */
async function divided(asked: Asked, values: From, stretch: Stretch): Promise<Stretch[]> {
  const { low, high, n } = stretch
  const v = column('v')
  const within = {
    select: {
      from: values,
      where: and(atLeast(v, number(low)), atMost(v, number(high))),
      list: { v },
    },
  }
  const singly = n <= FEW || high - low < NARROW
  const rows = await asked.ask(
    singly
      ? { from: within, keys: { low: v }, list: { n: counted }, order: [{ name: 'low' }], limit: 10 * FEW }
      : {
          from: columnsOf(within, { v, step: stepOf(v, stretch) }),
          keys: { part: column('step') },
          list: { n: counted, low: least(v), high: most(v) },
          order: [{ name: 'part' }],
        },
  )
  let { before } = stretch
  return rows.map((row) => {
    const part = { low: numberOf(row.low), high: numberOf(row.high ?? row.low), n: numberOf(row.n), before }
    before += part.n
    return part
  })
}

/** Returns the position of a value between the bounds, as an integer. It never falls when the value rises. */
function stepOf(v: Expression, { low, high }: Stretch): Expression {
  const half = Number.isFinite(high - low) ? 1 : 0.5
  const away = half === 1 ? minus(v, number(low)) : minus(times(v, number(half)), number(low * half))
  const width = half * high - half * low
  const share = times(away, number(STEPS / width))
  // Some databases treat an underflow as an error.
  return whole(where(below(size(away), number(width * 2 ** -60)), number(0), share))
}
