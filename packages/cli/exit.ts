/** The exit codes that scripts can rely on (docs/cli.md), and the code of each error. */
import { ClientError } from '@assay/client'
import { AppError } from '@assay/model/errors'
import { SignatureError } from '@assay/model/signature'
import { ConfigError } from '@assay/service/config/config'

export const EXIT = {
  ok: 0,
  /** The job failed or was canceled, faults were found, a number does not hold, or a delivery did not arrive. */
  failed: 1,
  usage: 2,
  notFound: 3,
  /** The service refuses the request: a conflict, or a value or file that does not fit. */
  refused: 4,
  unavailable: 69,
  internal: 70,
  later: 75,
  forbidden: 77,
  config: 78,
  interrupted: 130,
} as const

/** A command line that cannot be understood. The sentence says what to write instead. */
export class UsageError extends Error {}

/** A command that ends with a sentence and a code. */
export class ExitError extends Error {
  readonly code: number

  constructor(code: number, message: string) {
    super(message)
    this.code = code
  }
}

function codeOfStatus(status: number): number {
  if (status === 404) return EXIT.notFound
  if (status === 401 || status === 403) return EXIT.forbidden
  if (status === 429 || status === 202) return EXIT.later
  if (status >= 400 && status < 500) return EXIT.refused
  return EXIT.unavailable
}

/** Returns the message with the words of the database, which only the operator of a node sees. */
function withCause({ code, message, cause }: AppError): string {
  if (code !== 'store_unavailable' || !(cause instanceof Error)) return message
  const said = cause.message.replace(/\.$/, '')
  const where = message.includes('database') ? ' (ASSAY_STORE says where it is.)' : ''
  return message.includes(said) ? message : `${message} It said: ${said}.${where}`
}

/** Returns the message and the exit code of an error. An unexpected error is shown with its stack. */
export function describeFailure(error: unknown): { code: number; message: string } {
  if (error instanceof UsageError) return { code: EXIT.usage, message: error.message }
  if (error instanceof ExitError) return { code: error.code, message: error.message }
  if (error instanceof SignatureError && error.fault === 'key_invalid')
    return { code: EXIT.usage, message: `--secret: ${error.message}` }
  if (error instanceof ConfigError) return { code: EXIT.config, message: error.message }
  if (error instanceof ClientError) {
    const request = error.problem ? ` (request ${error.problem.request_id})` : ''
    const shown = error.status >= 500 ? `${error.message}${request}` : error.message
    return { code: error.code === 'invalid' ? EXIT.refused : codeOfStatus(error.status), message: shown }
  }
  if (error instanceof AppError) return { code: codeOfStatus(error.status), message: withCause(error) }
  if (error instanceof Error && error.name === 'AbortError')
    return { code: EXIT.interrupted, message: 'Interrupted.' }
  return {
    code: EXIT.internal,
    message: error instanceof Error ? (error.stack ?? error.message) : String(error),
  }
}
