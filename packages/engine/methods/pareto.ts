/**
 * pareto: tells how concentrated a sum is in its segments.
 *
 * It gives shares and cumulative shares, largest first. The Gini coefficient is G = sum((2 i - k - 1) x_i) / (k sum(x))
 * over the k segments in rising order, without the k / (k - 1) correction, as R's ineq. The Herfindahl-Hirschman index
 * is the sum of squared shares, 0 to 1. DuckDB computes exact sums and the ranks. The 1,000 largest segments are
 * fetched. A database is asked for the sum of each segment, of at most 100,000 (there/pareto.ts). Negative sums make
 * shares meaningless, so Gini and HHI are then unknown.
 */
import type { Doubt, Outcome } from '@assay/model/insight'
import { Type } from '@assay/model/schema'
import type { Static } from 'typebox'
import { leftOut } from '../verdicts/common-doubts.ts'
import { type Measure, measureOf, opening } from '../verdicts/measure.ts'
import { verbFor } from '../verdicts/nouns.ts'
import { doubt, verdict } from '../verdicts/verdict.ts'
import { amount, brief, quoted, shareOf } from '../verdicts/words.ts'
import { columnOf, groupedColumns, groupSql, nameSql, numberSql } from './shared/columns.ts'
import { integer, number, rowsWith, text } from './shared/fields.ts'
import type { Method, Relation } from './shared/method.ts'
import { count, figure, finite } from './shared/sentence.ts'
import { double, exactSumSql, powerAbove, readSum } from './shared/sums.ts'
import { segmentsThere } from './there/pareto.ts'

const Options = Type.Object({ value: Type.String(), by: Type.String() }, { additionalProperties: false })
const METHOD = 'shares, Gini (uncorrected), HHI'
const MOST = 1000
/** The share of its largest row below which a sum without that row counts as zero. */
const ROUNDING = 1e-9
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
  asks: () => true,
  async run(table, options, context) {
    const { value, by } = options as Static<typeof Options>
    const { left, n, unit, sums, query } = await (table.there ? sumsThere : sumsHere)(table, value, by)
    const doubts = leftOut(left, 'without a finite value')
    const [measure, segment] = [value, by].map((name) => measureOf(context.meanings, name)) as [
      Measure,
      Measure,
    ]
    // One scan over the sums computes the shares.
    const [whole] = await query(
      `select count(*) as segments, max(abs(v)) as size, min(v) as least, fsum(v) as total from ${sums}`,
    )
    const segments = whole!.segments as number
    const total = (whole!.total as number | null) ?? 0
    const common = { n, method: METHOD, segments, total: finite(total * unit) }
    const size = `${count(n, 'row')} in ${count(segments, 'segment')}.`
    const nothing = (headline: string, stop: Doubt[] = []): Outcome => ({
      ...verdict({ headline, grade: 'unclear', evidence: size, doubts: [...stop, ...doubts] }),
      ...NOTHING,
      ...common,
    })
    const name = opening(measure.label)
    if (n === 0)
      return nothing('', [
        doubt('too_few', `There are no values of ${measure.label}, so there is nothing to share out.`),
      ])
    if ((whole!.least as number) < 0)
      return nothing(
        `For some values of ${segment.label} the sum of ${measure.label} is below zero, so shares of the whole would mean nothing.`,
      )
    if (!(total > 0))
      return nothing('', [
        doubt(
          'constant',
          `${name} ${verbFor(measure.label)} zero for every ${segment.label}: nothing is concentrated.`,
        ),
      ])
    const { gini, hhi, rows, largest } = await shares(query, sums, segments, whole!.size as number, unit)
    const top = [1, 5, 10, 20]
      .filter((k) => k < segments)
      .map((k) => ({ k, share: rows[Math.min(k, rows.length) - 1]!.cumulative }))
    const decides = oneRow(largest, unit, rows, total, [measure, segment])
    const single =
      segments === 1 ? [doubt('constant', `There is only one ${segment.label} in the data.`)] : []
    const told = verdict({
      headline: headline(measure, segment, segments, rows),
      grade: 'firm',
      evidence: `Total ${amount(finite(total * unit), measure)}; ${size.slice(0, -1)}; ${spread(gini, hhi)}.`,
      doubts: [...single, ...decides, ...doubts],
      mild: ['constant'],
    })
    return { ...told, rows, gini, hhi, top, ...common }
  },
}

interface SegmentSums {
  /** The number of rows with a finite value, and without one. */
  n: number
  left: number
  unit: number
  /**
   * A subquery with a row for each segment: its name `s`, its sum `v` over the unit, its number of rows `n`, its
   * largest value `most`.
   */
  sums: string
  query(sql: string): Promise<Record<string, unknown>[]>
}

async function sumsHere(table: Relation, value: string, by: string): Promise<SegmentSums> {
  const source = `(select ${groupSql(table, 'by', by)} as g, ${numberSql(table, 'value', value)} as v from ${table.relation})`
  const [range] = await table.query(
    `select count(*) as total, count(*) filter (isfinite(v)) as n, max(abs(v)) filter (isfinite(v)) as size from ${source}`,
  )
  const n = range!.n as number
  const unit = powerAbove((range!.size as number | null) ?? 0)
  const sums = `(select ${nameSql('g')} as s, v, n, most from (select g, fsum(v / ${double(unit)}) as v, count(*) as n, max(v) / ${double(unit)} as most from ${source} where isfinite(v) group by g))`
  return { n, left: (range!.total as number) - n, unit, sums, query: (sql) => table.query(sql) }
}

async function sumsThere(table: Relation, value: string, by: string): Promise<SegmentSums> {
  const column = columnOf(table, 'by', by)
  const measured = columnOf(table, 'value', value)
  const { rows, n, unit, segments } = await segmentsThere(table.there!, measured, column)
  // The names are written as the engine writes values of the column's type.
  const typed = nameSql(`try_cast(k as ${column.database_type})`)
  const shape = '[{"k":"VARCHAR","v":"DOUBLE","n":"BIGINT","most":"DOUBLE"}]'
  const sums = `(select coalesce(${typed}, k) as s, v, n, most from (select unnest(from_json($segments, '${shape}'), recursive := true)))`
  return {
    n,
    left: rows - n,
    unit,
    sums,
    query: (sql) => table.query(sql, { segments: JSON.stringify(segments) }),
  }
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
    `select s, v, n, most, fsum(v) over (order by v desc, s rows unbounded preceding) as running from ${sums} order by v desc, s limit ${MOST}`,
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
    largest: { n: found[0]!.n as number, most: found[0]!.most as number },
  }
}

/**
 * Returns the doubt that one row makes the largest segment. That row is more than half of the segment's sum. Without it
 * another segment is the largest, or the share falls to less than half. Segments of one or two rows are skipped,
 * because each depends on a row. Sums below zero are skipped, because shares mean nothing. `n` counts the rows of the
 * largest segment, and `most` is their largest value over the unit.
 */
function oneRow(
  { n, most }: { n: number; most: number },
  unit: number,
  rows: readonly { segment: string | null; value: number | null; share: number }[],
  total: number,
  [measure, by]: readonly [Measure, Measure],
): Doubt[] {
  const [first, second] = rows
  if (!first || !second) return []
  const left = first.share * total - most
  if (n < 3 || 2 * most <= first.share * total || !(total - most > 0)) return []
  if (left < -ROUNDING * most) return []
  const share = Math.max(0, left) / (total - most)
  const next = (second.share * total) / (total - most)
  const named = ({ segment }: { segment: string | null }): string =>
    segment === null ? `rows without ${by.label}` : quoted(segment)
  const row = first.segment === null ? `row without ${by.label}` : `row of ${named(first)}`
  const without = `Without one single ${row}, at ${amount(finite(most * unit), measure)}, `
  if (next > share)
    return [
      doubt('one_row_decides', `${without}the largest would be ${named(second)}, with ${shareOf(next)}.`),
    ]
  if (2 * share >= first.share) return []
  return [
    doubt(
      'one_row_decides',
      `${without}${named(first)} would have ${shareOf(share)} in place of ${shareOf(first.share)}.`,
    ),
  ]
}

/** Says "By country, 3 of 12 make up 80 % of revenue; the largest, "DE", has 41 %." */
function headline(
  measure: Measure,
  by: Measure,
  segments: number,
  rows: readonly { segment: string | null; cumulative: number; share: number }[],
): string {
  const first = rows[0]!.segment === null ? `rows without ${by.label}` : quoted(rows[0]!.segment)
  if (segments === 1)
    return `All ${verbFor(measure.label, 'of ', '')}${measure.label} ${verbFor(measure.label)} in one ${by.label}, ${first}.`
  const least = rows.at(-1)!
  if (segments === rows.length && rows[0]!.share - least.share < 1e-9)
    return `${opening(measure.label)} ${verbFor(measure.label)} spread evenly: each ${by.label} has ${shareOf(least.share)}.`
  const enough = rows.findIndex((row) => row.cumulative >= 0.8) + 1
  const few = enough > 0 ? enough : rows.length
  const part = rows[few - 1]!.cumulative
  if (few === 1)
    return `By ${by.label}, one of ${brief(segments)} makes up ${shareOf(part)} of ${measure.label}: ${first}.`
  if (few === segments)
    return `${opening(measure.label)} ${verbFor(measure.label)} spread over ${brief(segments)} values of ${by.label}; the largest, ${first}, has ${shareOf(rows[0]!.share)}.`
  return (
    `By ${by.label}, ${brief(few)} of ${brief(segments)} make up ` +
    `${part >= 1 ? 'all' : shareOf(part)} of ${measure.label}; the largest, ${first}, has ${shareOf(rows[0]!.share)}.`
  )
}

const spread = (gini: number, hhi: number): string =>
  `Gini ${gini.toFixed(2)}; as concentrated as ${figure(1 / hhi)} of equal size (HHI ${hhi.toFixed(3)})`
