/** Answers for the rows of a regression, whether they were fetched or are too many to be. */
import { type Design, type ManyDesign, type NamedTerm, stepIn, stepOf } from './design.ts'
import { fitGaussian } from './gaussian.ts'
import { type Asked, fitGeneral } from './general.ts'
import { fitMany } from './many.ts'
import type { Modelled } from './modelled.ts'

export type Rows = Design | ManyDesign

export const isMany = (rows: Rows): rows is ManyDesign => 'ranges' in rows

export const countOf = (rows: Rows): number => (isMany(rows) ? rows.n : rows.response.length)

/** Tells whether every y is the same. */
export const isConstant = (rows: Rows): boolean =>
  isMany(rows) ? isFlat(rows, 0) : rows.response.every((value) => value === rows.response[0])

const isFlat = ({ ranges }: ManyDesign, column: number): boolean =>
  ranges[column]!.low === ranges[column]!.high

/** Returns the first term whose column never changes. */
export const flatTerm = (rows: Rows, terms: readonly NamedTerm[]): NamedTerm | undefined =>
  terms.find((_, index) =>
    isMany(rows)
      ? isFlat(rows, index + 1)
      : rows.columns[index]!.every((value) => value === rows.columns[index]![0]),
  )

export async function fitRows(
  rows: Rows,
  terms: readonly NamedTerm[],
  asked: Asked,
): Promise<ReturnType<typeof fitGeneral>> {
  if (isMany(rows)) return fitMany(rows, terms, asked)
  return (asked.family === 'gaussian' ? fitGaussian : fitGeneral)(rows, terms, asked)
}

/** Returns the step of x for which sentences give an effect. */
export function stepFor(rows: Rows, terms: readonly NamedTerm[], { lead, spreads }: Modelled): number {
  if (!isMany(rows)) return stepIn(rows, terms, lead)
  const at = terms.findIndex(({ column, power }) => column === lead?.column && power === lead.power)
  return stepOf(spreads?.[at] ?? 0, () => rows.wholes[at + 1]!)
}
