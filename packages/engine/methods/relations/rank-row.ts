/**
 * Tells whether one row makes, hides or reverses a rank correlation (Spearman's or Kendall's). The rows whose ranks lie
 * farthest along and against the link are left out, one at a time, and the coefficient is computed again.
 */
import { ranks } from '../../numeric/mann-kendall.ts'
import { kendall } from '../../numeric/tests/kendall.ts'
import type { Measure } from '../../verdicts/measure.ts'
import type { DoubtsBy } from '../../verdicts/verdict.ts'
import type { Relation } from '../shared/method.ts'
import { type Link, oneRowDecides } from './one-row.ts'
import { byStudent, type Pair, valuesOf } from './pair.ts'

/** The most rows that are fetched. Among more rows a single one moves ranks too little. */
const MOST = 5000
/** The number of rows that are tried on either side. */
const TRIED = 2

export async function rankDecides(
  table: Relation,
  pair: Pair,
  test: string,
  measures: readonly [Measure, Measure],
): Promise<DoubtsBy> {
  if (pair.n > MOST || pair.series || (test !== 'spearman' && test !== 'kendall')) return () => []
  const { x, y } = await valuesOf(table, pair)
  const link = test === 'spearman' ? spearmanLink : kendallLink
  const all = link(x, y)
  if (!all) return () => []
  const n = x.length
  const rows = farthest(x, y).flatMap((row) => {
    const less = (values: readonly number[]): number[] => values.toSpliced(row, 1)
    const found = link(less(x), less(y))
    return found ? [{ ...found, x: x[row]!, y: y[row]! }] : []
  })
  // tau has its error without any link (Kendall 1938). rho has the same error as Pearson's r.
  const error =
    test === 'kendall'
      ? Math.sqrt((2 * (2 * n + 5)) / (9 * n * (n - 1)))
      : Math.sqrt((1 - all.estimate * all.estimate) / (n - 2))
  const raised = <L extends Link>(one: L, factor: number): L => ({ ...one, p: Math.min(1, one.p * factor) })
  return (factor) =>
    oneRowDecides(
      { ...raised(all, factor), error },
      rows.map((row) => raised(row, factor)),
      measures,
    )
}

function spearmanLink(x: readonly number[], y: readonly number[]): Link | null {
  const [u, v] = [centredRanks(x), centredRanks(y)]
  const dot = (a: readonly number[], b: readonly number[]): number =>
    a.reduce((sum, value, row) => sum + value * b[row]!, 0)
  const size = Math.sqrt(dot(u, u)) * Math.sqrt(dot(v, v))
  if (!(size > 0)) return null
  const estimate = dot(u, v) / size
  return { estimate, p: byStudent(estimate, x.length) }
}

function kendallLink(x: readonly number[], y: readonly number[]): Link | null {
  const found = kendall(x, y)
  return found && { estimate: found.tau, p: found.p }
}

function centredRanks(values: readonly number[]): number[] {
  const middle = (values.length + 1) / 2
  return ranks(values).map((rank) => rank - middle)
}

/** Returns the rows that pull the link up most, and those that pull it down most. */
function farthest(x: readonly number[], y: readonly number[]): number[] {
  const [u, v] = [centredRanks(x), centredRanks(y)]
  const order = [...x.keys()].toSorted((a, b) => u[a]! * v[a]! - u[b]! * v[b]!)
  return [...new Set([...order.slice(0, TRIED), ...order.slice(-TRIED)])]
}
