/** Handles rows without a number. What they would add to a segment is unknown, so it must not look like a fall. */
import type { Cell } from '@assay/model/insight'
import type { Time } from '../../series/load.ts'
import type { ReadSeries } from '../../series/read.ts'
import { cellSql, columnOf, numberSql, timeColumn } from '../shared/columns.ts'
import type { Relation } from '../shared/method.ts'
import type { Measures } from './measures.ts'
import type { Scanned } from './scanned.ts'
import type { Segment } from './segments.ts'

/** The largest share of a sum at one time that may be unknown. */
const UNKNOWN = 0.05

/** Returns the cells that hold rows without a number. */
export async function lackingOf(
  table: Relation,
  options: Measures,
  { names, whole }: { names: readonly Cell[][]; whole: ReadSeries },
): Promise<Scanned['lacking']> {
  const column = timeColumn(table, options.time)
  const by = options.by.map((name, index) => `${cellSql(columnOf(table, 'by', name))} as d${index}`)
  const value = numberSql(table, 'value', options.value!)
  const source = `(select ${cellSql(column)} as t, ${by.join(', ')}, coalesce(isfinite(${value}), false) as known from ${table.relation})`
  const found = await table.query(
    `select * exclude (known), avg(1 - known::int)::double as share from ${source} where t is not null group by all having share > 0`,
  )
  const stepAt = new Map(whole.grid.times.map((time, step) => [time, step]))
  const codeOf = names.map((list) => new Map(list.map((name, code) => [JSON.stringify(name), code])))
  return found.flatMap((row) => {
    const step = stepAt.get(row.t as Time)
    if (step === undefined) return []
    const codes = options.by.map((_, index) => codeOf[index]!.get(JSON.stringify(row[`d${index}`])) ?? -1)
    return [{ step, codes, share: row.share as number }]
  })
}

/** Tells whether at most a twentieth of what the segment adds up at a time is unknown. */
export function isWhole({ lacking, leaf, step, codes }: Scanned, segment: Segment, at: number): boolean {
  const inside = (own: (attribute: number) => number): boolean =>
    segment.codes.every((code, attribute) => code === -1 || own(attribute) === code)
  const unknown = lacking.filter((cell) => cell.step === at && inside((attribute) => cell.codes[attribute]!))
  if (unknown.length === 0) return true
  const known = leaf.filter((of, row) => step[row] === at && inside((attribute) => codes[attribute]![of]!))
  const gone = unknown.reduce((sum, { share }) => sum + share, 0)
  const empty = unknown.filter(({ share }) => share === 1).length
  return gone <= UNKNOWN * (known.length + empty)
}
