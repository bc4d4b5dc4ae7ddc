/** All filters by name. */
import { DISTRIBUTION_FILTERS } from './distributions.ts'
import type { Filter } from './filter.ts'
import { FORMAT_FILTERS } from './format.ts'
import { LIST_FILTERS } from './lists.ts'
import { NUMBER_FILTERS } from './numbers.ts'
import { TEXT_FILTERS } from './text.ts'

const ALL: ReadonlyMap<string, Filter> = new Map(
  [TEXT_FILTERS, NUMBER_FILTERS, LIST_FILTERS, FORMAT_FILTERS, DISTRIBUTION_FILTERS].flatMap((filters) =>
    Object.entries(filters),
  ),
)

export const FILTERS: readonly string[] = [...ALL.keys()].toSorted()

/** Filters that read a column of rows, named by their first argument. */
export const COLUMN_FILTERS: ReadonlySet<string> = new Set(
  'sum mean min max first last pluck sort map where reject group_by'.split(' '),
)

export function filterNamed(name: string): Filter | undefined {
  return ALL.get(name)
}
