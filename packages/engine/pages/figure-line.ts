/** Writes the first figure of an insight in one line, for the subject of a mail: "Late flights 27.3 %, up 3.7 points". */
import type { Reading } from '@assay/model/reading'

/** Returns the line. Null if there is no figure, if it is doubtful, or if the insight must not be read as an answer. */
export function figureLine(reading: Reading | null): string | null {
  const tile = reading?.tiles[0]
  if (!reading || !tile || tile.value === null || tile.doubt !== null) return null
  if (reading.blockers.length > 0 || reading.grade === 'withheld') return null
  const [change] = tile.changes
  // The mail itself says with what the figure is compared.
  const moved = change?.text.replace(/ (?:from|with) .*$/, '')
  return moved === undefined ? `${tile.label} ${tile.text}` : `${tile.label} ${tile.text}, ${moved}`
}
