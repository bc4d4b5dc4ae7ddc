/** What DuckDB's errors mean for a job. DuckDB says the kind in the first words of the message, and the line below it. */

export type EngineFailure =
  | { kind: 'interrupted' }
  | { kind: 'memory' }
  /** `line` and `column` count from 1 within the statement, null where DuckDB names none. */
  | { kind: 'refused'; reason: string; line: number | null; column: number | null }

const REASON_MAX = 600
/** A failed allocation shows as one of these, by where it happened. */
const MEMORY =
  /^Out of Memory Error|bad allocation|std::bad_alloc|failed to allocate|max_temp_directory_size|could not allocate/i

/** Null where the error is not DuckDB's. */
export function engineFailure(error: unknown): EngineFailure | null {
  if (!(error instanceof Error) || error.constructor !== Error) return null
  const { message } = error
  if (message.startsWith('INTERRUPT Error')) return { kind: 'interrupted' }
  if (MEMORY.test(message)) return { kind: 'memory' }
  // "LINE 2: the line" and below it a caret; a long line is cut in front, with dots, and the caret tells nothing.
  const place = /^(LINE (\d+): )(.*)\n( *)\^/m.exec(message)
  const column = place && !place[3]!.startsWith('...') ? place[4]!.length - place[1]!.length + 1 : null
  const reason = message
    .split(/\n\s*\nLINE \d+:/)[0]!
    .replace(/\s*\n\s*/g, ' ')
    .trim()
  return {
    kind: 'refused',
    reason: reason.slice(0, REASON_MAX),
    line: place ? Number(place[2]) : null,
    column,
  }
}
