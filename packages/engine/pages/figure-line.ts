/** The first figure of an insight in one line, for the subject of a mail: "Late flights 27.3 %, up 3.7 points". */
import type { Reading } from '@assay/model/reading'

/** Null: there is no figure, or it is doubtful, or the insight must not be read as an answer. */
export function figureLine(reading: Reading | null): string | null {
  const tile = reading?.tiles[0]
  if (!reading || !tile || tile.value === null || tile.doubt !== null) return null
  if (reading.blockers.length > 0 || reading.grade === 'withheld') return null
  const [change] = tile.changes
  // What it is beside stands in the mail.
  const moved = change?.text.replace(/ (?:from|with) .*$/, '')
  return moved === undefined ? `${tile.label} ${tile.text}` : `${tile.label} ${tile.text}, ${moved}`
}
