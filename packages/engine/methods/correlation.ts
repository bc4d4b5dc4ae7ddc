/**
 * correlation: how strongly columns go together, pair by pair.
 *
 * Pearson's r with Fisher's interval (tanh(atanh r +- z / sqrt(n - 3))) and its t test, as R's cor.test; Spearman's rank
 * correlation with mean ranks for ties; p adjusted over the pairs by Benjamini and Hochberg. Rows that lack either value
 * of a pair are left out of that pair. Four scans and two sorts a pair inside DuckDB, sums exact (over a million
 * rows: compensated); one row for each pair is fetched.
 */
import Type, { type Static } from 'typebox'
import { normalUpperQuantile, studentTwoSided } from '../numeric/distributions.ts'
import { numberSql } from './shared/columns.ts'
import { integer, number, pAdjusted, rowsWith, text } from './shared/fields.ts'
import type { Method, Relation } from './shared/method.ts'
import { benjaminiHochberg } from './shared/multiplicity.ts'
import { count, finite, probability } from './shared/sentence.ts'
import { double, momentSql, powerAbove, readSum } from './shared/sums.ts'

const Options = Type.Object(
  { values: Type.Array(Type.String(), { minItems: 2, maxItems: 20, uniqueItems: true }) },
  { additionalProperties: false },
)

const LEAST = 4

interface Pair {
  x: string
  y: string
  n: number
  pearson: number | null
  spearman: number | null
  low: number | null
  high: number | null
  p: number | null
  p_adjusted: number | null
}

export const correlation: Method = {
  name: 'correlation',
  options: Options,
  columns(options) {
    return (options as Static<typeof Options>).values.map((column) => ({
      option: 'values',
      column,
      numeric: true,
    }))
  },
  fields: {
    pairs: rowsWith({
      x: text,
      y: text,
      n: integer,
      pearson: number,
      spearman: number,
      low: number,
      high: number,
      p: number,
      p_adjusted: number,
    }),
    p_adjusted: pAdjusted,
  },
  async run(table, options) {
    const { values } = options as Static<typeof Options>
    const pairs: Pair[] = []
    for (const [index, x] of values.entries()) {
      for (const y of values.slice(index + 1)) pairs.push(await pairOf(table, x, y))
    }
    const tested = pairs.filter((pair) => pair.p !== null)
    const adjusted = benjaminiHochberg(tested.map((pair) => pair.p!))
    for (const [index, pair] of tested.entries()) pair.p_adjusted = adjusted[index]!
    return {
      summary: sentence(pairs),
      n: Math.max(...pairs.map((pair) => pair.n)),
      method: 'Pearson (Fisher interval, t test) and Spearman; p adjusted by Benjamini and Hochberg',
      notes: notesOf(pairs),
      pairs,
    }
  },
}

async function pairOf(table: Relation, x: string, y: string): Promise<Pair> {
  const source =
    `(select x, y from (select ${numberSql(table, 'values', x)} as x, ${numberSql(table, 'values', y)} as y ` +
    `from ${table.relation}) where isfinite(x) and isfinite(y))`
  const [range] = await table.query(
    `select count(*) as n, max(abs(x)) as x_size, max(abs(y)) as y_size, min(x) = max(x) as x_same, min(y) = max(y) as y_same from ${source}`,
  )
  const n = range!.n as number
  const nothing = { x, y, n, pearson: null, spearman: null, low: null, high: null, p: null, p_adjusted: null }
  if (n < LEAST || range!.x_same === true || range!.y_same === true) return nothing
  const scaled = `(select x / ${double(powerAbove(range!.x_size as number))} as x, y / ${double(powerAbove(range!.y_size as number))} as y from ${source})`
  const pearson = await productMoment(table, scaled)
  const spearman = await rankCorrelation(table, source, n)
  const half = normalUpperQuantile(0.025) / Math.sqrt(n - 3)
  const certain = Math.abs(pearson) === 1
  const t = pearson * Math.sqrt((n - 2) / ((1 - pearson) * (1 + pearson)))
  return {
    ...nothing,
    pearson: finite(pearson),
    spearman: finite(spearman),
    low: certain ? pearson : finite(Math.tanh(Math.atanh(pearson) - half)),
    high: certain ? pearson : finite(Math.tanh(Math.atanh(pearson) + half)),
    p: certain ? 0 : finite(studentTwoSided(t, n - 2)),
  }
}

/**
 * Spearman's coefficient: Pearson's of the ranks, in whole numbers (twice the rank less its mean, mean ranks for ties).
 * Each is at most n, so their products fit 64 bits up to three billion rows.
 */
async function rankCorrelation(table: Relation, source: string, n: number): Promise<number> {
  const deviation = (name: string) =>
    `cast(2 * rank() over (order by ${name}) + count(*) over (order by ${name} range between current row and current row) - ${n + 2} as bigint)`
  const [row] = await table.query(
    `select cast(sum(u * u) as varchar) as uu, cast(sum(v * v) as varchar) as vv, cast(sum(u * v) as varchar) as uv
     from (select ${deviation('x')} as u, ${deviation('y')} as v from ${source})`,
  )
  const whole = (name: string) => Number(BigInt(row![name] as string))
  return whole('uv') / Math.sqrt(whole('uu')) / Math.sqrt(whole('vv'))
}

/** Pearson's coefficient of x and y (|x|, |y| <= 1) by two passes; the first gives the centre only. */
async function productMoment(table: Relation, source: string): Promise<number> {
  const [first] = await table.query(`select count(*) as n, favg(x) as x, favg(y) as y from ${source}`)
  const n = first!.n as number
  const centered = `(select x - ${double(first!.x as number)} as u, y - ${double(first!.y as number)} as v from ${source})`
  const [widest] = await table.query(`select max(abs(u)) as u, max(abs(v)) as v from ${centered}`)
  const scaled = `(select u / ${double(powerAbove(widest!.u as number))} as u, v / ${double(powerAbove(widest!.v as number))} as v from ${centered})`
  const terms = Object.entries({ u: 'u', v: 'v', uu: 'u * u', vv: 'v * v', uv: 'u * v' })
  const [sums] = await table.query(
    `select ${terms.map(([name, term]) => `${momentSql(term, 1, n)} as ${name}`).join(', ')} from ${scaled}`,
  )
  const [u, v, uu, vv, uv] = terms.map(([name]) => readSum(sums![name], 1)) as [
    number,
    number,
    number,
    number,
    number,
  ]
  const products = uv - (u * v) / n
  return Math.min(1, Math.max(-1, products / Math.sqrt(uu - u ** 2 / n) / Math.sqrt(vv - v ** 2 / n)))
}

function sentence(pairs: readonly Pair[]): string {
  const known = pairs.filter((pair) => pair.pearson !== null)
  if (known.length === 0) {
    return `Not enough data for a correlation: ${LEAST} rows with values that vary are needed in both columns.`
  }
  const best = known.toSorted((a, b) => Math.abs(b.pearson!) - Math.abs(a.pearson!))[0]!
  const together = best.pearson! > 0 ? 'rises with' : 'falls as'
  const end = best.pearson! > 0 ? best.y : `${best.y} rises`
  const significant = known.filter((pair) => pair.p_adjusted! < 0.05).length
  const numbers = `r = ${coefficient(best.pearson)}, 95% interval ${coefficient(best.low)} to ${coefficient(best.high)}, ${probability(best.p_adjusted)}${pairs.length > 1 ? ' adjusted' : ''}, rank correlation ${coefficient(best.spearman)}, n = ${count(best.n, 'row')}`
  if (significant === 0) {
    const strongest =
      pairs.length === 1 ? `${best.x} and ${best.y}` : `the strongest, ${best.x} and ${best.y}`
    return `No correlation is detectable${pairs.length > 1 ? ` in ${count(pairs.length, 'pair')}` : ''}: ${strongest}, ${numbers}.`
  }
  const more =
    pairs.length === 1
      ? ''
      : ` ${significant} of ${count(pairs.length, 'pair')} ${significant === 1 ? 'is' : 'are'} significant at 5% after adjustment.`
  return `${best.x} ${together} ${end} (${numbers}).${more}`
}

/** To three decimals, as coefficients are printed. */
function coefficient(value: number | null): string {
  return value === null ? 'unknown' : value.toFixed(3).replace(/^-(?=0\.000$)/u, '')
}

function notesOf(pairs: readonly Pair[]): string[] {
  const notes: string[] = []
  const name = (pair: Pair) => `${pair.x} and ${pair.y}`
  for (const pair of pairs) {
    if (pair.pearson === null)
      notes.push(`${name(pair)}: ${count(pair.n, 'row')}, too few or without variation.`)
    else if (pair.n < 10)
      notes.push(
        `${name(pair)}: only ${count(pair.n, 'row')}; the interval is wide and leans on normal data.`,
      )
    if (pair.pearson !== null && pair.spearman !== null && Math.abs(pair.pearson - pair.spearman) > 0.2) {
      notes.push(
        `${name(pair)}: Pearson and rank correlation differ; the relation is curved or led by a few extreme rows.`,
      )
    }
  }
  if (pairs.some((pair) => pair.pearson !== null)) {
    notes.push(
      'Correlation is no proof of cause; two series that both trend correlate whatever they measure.',
    )
  }
  return notes
}
