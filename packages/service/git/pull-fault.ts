/** Says in a sentence for authors and the operator why a pull failed. The sentence holds no secret. */
import { BlockedError, ResolveError } from '@assay/net/unreached'
import { TooLargeError } from './transport/http-client.ts'
import { UNFOLDED_MOST, UnfoldsError } from './transport/pack-bound.ts'

/** A failed pull. The message is the sentence. */
export class PullError extends Error {}

function ofStatus(status: number): string {
  if (status === 401)
    return 'refuses the token (401): set ASSAY_TEMPLATES_TOKEN, and ASSAY_TEMPLATES_USER if it asks for a name'
  if (status === 403) return 'does not let the token do this with the repository (403)'
  if (status === 404) return 'knows no such repository (404), or the token may not read it'
  if (status >= 300 && status < 400)
    return `sends the request on to another address (${status}): set ASSAY_TEMPLATES to the address where the repository is`
  return `answered with the status ${status}`
}

/** Returns the sentence of any error of isomorphic-git, undici or the guard. */
export function pullFault(error: unknown): string {
  if (error instanceof PullError) return error.message
  if (error instanceof UnfoldsError)
    return `The commit is damaged, or its files have more than ${UNFOLDED_MOST / 1e6} MB together: keep large files in another repository.`
  if (error instanceof TooLargeError)
    return 'The commit has more than 50 MB: give the templates a repository of their own.'
  if (error instanceof BlockedError)
    return 'The git server has an address that this service may not reach: an operator can open it with ASSAY_CONNECTION_TARGETS.'
  if (error instanceof ResolveError)
    return `The host name of the git server cannot be resolved (${error.code}).`
  const { code, data, message } = error as { code?: string; data?: { statusCode?: number }; message?: string }
  if (code === 'HttpError' && data?.statusCode !== undefined)
    return `The git server ${ofStatus(data.statusCode)}.`
  if (code === 'SmartHttpError' || code === 'ParseError')
    return 'What answers at the address is not a git server: ASSAY_TEMPLATES must be the address that "git clone" takes.'
  if (code === 'EmptyServerResponseError') return 'The git server sent an empty answer.'
  if (typeof code === 'string' && /^(UND_ERR|E[A-Z]+$|CERT|DEPTH|ERR_TLS|ERR_SSL|SELF|UNABLE)/.test(code))
    return `The git server cannot be reached (${code}).`
  return `The repository could not be read: ${message ?? String(error)}`
}
