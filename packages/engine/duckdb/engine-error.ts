/** Classifies DuckDB's errors. The first words of a message name the kind; the line of the statement follows. */
import { csvFault } from './csv-fault.ts'

export type EngineFailure =
  | { kind: 'interrupted' }
  | { kind: 'memory' }
  /** Says that the disk has no room for data that do not fit into memory. */
  | { kind: 'spill' }
  /**
   * Says that the engine refused the statement. `line` and `column` count from 1 within it; null if DuckDB names none.
   */
  | { kind: 'refused'; reason: string; line: number | null; column: number | null }

const REASON_MAX = 600
/** Matches messages of failed allocations, which differ by the place of the failure. */
const MEMORY = /^Out of Memory Error|bad allocation|std::bad_alloc|failed to allocate|could not allocate/i
const SPILL = /max_temp_directory_size|No space left on device|ENOSPC/i

/** Returns the failure; null if the error is not DuckDB's. */
export function engineFailure(error: unknown): EngineFailure | null {
  if (!(error instanceof Error) || error.constructor !== Error) return null
  const { message } = error
  if (message.startsWith('INTERRUPT Error')) return { kind: 'interrupted' }
  if (SPILL.test(message)) return { kind: 'spill' }
  if (MEMORY.test(message)) return { kind: 'memory' }
  // DuckDB prints "LINE 2: the line", then a caret below it. A long line is cut at its start, with dots, which makes
  // the caret useless.
  const place = /^(LINE (\d+): )(.*)\n( *)\^/m.exec(message)
  const column = place && !place[3]!.startsWith('...') ? place[4]!.length - place[1]!.length + 1 : null
  const table = csvFault(message)
  const reason =
    table ??
    message
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
