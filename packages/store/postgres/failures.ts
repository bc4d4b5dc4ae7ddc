/** Translates errors of PostgreSQL and of the connection into those of the contract. */
import { AppError } from '@assay/model/errors'

/** The reasons why a database cannot serve now, by SQLSTATE or its class. They reveal nothing of the inside. */
const UNUSABLE: Record<string, string> = {
  '08': 'its connections break',
  '0A000': 'it is a standby that has not been promoted, or cannot do what this service asks for',
  '25006': 'it takes no writes',
  '25P03': 'it gave up waiting for this service',
  '28': 'it does not let this service in',
  '3D': 'it is not there',
  '3F000': 'its schema is not there',
  '42501': 'this service lacks a right',
  '42703': 'its schema is not that of this program',
  '42883': 'its schema is not that of this program',
  '42P01': 'its schema is not that of this program',
  '53': 'it is out of connections, memory or disk',
  '55': 'it is closed, or what is asked for is locked',
  '57': 'it is starting, stopping or overloaded',
  '58': 'its system fails',
  XX: 'it fails',
}
/** A serialization failure and a deadlock. The same transaction may succeed when it is repeated. */
const REPEATABLE = new Set(['40001', '40P01'])
/** The driver's messages for a lost connection and for a pool that gives none. */
const BROKEN =
  /connection terminated|connection ended|timeout (exceeded|expired)|read timeout|not queryable|client was closed|after calling end/i
const SQLSTATE = /^[0-9A-Z]{5}$/
/** The function of PostgreSQL that refuses a plan whose columns changed. A standby that recovers refuses writes with the same SQLSTATE. */
const OTHER_COLUMNS = 'RevalidateCachedQuery'

export function unavailable(detail: string, cause?: unknown): AppError {
  return new AppError('store_unavailable', detail, { retryAfter: 5, cause })
}

function codeOf(error: unknown): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : ''
}

/** Tells whether the database refused the statement. The connection itself is sound then. */
function isFromDatabase(error: unknown): boolean {
  return SQLSTATE.test(codeOf(error)) && error instanceof Error && 'severity' in error
}

export function isRepeatable(error: unknown): boolean {
  return isFromDatabase(error) && REPEATABLE.has(codeOf(error))
}

/** Tells whether the statement waited too long for a lock. */
export function isLockTimeout(error: unknown): boolean {
  return isFromDatabase(error) && codeOf(error) === '55P03'
}

/**
 * Tells whether a prepared statement is unknown, exists already, or gives other columns than before: a pooler hands
 * connections on, or another version has migrated the schema. The error comes before the statement does anything.
 */
export function isUnprepared(error: unknown): boolean {
  if (!isFromDatabase(error)) return false
  if (codeOf(error) === '0A000') return (error as { routine?: unknown }).routine === OTHER_COLUMNS
  return ['26000', '42P05'].includes(codeOf(error))
}

/** Tells whether the connection broke or could not be made. */
export function isBroken(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof AppError) return false
  if (isFromDatabase(error)) return /^(08|57P)/.test(codeOf(error))
  return 'syscall' in error || /^E[A-Z]+$/.test(codeOf(error)) || BROKEN.test(error.message)
}

/** Returns why TLS to the database cannot begin, and the remedy; null for another error. */
function tlsFault(error: unknown): string | null {
  if (!(error instanceof Error) || isFromDatabase(error)) return null
  if (/does not support SSL/.test(error.message))
    return 'The database has no TLS, which sslmode in ASSAY_STORE requires: switch "ssl" on in PostgreSQL, or set sslmode=disable.'
  const code = codeOf(error)
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return 'The certificate of the database is for another host: write the name that it holds into ASSAY_STORE, or set sslmode=verify-ca.'
  if (code === 'CERT_HAS_EXPIRED') return 'The certificate of the database has expired: renew it.'
  return /CERT|SIGNATURE|^ERR_TLS/.test(code)
    ? `The certificate of the database is not trusted (${code}): name the file of its authority in sslrootcert of ASSAY_STORE.`
    : null
}

/** Turns errors that mean something to a client into AppErrors. Others stay as they are. */
export function translate(error: unknown): unknown {
  const tls = tlsFault(error)
  if (tls !== null) return unavailable(tls, error)
  if (isBroken(error)) return unavailable('The database cannot be reached: try again in a moment.', error)
  if (!isFromDatabase(error)) return error
  const code = codeOf(error)
  if (code === '23503')
    return new AppError('not_found', 'The workspace or the object does not exist any more.', {
      cause: error,
    })
  if (code === '23505')
    return new AppError('name_taken', 'The id or the value is taken: choose another.', { cause: error })
  if (code === '22021')
    return new AppError('invalid', 'A text holds the character U+0000, which PostgreSQL cannot keep.', {
      cause: error,
    })
  // Only cursors bring values from clients that have a form of their own.
  if (/^22(007|008|003|P02)$/.test(code))
    return new AppError('invalid', 'The cursor does not belong to this list: begin again without one.', {
      errors: [{ path: 'cursor', message: 'must be a next_cursor of this list' }],
      cause: error,
    })
  if (REPEATABLE.has(code))
    return unavailable('Too many requests change the same row at once: try again in a moment.', error)
  const why = UNUSABLE[code] ?? UNUSABLE[code.slice(0, 2)]
  return why === undefined
    ? error
    : unavailable(`The database cannot be used (${why}): try again in a moment.`, error)
}
