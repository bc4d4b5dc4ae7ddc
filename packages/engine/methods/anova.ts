/**
 * anova: one-way analysis of variance. F = (SSB / (k - 1)) / (SSW / (n - k)), Fisher (1925); eta squared (`r_squared`)
 * is SSB / (SSB + SSW). Sums about shifts, exact (moments.ts). One row for each group is fetched, at most 10,000.
 */
import Type, { type Static } from 'typebox'
import { fUpper } from '../numeric/distributions.ts'
import { exactSum } from '../numeric/sum.ts'
import { groupedColumns, groupSql, numberSql } from './shared/columns.ts'
import { cell, integer, number, pAdjusted, rowsWith } from './shared/fields.ts'
import type { Method } from './shared/method.ts'
import { type Grouped, type GroupMoments, groupMoments } from './shared/moments.ts'
import { count, figure, finite, label, percent, probability } from './shared/sentence.ts'

const Options = Type.Object({ value: Type.String(), by: Type.String() }, { additionalProperties: false })

const METHOD = 'one-way analysis of variance'
const NOTHING = {
  f: null,
  p: null,
  df_between: null,
  df_within: null,
  ss_between: null,
  ss_within: null,
  ms_between: null,
  ms_within: null,
  r_squared: null,
  residual_sd: null,
}

export const anova: Method = {
  name: 'anova',
  options: Options,
  columns: groupedColumns,
  fields: {
    f: number,
    p: number,
    p_adjusted: pAdjusted,
    r_squared: number,
    df_between: integer,
    df_within: integer,
    ss_between: number,
    ss_within: number,
    ms_between: number,
    ms_within: number,
    residual_sd: number,
    groups: rowsWith({ group: cell, n: integer, mean: number, sd: number }),
  },
  async run(table, options) {
    const { value, by } = options as Static<typeof Options>
    const group = groupSql(table, 'by', by)
    const grouped = await groupMoments(table, group, numberSql(table, 'value', value))
    const { groups, unit, left } = grouped
    const n = groups.reduce((sum, one) => sum + one.n, 0)
    const notes = left > 0 ? [`${count(left, 'row')} without a group or a finite value left out.`] : []
    const listed = groups.map((one) => ({
      group: one.group,
      n: one.n,
      mean: finite(one.mean * unit),
      sd: one.n > 1 ? finite(Math.sqrt(one.squares / (one.n - 1)) * unit) : null,
    }))
    if (groups.length < 2 || n <= groups.length) {
      const summary = `Not enough data to compare ${value} by ${by}: ${count(groups.length, 'group')} with ${count(n, 'value')} (two groups are needed, and more values than groups).`
      return { summary, n, method: METHOD, notes, ...NOTHING, groups: listed }
    }
    const fields = fieldsOf(grouped, n)
    const found = [...notes, ...notesOf(groups)]
    return {
      summary: sentence(value, by, n, grouped, fields),
      n,
      method: METHOD,
      notes: found,
      ...fields,
      groups: listed,
    }
  },
}

function fieldsOf({ groups, unit }: Grouped, n: number) {
  const dfBetween = groups.length - 1
  const dfWithin = n - groups.length
  const offsets = groups.map((group) => group.offset)
  const grand = exactSum(offsets.map((offset, index) => offset * groups[index]!.n)) / n
  const between = exactSum(offsets.map((offset, index) => groups[index]!.n * (offset - grand) ** 2))
  const within = exactSum(groups.map((group) => group.squares))
  const f = between / dfBetween / (within / dfWithin)
  return {
    f: finite(f),
    p: Number.isFinite(f) ? fUpper(f, dfBetween, dfWithin) : null,
    df_between: dfBetween,
    df_within: dfWithin,
    ss_between: finite(between * unit * unit),
    ss_within: finite(within * unit * unit),
    ms_between: finite((between / dfBetween) * unit * unit),
    ms_within: finite((within / dfWithin) * unit * unit),
    r_squared: between + within > 0 ? finite(between / (between + within)) : null,
    residual_sd: finite(Math.sqrt(within / dfWithin) * unit),
  }
}

function sentence(
  value: string,
  by: string,
  n: number,
  { groups, unit }: Grouped,
  fields: ReturnType<typeof fieldsOf>,
): string {
  const ordered = groups.toSorted((a, b) => b.offset - a.offset)
  const high = ordered[0]!
  const low = ordered.at(-1)!
  if (fields.r_squared === null)
    return `${value} is the same in every row, whatever ${by} is (n = ${count(n, 'row')}).`
  const gap = (high.offset - low.offset) * unit
  const range = `highest in ${label(high.group)} (mean ${figure(high.mean * unit, gap)}), lowest in ${label(low.group)} (${figure(low.mean * unit, gap)})`
  if (fields.f === null)
    return `${value} does not vary within the groups of ${by}, only between them: ${range} (n = ${count(n, 'row')}).`
  const verdict = fields.p! < 0.05 ? 'differs between' : 'does not differ detectably between'
  return (
    `${value} ${verdict} the ${count(groups.length, 'group')} of ${by}: F(${fields.df_between}, ${fields.df_within}) = ` +
    `${figure(fields.f)}, ${probability(fields.p)}; they explain ${percent(fields.r_squared)} of its variance (n = ${count(n, 'row')}). ` +
    `It is ${range}.`
  )
}

function notesOf(groups: readonly GroupMoments[]): string[] {
  const notes: string[] = []
  const single = groups.filter((group) => group.n < 2).length
  if (single > 0)
    notes.push(`${count(single, 'group')} of a single value: nothing is known of the spread there.`)
  const sds = groups.filter((group) => group.n >= 5).map((group) => Math.sqrt(group.squares / (group.n - 1)))
  const widest = Math.max(...sds)
  const narrowest = Math.min(...sds)
  if (sds.length > 1 && widest > 3 * narrowest) {
    notes.push(
      'The groups spread very differently (standard deviations differ more than threefold), which the F test does not allow for.',
    )
  }
  return notes
}
