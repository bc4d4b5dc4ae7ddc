/**
 * pareto: how concentrated a sum is in its segments.
 *
 * Shares and cumulative shares, largest first; the Gini coefficient G = sum((2 i - k - 1) x_i) / (k sum(x)) over the k
 * segments in rising order, without the k / (k - 1) correction, as R's ineq; the Herfindahl-Hirschman index as the sum of
 * squared shares, 0 to 1. DuckDB computes exact sums and the ranks; the 1,000 largest segments are fetched.
 * Negative sums make shares meaningless: Gini and HHI are then unknown.
 */

import type { Outcome } from '@assay/model/insight'
import Type, { type Static } from 'typebox'
import { groupedColumns, groupSql, numberSql } from './shared/columns.ts'
import { integer, number, rowsWith, text } from './shared/fields.ts'
import type { Method } from './shared/method.ts'
import { count, figure, finite, label, percent } from './shared/sentence.ts'
import { double, exactSumSql, powerAbove, readSum } from './shared/sums.ts'

const Options = Type.Object({ value: Type.String(), by: Type.String() }, { additionalProperties: false })
const METHOD = 'shares, Gini (uncorrected), HHI'
const MOST = 1000
const NOTHING = { rows: [], gini: null, hhi: null, top: [], segments: 0, total: null }

export const pareto: Method = {
  name: 'pareto',
  options: Options,
  columns: groupedColumns,
  fields: {
    rows: rowsWith({ segment: text, value: number, share: number, cumulative: number }),
    gini: number,
    hhi: number,
    top: rowsWith({ k: integer, share: number }),
    segments: integer,
    total: number,
  },
  async run(table, options) {
    const { value, by } = options as Static<typeof Options>
    const source = `(select ${groupSql(table, 'by', by)} as g, ${numberSql(table, 'value', value)} as v from ${table.relation})`
    const [range] = await table.query(
      `select count(*) as total, count(*) filter (isfinite(v)) as n, max(abs(v)) filter (isfinite(v)) as size from ${source}`,
    )
    const n = range!.n as number
    const left = (range!.total as number) - n
    const notes = left > 0 ? [`${count(left, 'row')} without a finite value left out.`] : []
    const unit = powerAbove((range!.size as number | null) ?? 0)
    // Each segment's sum over the unit. One scan over the sums computes the shares.
    const sums = `(select cast(g as varchar) as s, v from (select g, fsum(v / ${double(unit)}) as v from ${source} where isfinite(v) group by g))`
    const [whole] = await table.query(
      `select count(*) as segments, max(abs(v)) as size, min(v) as least, fsum(v) as total from ${sums}`,
    )
    const segments = whole!.segments as number
    const total = (whole!.total as number | null) ?? 0
    const nothing = (summary: string): Outcome => ({
      summary,
      n,
      method: METHOD,
      notes,
      ...NOTHING,
      segments,
      total: finite(total * unit),
    })
    if (n === 0)
      return nothing(`Not enough data to see how ${value} is spread over ${by}: there are no values.`)
    if ((whole!.least as number) < 0) {
      notes.push('Some segments are negative, so shares of the total would mislead and are not given.')
      return nothing(
        `How concentrated ${value} is cannot be said: some ${by} have negative sums (n = ${count(n, 'row')}).`,
      )
    }
    if (!(total > 0))
      return nothing(`${value} is 0 in every ${by}, so nothing is concentrated (n = ${count(n, 'row')}).`)
    const { gini, hhi, rows } = await shares(table.query, sums, segments, whole!.size as number, unit)
    const top = [1, 5, 10, 20]
      .filter((k) => k < segments)
      .map((k) => ({ k, share: rows[Math.min(k, rows.length) - 1]!.cumulative }))
    if (segments > MOST) notes.push(`${count(segments, 'segment')}; the ${MOST} largest are listed.`)
    const summary = sentence(value, by, n, segments, rows, gini, hhi, total * unit)
    return { summary, n, method: METHOD, notes, rows, gini, hhi, top, segments, total: finite(total * unit) }
  },
}

async function shares(
  query: (sql: string) => Promise<Record<string, unknown>[]>,
  sums: string,
  segments: number,
  size: number,
  unit: number,
) {
  const bound = powerAbove(size)
  const [exact] = await query(
    `select ${exactSumSql('v', bound)} as total, ${exactSumSql('v * v', bound * bound)} as squares,
       ${exactSumSql(`v * ((2 * place - ${segments} - 1) / ${segments}.0::double)`, bound)} as weighted
     from (select v, row_number() over (order by v) as place from ${sums})`,
  )
  const total = readSum(exact!.total as string, bound)
  const found = await query(
    `select s, v, fsum(v) over (order by v desc, s rows unbounded preceding) as running from ${sums} order by v desc, s limit ${MOST}`,
  )
  const rows = found.map((row) => ({
    segment: row.s as string | null,
    value: finite((row.v as number) * unit),
    share: (row.v as number) / total,
    cumulative: Math.min(1, (row.running as number) / total),
  }))
  return {
    gini: Math.max(0, readSum(exact!.weighted as string, bound) / total),
    hhi: readSum(exact!.squares as string, bound * bound) / total / total,
    rows,
  }
}

function sentence(
  value: string,
  by: string,
  n: number,
  segments: number,
  rows: readonly { segment: string | null; cumulative: number; share: number }[],
  gini: number,
  hhi: number,
  total: number,
): string {
  const end = `of a total of ${figure(finite(total))} (n = ${count(n, 'row')})`
  if (segments === 1) return `All of ${value} is in one ${by}, ${label(rows[0]!.segment)}: 100% ${end}.`
  const enough = rows.findIndex((row) => row.cumulative >= 0.8) + 1
  const most =
    enough > 0
      ? `${count(enough, 'segment')} of ${segments} (${percent(enough / segments)}) ${enough === 1 ? 'makes' : 'make'} up ${percent(rows[enough - 1]!.cumulative)} of ${value}`
      : `the ${rows.length} largest of ${count(segments, 'segment')} make up ${percent(rows.at(-1)!.cumulative)} of ${value}`
  const effective = 1 / hhi
  return (
    `By ${by}, ${most}; the largest, ${label(rows[0]!.segment)}, has ${percent(rows[0]!.share)} ${end}. ` +
    `Gini ${gini.toFixed(2)}; as concentrated as ${figure(effective)} equal segments (HHI ${hhi.toFixed(3)}).`
  )
}
