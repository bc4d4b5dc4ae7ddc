/** Finds the known name nearest to a mistyped one, to propose it in faults. */

/** The edits between two words; swapping two neighbours counts as one (optimal string alignment). */
function distance(left: string, right: string): number {
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
    older = old
    old = now
  }
  return old[right.length]!
}

/** The nearest of `known` within a third of the word's length (at least one edit), or null. */
export function nearest(name: string, known: Iterable<string>): string | null {
  const wanted = name.slice(0, 64).toLowerCase()
  const bound = Math.max(1, Math.floor(wanted.length / 3))
  let best: string | null = null
  let least = bound + 1
  for (const candidate of known) {
    const edits = distance(wanted, candidate.slice(0, 64).toLowerCase())
    if (edits < least) {
      least = edits
      best = candidate
    }
  }
  return best
}

/** "Did you mean "x"?" if a name is near, else the list of the known names. */
export function suggest(name: string, known: Iterable<string>, otherwise = 'There is none.'): string {
  const list = [...known]
  const near = nearest(name, list)
  if (near !== null) return `Did you mean ${JSON.stringify(near)}?`
  if (list.length === 0) return otherwise
  const shown = list.slice(0, 12).join(', ')
  return `Known: ${shown}${list.length > 12 ? ', ...' : ''}.`
}
