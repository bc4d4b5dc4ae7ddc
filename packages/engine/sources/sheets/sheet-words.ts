/** Says which sheet of a workbook is read if none was named. */
import type { FoundSheet } from '@assay/model/dialect'

const SHOWN = 10

function listed(names: readonly string[]): string {
  const shown = names.slice(0, SHOWN).map((name) => JSON.stringify(name))
  return names.length > SHOWN ? `${shown.join(', ')} and ${names.length - SHOWN} more` : shown.join(', ')
}

/** Returns the sentence. `what`: the file, as the beginning of the sentence. */
export function sheetSentence(what: string, { is, others, hidden }: FoundSheet): string {
  const more = hidden.length === 0 ? '' : `; hidden: ${listed(hidden)}`
  return `${what} has several sheets, and the first that is not hidden is read: ${JSON.stringify(is)}. The others are ${listed(others)}${more}.`
}

/** Returns the question that the author of a draft must answer, or null if there is no choice. */
export function sheetQuestion(sheet: FoundSheet | undefined) {
  if (sheet?.sure !== 'likely') return null
  const readings = [sheet.is, ...sheet.others]
    .slice(0, 2 * SHOWN)
    .map((name) => ({ as: `The sheet ${JSON.stringify(name)}`, write: `sheet: ${JSON.stringify(name)}` }))
  return { column: 'sheet', says: sheetSentence('The file', sheet), readings }
}
