/** Cursors, which say where the next page of a list begins. Clients return them unread. */
import { AppError } from '@assay/model/errors'

export type Position = (string | number)[]

/** Makes a cursor. `list` names the list that it belongs to, so that other lists refuse it. */
export function encodeCursor(list: string, position: Position): string {
  return Buffer.from(JSON.stringify([list, ...position])).toString('base64url')
}

function refused(): AppError {
  const message = 'must be a next_cursor of this list'
  return new AppError('invalid', 'The cursor does not belong to this list: begin again without one.', {
    errors: [{ path: 'cursor', message }],
  })
}

/** Returns the position in a cursor of this list, whose parts have the types of `shape`. Throws `invalid`. */
export function decodeCursor(
  list: string,
  cursor: string,
  shape: readonly ('string' | 'number')[],
): Position {
  let parts: unknown
  try {
    parts = JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))
  } catch {
    throw refused()
  }
  if (!Array.isArray(parts) || parts[0] !== list || parts.length !== shape.length + 1) throw refused()
  const position = parts.slice(1) as Position
  const fits = position.every(
    (part, index) =>
      typeof part === shape[index] &&
      (typeof part === 'string' ? part.length <= 255 : Number.isSafeInteger(part)),
  )
  if (!fits) throw refused()
  return position
}
