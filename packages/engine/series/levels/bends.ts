/**
 * Finds how a trend bends: at one corner, or along a polynomial. A series about a bent trend is alike from one value to
 * the next beside a straight line, although its noise is not. A bend must be likelier than errors as persistent as a
 * random walk about a straight line, by Schwarz's criterion.
 */
import { dot, orthogonalOf, residualsOf } from '../persistence/residuals.ts'
import { besidePersistence, likeliestFit } from '../persistence/step-models.ts'
import { polynomials } from './steps-or-curve.ts'

/** The degrees that are tried beside a corner. */
const DEGREES = [2, 3, 4, 6]
/** The number of places that are tried for a corner, and the share of the rows at either end that is not. */
const PLACES = 24
const EDGE = 0.1
/** The parameters of a corner: its place and its change of slope. */
const OF_CORNER = 2
/** The criterion must fall by this much: strong evidence by Kass and Raftery (JASA 90, 1995). */
const STRONG = 6
const LEAST = 24

/**
 * Returns the columns that bend the line of `base`, which begins with a constant and a line. Returns none if the line
 * is straight, or if errors explain it.
 */
export function bendsOf(
  values: readonly number[],
  rows: readonly number[],
  base: readonly (readonly number[])[],
): number[][] {
  const n = values.length
  const most = DEGREES.at(-1)!
  if (n < LEAST || n < 2 * (base.length + most)) return []
  const curve = polynomials(rows, most).slice(2)
  const columns = [...base, ...curve, cornerOf(values, rows, base)]
  const models = besidePersistence(columns, values, [])
  const straight = [...base.keys()]
  const bends = [
    { places: [columns.length - 1], parameters: OF_CORNER },
    ...DEGREES.map((degree) => ({
      places: curve.slice(0, degree - 1).map((_, at) => base.length + at),
      parameters: degree - 1,
    })),
  ]
  const criterionOf = (places: readonly number[], parameters: number): number => {
    const fit = likeliestFit(models, [...straight, ...places], n)
    return fit ? -2 * fit.likelihood + Math.log(n) * parameters : Number.POSITIVE_INFINITY
  }
  let best = { places: [] as number[], criterion: criterionOf([], 0) - STRONG }
  for (const { places, parameters } of bends) {
    const criterion = criterionOf(places, parameters)
    if (criterion < best.criterion) best = { places, criterion }
  }
  return best.places.map((at) => columns[at]!.slice())
}

/** Returns the line from the best corner on, 0 before it. */
function cornerOf(
  values: readonly number[],
  rows: readonly number[],
  base: readonly (readonly number[])[],
): number[] {
  const n = values.length
  const { left } = residualsOf(values, base)
  const directions = orthogonalOf(base, n)
  const length = rows.at(-1)! - rows[0]!
  let [best, gain] = [[] as number[], -1]
  for (let nth = 0; nth < PLACES; nth++) {
    const place = Math.round(n * (EDGE + ((1 - 2 * EDGE) * nth) / (PLACES - 1)))
    const corner = rows.map((row) => Math.max(0, row - rows[place]!) / length)
    const rest = directions.reduce((sum, one) => sum - dot(corner, one) ** 2, dot(corner, corner))
    const own = dot(corner, left) ** 2 / rest
    if (own > gain) [best, gain] = [corner, own]
  }
  return best
}
