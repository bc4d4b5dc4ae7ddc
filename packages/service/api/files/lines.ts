/**
 * The lines that say how an upload is read. They arrive with the upload or with a draft, and are kept with the
 * upload.
 */
import { readLines } from '@assay/engine/drafting/draft'
import { Type } from '@assay/model/schema'
import type { Call } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'

/**
 * The most lines of a request. YAML parses them while every other request waits: the largest request takes about 50
 * ms.
 */
const LINES_MOST = 40
/** The most characters of all lines together, for the same reason. */
const CHARACTERS_MOST = 6_000

export const Lines = Type.Array(Type.String({ minLength: 1, maxLength: 400 }), { maxItems: LINES_MOST })

/** Several lines as one text, for the query of an address. */
export const LinesText = Type.String({ maxLength: CHARACTERS_MOST })

/** Returns the keys of a source that the lines set. Throws a 422 for a line that no source can have. */
export function keysOfLines(lines: readonly string[]): Record<string, unknown> {
  if (lines.length > LINES_MOST)
    throw invalid([{ path: 'dialect', message: `holds more than ${LINES_MOST} lines` }])
  if (lines.join('').length > CHARACTERS_MOST)
    throw invalid([{ path: 'dialect', message: `holds more than ${CHARACTERS_MOST} characters in all` }])
  const keys = readLines(lines)
  if (typeof keys !== 'number') return keys
  throw invalid([
    {
      path: `dialect.${keys}`,
      message:
        'is not a line of a source: write one such as dates: dmy, decimal: ",", missing: [NA] or columns: { due: { dates: mdy } }',
    },
  ])
}

/** Keeps the lines with an upload. An empty list deletes those that were kept. */
export async function keepLines(call: Call, path: string, lines: readonly string[]): Promise<void> {
  const { services, principal } = call
  const { workspace_id } = principal
  const store = services.store.audited({ ...services.audit.record('file.declare', call), object_id: path })
  await (lines.length === 0
    ? store.deleteFileDialect({ workspace_id, path })
    : store.keepFileDialect({ workspace_id, path, lines: [...lines] }))
}

/** Returns the lines that the reason of a refusal offers, as in `write "bad_rows: skip"`. */
export function offeredLines(reason: string): string[] {
  return [...reason.matchAll(/"((?:bad_rows|header|list|skip|totals): [^"]+)"/g)].map(([, line]) => line!)
}
