/** Computes describe in a database: a range, moments with counts by steps, positions by counting, the most frequent value. */
import { column, counted, type From } from '../../dialects/language.ts'
import type { Asked } from '../../sufficient/ask.ts'
import { numberOf } from '../../sufficient/ask.ts'
import {
  kept,
  located,
  type Moments,
  momentsOf,
  type NumberRange,
  valuesOf,
} from '../../sufficient/numbers.ts'
import { valuesAt } from '../../sufficient/places.ts'

export interface ColumnThere {
  range: NumberRange
  /** The description; null if there are no values. */
  found: {
    moments: Moments
    /** The values at `places`. */
    at: Map<number, number>
    mode: { mode: number | null; mode_count: number | null }
  } | null
}

/** Describes a column. `placesOf` returns the wanted positions of the sorted values for a number of rows. */
export async function columnThere(
  asked: Asked,
  name: string,
  { placesOf, mostMode }: { placesOf(n: number): number[]; mostMode: number },
): Promise<ColumnThere> {
  const values = valuesOf(asked, name)
  const range = await located(asked, values)
  if (range.n === 0) return { range, found: null }
  const { moments, parts } = await momentsOf(asked, values, range)
  return {
    range,
    found: {
      moments,
      at: await valuesAt(asked, values, parts, placesOf(range.n)),
      mode: range.n > mostMode ? { mode: null, mode_count: null } : await modeOf(asked, values),
    },
  }
}

async function modeOf(
  asked: Asked,
  values: From,
): Promise<{ mode: number | null; mode_count: number | null }> {
  const [row] = await asked.ask({
    from: kept(values),
    keys: { mode: column('v') },
    list: { n: counted },
    order: [{ name: 'n', descending: true }, { name: 'mode' }],
    limit: 1,
  })
  const n = numberOf(row?.n)
  return n > 1 ? { mode: numberOf(row?.mode), mode_count: n } : { mode: null, mode_count: null }
}
