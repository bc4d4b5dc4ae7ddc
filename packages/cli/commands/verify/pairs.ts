/** Pairs the marks of two texts of one template: in order, and only marks with origins of one kind. */
import type { Mark, Origin } from '@assay/model/provenance'

/**
 * Returns the kind of an origin. Rows and positions in lists differ from run to run; blocks, fields, columns and
 * variables do not.
 */
function kindOf({ block, field, column, variable, run }: Origin, whole: boolean): string {
  const path = whole ? [field?.replace(/\d+/g, '#') ?? '', column ?? ''] : []
  return [block ?? '', variable ?? '', run ?? '', ...path].join('\n')
}

/** Returns the key of a mark. Marks with equal keys may be the same place of the template. */
function keyOf({ from, more, fact, table, by }: Mark): string {
  const kinds = new Set(from.map((origin) => kindOf(origin, more === undefined)))
  const columns = table?.columns.map(({ name }) => name) ?? null
  return JSON.stringify([[...kinds].toSorted(), fact ?? null, columns, by === 'unrecorded'])
}

/**
 * Returns pairs of indexes in `before` and `after` that are the same place of the template: the longest pairing in
 * order, and the earliest of equally long ones.
 */
export function pairsOf(before: readonly Mark[], after: readonly Mark[]): [number, number][] {
  const [left, right] = [before.map(keyOf), after.map(keyOf)]
  const width = right.length + 1
  /** The most pairs in the rest of both lists, from each pair of indexes on. */
  const most = new Uint16Array((left.length + 1) * width)
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      most[i * width + j] =
        left[i] === right[j]
          ? most[(i + 1) * width + j + 1]! + 1
          : Math.max(most[(i + 1) * width + j]!, most[i * width + j + 1]!)
  const pairs: [number, number][] = []
  let [i, j] = [0, 0]
  while (i < left.length && j < right.length) {
    if (left[i] === right[j]) pairs.push([i++, j++])
    else if (most[(i + 1) * width + j]! >= most[i * width + j + 1]!) i++
    else j++
  }
  return pairs
}
