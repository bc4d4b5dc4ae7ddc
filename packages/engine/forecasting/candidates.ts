/**
 * Makes the models of one series on one scale: the line with persistent errors, exponential smoothing, theta, and means
 * of them. Each can forecast from any later end of the values without seeing the values after it.
 */
import { persistentFits } from '../series/persistence/persistent-fits.ts'
import { at, type Column, seasonDesign } from './design.ts'
import { type Smoothing, smoothing, theta } from './exponential.ts'
import { aheadOfLine, coefficientsOf, fitLine, type LineFit } from './line.ts'
import { type Ahead, averaged, mapped, widened } from './prediction.ts'
import { changingSpread } from './spread.ts'

/** A series on even steps. */
export interface Known {
  /** The value of every step from the first on. */
  values: readonly number[]
  /** Tells for each step whether it has a value of its own. */
  observed: readonly boolean[]
  periods: readonly number[]
  /** The columns of changes of level and known days. */
  columns: readonly Column[]
}

export interface Candidates {
  names: Record<string, string>
  /** Returns forecasts of each model from the end of the first `end` values. */
  ahead(end: number, horizon: number): Record<string, Ahead[]>
  smoothing: Smoothing | null
}

/** The longest season that exponential smoothing models. */
const LONGEST_SMOOTHED = 24
/** The number of latest values that the line uses, unless a season needs more. */
const MOST = 4000
const CYCLES = 4
const LINE = 'line with persistent errors'

/** What the models of one series share: the design of the regression, fitted to the values before an end. */
interface Shared {
  known: Known
  /** The first row that is used, and the row after the last one that determines the fixed parts. */
  from: number
  fitted: number
  /** The changes of level, known days and seasons, without the constant and the line. */
  design: Column[]
  /** The columns that exponential smoothing cannot follow by itself. */
  kept: Column[]
  /** The season that exponential smoothing follows; 1 for none. */
  short: number
  ramp: Column
  spreadAt(row: number): number
}

/** Makes the models. What they hold fixed (smoothing constants, harmonics) comes from the first `fitted` values. */
export function candidatesOf(known: Known, fitted: number): Candidates | null {
  const shared = sharedOf(known, fitted)
  const first = lineAt(shared, fitted)
  if (!first) return null
  const { from, design, kept, short, ramp, spreadAt } = shared
  const coefficients = coefficientsOf(first.fit)
  const weights = new Map(design.map((column, place) => [column, coefficients[1 + place]!]))
  const part = (chosen: readonly Column[], row: number): number =>
    chosen.reduce((sum, column) => sum + weights.get(column)! * column(row), 0)
  const restShort = known.values.map((value, row) => value - part(kept, row))
  const restAll = known.values.map((value, row) => value - part(design, row))
  const ets = smoothing(restShort.slice(from, fitted), short)
  const flat = theta(restAll.slice(from, fitted))
  const names: Record<string, string> = { line: LINE }
  if (ets) {
    names.ets = ets.name
    names.both = `mean of ${ets.name} and ${LINE}`
    if (flat) names.three = `mean of ${ets.name}, theta and ${LINE}`
  }
  const lineAhead = (end: number, horizon: number): Ahead[] | null => {
    const then = end === fitted ? first : lineAt(shared, end)
    if (!then) return null
    const coming = Array.from({ length: horizon }, (_, step) => end + step)
    const columns = [coming.map(() => 1), ...at(design, coming), coming.map(ramp)]
    const scaled = columns.map((column) => column.map((value, step) => value / spreadAt(end + step)))
    return mapped(aheadOfLine(then.seen, then.fit, scaled), (value, step) => value * spreadAt(end + step))
  }
  const smoothAhead = (model: Smoothing, end: number, horizon: number, taken: readonly Column[]): Ahead[] => {
    const rest = taken === kept ? restShort : restAll
    const ahead = model.ahead(rest.slice(from, end), horizon)
    const spread = ahead.map((one, step) => widened(one, spreadAt(end + step)))
    return mapped(spread, (value, step) => value + part(taken, end + step))
  }
  return {
    names,
    smoothing: ets,
    ahead(end, horizon) {
      const line = lineAhead(end, horizon)
      if (!ets) return line ? { line } : {}
      const smooth = smoothAhead(ets, end, horizon, kept)
      if (!line) return { ets: smooth }
      const found: Record<string, Ahead[]> = {
        line,
        ets: smooth,
        both: averaged([smooth, line]),
      }
      if (flat) found.three = averaged([smooth, smoothAhead(flat, end, horizon, design), line])
      return found
    },
  }
}

function sharedOf(known: Known, fitted: number): Shared {
  const { values, periods, columns } = known
  const from = Math.max(0, fitted - Math.max(MOST, CYCLES * Math.max(0, ...periods)))
  const rows = rowsOf(known, from, fitted)
  const own = rows.map((row) => values[row]!)
  const beside = columns.filter((column) => varies(at([column], rows)[0]!))
  const seasons = seasonDesign(own, rows, periods, beside)
  const design = [...beside, ...seasons.flatMap((season) => season.columns)]
  const ramp: Column = (row) => (row - from) / Math.max(1, fitted - from - 1) - 0.5
  // Exponential smoothing follows one short season by itself. The other columns are removed from the values.
  const short = periods.find((period) => Number.isInteger(period) && period <= LONGEST_SMOOTHED) ?? 1
  const long = seasons.filter(({ period }) => period !== short)
  const spread = spreadOf(own, at(design, rows), rows.map(ramp))
  const placeOf = new Map(rows.map((row, place) => [row, place]))
  return {
    known,
    from,
    fitted,
    design,
    kept: [...beside, ...long.flatMap((season) => season.columns)],
    short,
    ramp,
    spreadAt: (row) => (spread ? spread(placeOf.get(row) ?? row - fitted + rows.length) : 1),
  }
}

/** Returns the rows with a value of their own. */
function rowsOf({ observed }: Known, from: number, end: number): number[] {
  const rows: number[] = []
  for (let row = from; row < end; row++) if (observed[row]) rows.push(row)
  return rows
}

/** Returns the regression over the values before `end`, and these values, each over its spread. */
function lineAt(shared: Shared, end: number): { fit: LineFit; seen: number[] } | null {
  const { known, from, design, ramp, spreadAt } = shared
  const rows = rowsOf(known, from, end)
  const scaled = (numbers: readonly number[]): number[] =>
    numbers.map((number, place) => number / spreadAt(rows[place]!))
  const seen = scaled(rows.map((row) => known.values[row]!))
  const fit = fitLine(seen, scaled(rows.map(ramp)), at(design, rows).map(scaled), scaled(rows.map(() => 1)))
  return fit && { fit, seen }
}

/** Returns the spread by the innovations of the likeliest persistence. */
function spreadOf(
  values: readonly number[],
  design: readonly (readonly number[])[],
  ramp: readonly number[],
): ((place: number) => number) | null {
  const columns = [values.map(() => 1), ...design, ramp]
  const fits = persistentFits(values, columns)
  if (fits.length === 0) return null
  const { a, coefficients } = fits.reduce((best, fit) => (fit.weight > best.weight ? fit : best))
  const rest = values.map(
    (value, row) =>
      value - columns.reduce((sum, column, place) => sum + column[row]! * coefficients[place]!, 0),
  )
  return changingSpread(
    rest.map((value, row) => (row === 0 ? value * Math.sqrt(1 - a * a) : value - a * rest[row - 1]!)),
    a,
  )
}

function varies(column: readonly number[]): boolean {
  return column.some((value) => value !== column[0])
}
