/**
 * Tells whether one row makes a link, hides it or reverses it. A correlation or a slope without one row follows in
 * closed form from the sums over all rows (Belsley, Kuh and Welsch, Regression Diagnostics, 1980). The rows that move
 * it most to either side are judged again.
 */
import type { Doubt } from '@assay/model/insight'
import type { Measure } from '../../verdicts/measure.ts'
import { movedFrom } from '../../verdicts/one-row.ts'
import { doubt, gradeOf } from '../../verdicts/verdict.ts'
import { amount, withoutRow } from '../../verdicts/words.ts'

export interface Link {
  estimate: number
  p: number
}

/** A link without one row, and where that row lies. */
export interface Without extends Link {
  x: number
  y: number
}

/**
 * Returns the doubt that one row decides, or none. `all` is the link with every row and its standard error; `rows` are
 * the candidates.
 */
export function oneRowDecides(
  all: Link & { error: number },
  rows: readonly Without[],
  [x, y]: readonly [Measure, Measure],
): Doubt[] {
  const found = rows.flatMap((row) => {
    const change = changeBy(all, row)
    return change === null ? [] : [{ row, change, moved: Math.abs(row.estimate - all.estimate) }]
  })
  const [most] = found.toSorted((a, b) => b.moved - a.moved)
  if (!most) return []
  const { row, change } = most
  const place = `with ${x.label} at ${amount(row.x, x)} and ${y.label} at ${amount(row.y, y)}`
  return [doubt('one_row_decides', `Without one single row, ${place}, ${change}.`)]
}

function changeBy(all: Link & { error: number }, row: Without): string | null {
  const [before, after] = [gradeOf(all.p), gradeOf(row.p)]
  const moved = movedFrom(all.estimate, row.estimate, all.error)
  const regraded = before === after ? null : withoutRow([before, after], 'link')
  if (after === 'unclear') return regraded
  if (moved === 'direction') return 'the link would point the other way'
  if (regraded) return regraded
  if (moved === 'size')
    return Math.abs(row.estimate) < Math.abs(all.estimate)
      ? 'the link would be less than half as strong'
      : 'the link would be more than half as strong again'
  return null
}
