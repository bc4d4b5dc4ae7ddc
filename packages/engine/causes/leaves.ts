/**
 * Defines the leaves of a search for causes: one for each combination of values that occurs, with its expected and its
 * observed value. An element is the set of leaves that fixed values of some attributes select ("country = DE and
 * channel = paid"). A cuboid is all elements over the same attributes.
 */

export interface Leaves {
  /** For each attribute, the code of each leaf's value, from 0. */
  codes: readonly Int32Array[]
  /** The number of values of each attribute. */
  sizes: readonly number[]
  /** The expected values, or those before. */
  before: Float64Array
  after: Float64Array
  /** The variances of `before` and `after` from the rows; null if the leaves themselves must show them. */
  variances: { before: Float64Array; after: Float64Array } | null
  /**
   * Whether the rows show only a part of the variance, because a row of many units does not show what moves it beyond
   * chance.
   */
  partly?: boolean
}

/** The leaves of one cuboid by its elements: those of element `e` are `members[starts[e]]` to before `members[starts[e + 1]]`. */
export interface Cuboid {
  attributes: readonly number[]
  /** The element of each leaf. */
  element: Int32Array
  starts: Int32Array
  members: Int32Array
}

/** The most cells of a table. A table of this size is faster than a map. */
const MOST_CELLS = 4_000_000

/** Returns every set of 1 to `depth` attributes, small sets first. */
export function attributeSets(attributes: number, depth: number): number[][] {
  const sets: number[][] = []
  let level: number[][] = [[]]
  for (let size = 1; size <= Math.min(depth, attributes); size++) {
    level = level.flatMap((set) =>
      Array.from({ length: attributes }, (_, attribute) => attribute)
        .filter((attribute) => attribute > (set.at(-1) ?? -1))
        .map((attribute) => [...set, attribute]),
    )
    sets.push(...level)
  }
  return sets
}

/** Groups the leaves by the given attributes. Elements are numbered in the order of their first leaf. */
export function cuboidOf(leaves: Leaves, attributes: readonly number[]): Cuboid {
  const n = leaves.before.length
  let element = new Int32Array(n)
  let elements = 1
  for (const attribute of attributes) {
    const found = refined(element, elements, leaves.codes[attribute]!, leaves.sizes[attribute]!)
    element = found.element
    elements = found.elements
  }
  const starts = new Int32Array(elements + 1)
  for (let leaf = 0; leaf < n; leaf++) starts[element[leaf]! + 1]!++
  for (let e = 0; e < elements; e++) starts[e + 1]! += starts[e]!
  const next = starts.slice()
  const members = new Int32Array(n)
  for (let leaf = 0; leaf < n; leaf++) members[next[element[leaf]!]!++] = leaf
  return { attributes, element, starts, members }
}

function refined(element: Int32Array, elements: number, codes: Int32Array, size: number) {
  const n = element.length
  const finer = new Int32Array(n)
  let count = 0
  if (elements * size <= MOST_CELLS) {
    const numbers = new Int32Array(elements * size)
    for (let leaf = 0; leaf < n; leaf++) {
      const cell = element[leaf]! * size + codes[leaf]!
      if (numbers[cell] === 0) numbers[cell] = ++count
      finer[leaf] = numbers[cell]! - 1
    }
  } else {
    const numbers = new Map<number, number>()
    for (let leaf = 0; leaf < n; leaf++) {
      const cell = element[leaf]! * size + codes[leaf]!
      let number = numbers.get(cell)
      if (number === undefined) numbers.set(cell, (number = count++))
      finer[leaf] = number
    }
  }
  return { element: finer, elements: count }
}
