/** The class and the sentence of a failed exchange. Classes are a closed list; a sentence reveals nothing of our network. */
import type { AttemptErrorClass } from '@assay/model/delivery'
import { BlockedError, ResolveError } from '@assay/net/unreached'
import { DeadlineError, type Exchange } from './exchange.ts'

export interface AttemptError {
  class: AttemptErrorClass
  detail: string
}

const REFUSED: Record<string, string> = {
  ECONNREFUSED: 'The host refused the connection.',
  EHOSTUNREACH: 'The host cannot be reached.',
  ENETUNREACH: 'The network of the host cannot be reached.',
  EADDRNOTAVAIL: 'The host cannot be reached.',
  EACCES: 'The host cannot be reached.',
}

const NO_HTTP = new Set(['UND_ERR_HEADERS_OVERFLOW', 'UND_ERR_RES_CONTENT_LENGTH_MISMATCH'])

const BLOCKED =
  'The host is not one that this service may reach. Use a public host; an operator can open others with ASSAY_WEBHOOK_TARGETS.'

function isTls(code: string, error: Error): boolean {
  return (
    /^(ERR_TLS|ERR_SSL|EPROTO|CERT_|UNABLE_TO_|DEPTH_ZERO|SELF_SIGNED|HOSTNAME_MISMATCH|INVALID_)/.test(
      code,
    ) || 'reason' in error
  )
}

function phaseOf({ status, phases }: Exchange): string {
  if (status !== null) return 'The answer began but was not complete in time.'
  if (phases.first_byte === null && phases.connect === null && phases.tls === null && phases.dns !== null)
    return 'The connection was not made in time.'
  return 'The receiver did not answer in time.'
}

/** Returns the error of a failure below HTTP; null if there is none. */
function transportError(result: Exchange): AttemptError | null {
  const { failure, status } = result
  if (failure === null) return null
  const code = (failure as NodeJS.ErrnoException).code ?? ''
  if (failure instanceof BlockedError) return { class: 'ssrf_blocked', detail: BLOCKED }
  if (failure instanceof ResolveError)
    return { class: 'dns', detail: `The name of the host could not be resolved (${failure.code}).` }
  if (failure instanceof DeadlineError) return { class: 'timeout', detail: phaseOf(result) }
  if (code === 'UND_ERR_CONNECT_TIMEOUT' || code === 'ETIMEDOUT')
    return { class: 'timeout', detail: 'The connection was not made in time.' }
  if (REFUSED[code] !== undefined) return { class: 'refused', detail: REFUSED[code] }
  if (failure.name === 'HTTPParserError' || NO_HTTP.has(code))
    return { class: 'response_invalid', detail: 'The answer is not valid HTTP.' }
  if (status !== null)
    return { class: 'response_invalid', detail: 'The connection ended before the answer was complete.' }
  if (isTls(code, failure))
    return {
      class: 'tls',
      detail: `The secure connection failed (${code || 'handshake'}): check the certificate.`,
    }
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'UND_ERR_SOCKET')
    return { class: 'reset', detail: 'The connection was closed without an answer.' }
  return { class: 'request_invalid', detail: `The request could not be made (${code || failure.name}).` }
}

function statusError(status: number): AttemptError {
  const redirect =
    status >= 300 && status < 400 ? ' Redirects are not followed: register the final address.' : ''
  return { class: 'http_status', detail: `The receiver answered ${status}; only a 2xx counts.${redirect}` }
}

/**
 * Returns the error of an exchange; null if it was delivered. A status other than 2xx counts before a fault of its
 * body.
 */
export function attemptError(result: Exchange): AttemptError | null {
  if (result.status !== null && (result.status < 200 || result.status > 299))
    return statusError(result.status)
  return transportError(result)
}
