/** Finds the known name nearest to a mistyped one, to propose it in faults. */

/**
 * Returns the edits between two words. Swapping two neighbours counts as one (optimal string alignment). If there are
 * at least `bound` edits, the result is any number of at least `bound`, so words that differ from the start cost one
 * row or two.
 */
function distance(left: string, right: string, bound: number): number {
  if (Math.abs(left.length - right.length) >= bound) return bound
  let older: number[] = []
  let old = Array.from({ length: right.length + 1 }, (_, index) => index)
  for (let row = 1; row <= left.length; row++) {
    const now = [row]
    for (let column = 1; column <= right.length; column++) {
      const same = left[row - 1] === right[column - 1] ? 0 : 1
      let best = Math.min(old[column]! + 1, now[column - 1]! + 1, old[column - 1]! + same)
      const swapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]
      if (row > 1 && column > 1 && swapped) best = Math.min(best, older[column - 2]! + 1)
      now.push(best)
    }
    if (Math.min(...old, ...now) >= bound) return bound
    older = old
    old = now
  }
  return old[right.length]!
}

/** Returns the nearest of `known` within a third of the longer word's length (one edit for two letters), or null. */
export function nearest(name: string, known: Iterable<string>): string | null {
  const wanted = name.slice(0, 64).toLowerCase()
  let best: string | null = null
  let least = Number.POSITIVE_INFINITY
  for (const candidate of known) {
    const word = candidate.slice(0, 64).toLowerCase()
    const longer = Math.max(wanted.length, word.length)
    const bound = Math.max(Math.min(1, wanted.length - 1), Math.floor(longer / 3))
    const edits = distance(wanted, word, Math.min(least, bound + 1))
    if (edits <= bound && edits < least) {
      least = edits
      best = candidate
    }
  }
  return best
}

/** Returns "Did you mean "x"?" if a name is near, else the list of the known names. */
export function suggest(name: string, known: Iterable<string>, otherwise = 'There is none.'): string {
  const list = [...known]
  const near = nearest(name, list)
  return near === null ? listed(list, otherwise) : `Did you mean ${JSON.stringify(near)}?`
}

/** Returns the near name, if there is one, and the list of the known names. */
export function suggestAmong(name: string, known: Iterable<string>, otherwise = 'There is none.'): string {
  const list = [...known]
  const near = nearest(name, list)
  return near === null
    ? listed(list, otherwise)
    : `Did you mean ${JSON.stringify(near)}? ${listed(list, otherwise)}`
}

/** The most names that are listed. Further ones are counted, because a table may have thousands of columns. */
const MOST_LISTED = 200

function listed(names: string[], otherwise: string): string {
  if (names.length === 0) return otherwise
  const rest = names.length - MOST_LISTED
  return `Known: ${names.slice(0, MOST_LISTED).join(', ')}${rest > 0 ? `, and ${rest} more` : ''}.`
}
