/**
 * Errors as application/problem+json (RFC 9457), each with a code of the closed table. An unexpected error is logged and
 * answered as `internal`, without its message.
 */

import { AppError, ERRORS, type ErrorCode, type FieldError } from '@assay/model/errors'
import type { FastifyError } from 'fastify'

export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  code: ErrorCode
  request_id: string
  errors?: FieldError[]
}

export const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'

/** Seconds for Retry-After if the error names none. */
const RETRY_AFTER: Partial<Record<ErrorCode, number>> = { store_unavailable: 2, stopping: 2, queue_full: 10 }

/**
 * Returns the problem document of an error. `type` is a relative reference to this service's page of errors;
 * `prefix`: see prefix.ts.
 */
export function problemOf(error: AppError, request_id: string, prefix = ''): Problem {
  const { status, title } = ERRORS[error.code]
  return {
    type: `${prefix}/docs/errors#${error.code}`,
    title,
    status,
    detail: error.message,
    code: error.code,
    request_id,
    ...(error.errors ? { errors: error.errors } : {}),
  }
}

export function problemHeaders(error: AppError): Record<string, string> {
  const retryAfter = error.retryAfter ?? RETRY_AFTER[error.code]
  return {
    ...error.headers,
    ...(retryAfter === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil(retryAfter))) }),
  }
}

const FRAMEWORK: Record<string, [ErrorCode, string]> = {
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: ['bad_request', 'The body is not as long as Content-Length says.'],
  FST_ERR_BAD_URL: ['bad_request', 'The path has a percent sign that starts no valid UTF-8 character.'],
  FST_ERR_MAX_PARAM_LENGTH: ['bad_request', 'A part of the path is too long.'],
}

/** Returns a number of bytes that is a power of two with its unit: "16 KiB". */
const sizeOf = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${bytes / 1024} KiB` : `${bytes / 1024 / 1024} MiB`

/**
 * Returns the error of the table for an error of Fastify, Node or our own code, or null for an unexpected one.
 * `bodyBytes` is the limit of the route.
 */
export function expectedError(error: unknown, bodyBytes: number): AppError | null {
  if (error instanceof AppError) return error
  const { code = '', statusCode = 500 } = error as Partial<FastifyError>
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
    const told = `The body is larger than ${sizeOf(bodyBytes)}: send less at a time.`
    return new AppError('payload_too_large', told, { cause: error })
  }
  const known = FRAMEWORK[code]
  if (known) return new AppError(known[0], known[1], { cause: error })
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new AppError('unsupported_media_type', 'Send the body with "Content-Type: application/json".')
  if (code === 'ECONNRESET' || statusCode === 400)
    return new AppError('bad_request', 'The request ended before it was complete: send it again.')
  return null
}

export const unexpected = (): AppError =>
  new AppError('internal', 'The service met a fault of its own: try again, or report the request_id.')

/** Returns the error for a request that Node's parser refused. Such a request has only a socket. */
export function brokenRequest(code: string | undefined): AppError {
  if (code === 'HPE_HEADER_OVERFLOW')
    return new AppError('header_too_large', 'The headers are larger than 16 KiB: send fewer or shorter ones.')
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new AppError('request_timeout', 'The request did not arrive in time: send it again, faster.')
  return new AppError('bad_request', 'The request is not valid HTTP/1.1: check the request line and headers.')
}

/** Returns the whole HTTP answer of an error as text, for a bare socket. */
export function rawProblem(error: AppError, request_id: string): string {
  const body = JSON.stringify(problemOf(error, request_id))
  return [
    `HTTP/1.1 ${error.status} ${ERRORS[error.code].title}`,
    `content-type: ${PROBLEM_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${request_id}`,
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
