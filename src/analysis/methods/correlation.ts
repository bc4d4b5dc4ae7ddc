/**
 * correlation: how strongly columns go together, pair by pair.
 *
 * Pearson's r with Fisher's interval (tanh(atanh r +- z / sqrt(n - 3))) and its t test, as R's cor.test; Spearman's rank
 * correlation with mean ranks for ties; p adjusted over the pairs by Benjamini and Hochberg. Rows that lack either value
 * of a pair are left out of that pair. Two scans and a sort a pair inside DuckDB, sums exact; one row a pair travels.
 */
import Type, { type Static } from 'typebox'
import { normalUpperQuantile, studentTwoSided } from '../numeric/distributions.ts'
import { numberSql } from './columns.ts'
import type { Method, Relation } from './method.ts'
import { benjaminiHochberg } from './multiplicity.ts'
import { count, finite, probability } from './sentence.ts'
import { double, exactSumSql, powerAbove, readSum } from './sums.ts'

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
  fields: ['pairs'],
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

/** Spearman's coefficient: Pearson's of the ranks, in whole numbers (twice the rank less its mean, mean ranks for ties). */
async function rankCorrelation(table: Relation, source: string, n: number): Promise<number> {
  const deviation = (name: string) =>
    `cast(2 * rank() over (order by ${name}) + count(*) over (order by ${name} range between current row and current row) - ${n + 2} as hugeint)`
  const [row] = await table.query(
    `select cast(sum(u * u) as varchar) as uu, cast(sum(v * v) as varchar) as vv, cast(sum(u * v) as varchar) as uv
     from (select ${deviation('x')} as u, ${deviation('y')} as v from ${source})`,
  )
  const whole = (name: string) => Number(BigInt(row![name] as string))
  return whole('uv') / Math.sqrt(whole('uu')) / Math.sqrt(whole('vv'))
}

/** Pearson's coefficient of x and y (|x|, |y| <= 1) by two passes of exact sums. */
async function productMoment(table: Relation, source: string): Promise<number> {
  const [first] = await table.query(
    `select count(*) as n, ${exactSumSql('x', 1)} as x, ${exactSumSql('y', 1)} as y from ${source}`,
  )
  const n = first!.n as number
  const centered = `(select x - ${double(readSum(first!.x, 1) / n)} as u, y - ${double(readSum(first!.y, 1) / n)} as v from ${source})`
  const [widest] = await table.query(`select max(abs(u)) as u, max(abs(v)) as v from ${centered}`)
  const u = powerAbove(widest!.u as number)
  const v = powerAbove(widest!.v as number)
  const [second] = await table.query(
    `select ${exactSumSql('u', u)} as u, ${exactSumSql('v', v)} as v, ${exactSumSql('u * u', u * u)} as uu,
       ${exactSumSql('v * v', v * v)} as vv, ${exactSumSql('u * v', u * v)} as uv from ${centered}`,
  )
  const restU = readSum(second!.u, u)
  const restV = readSum(second!.v, v)
  const uu = readSum(second!.uu, u * u) - restU ** 2 / n
  const vv = readSum(second!.vv, v * v) - restV ** 2 / n
  const uv = readSum(second!.uv, u * v) - (restU * restV) / n
  return Math.min(1, Math.max(-1, uv / Math.sqrt(uu) / Math.sqrt(vv)))
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
  return value === null ? 'unknown' : value.toFixed(3)
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
