/**
 * Turns an error of openid-client, undici or the guard into a refusal. It keeps only messages and codes, because
 * causes hold answers and claims.
 */
import type * as Library from 'openid-client'
import { SignInRefusal } from './refusal.ts'

const TOLD_MOST = 300
/**
 * Codes of openid-client for answers that are not those of a sign-in provider: an error page, a redirect, a text that
 * is not JSON.
 */
const NO_ANSWER = [
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
]

const tidy = (text: string): string => text.replace(/[\p{Cc}\s]+/gu, ' ').slice(0, TOLD_MOST)

/** Returns the message with those of its causes, which name the host that could not be reached. */
function messages(error: unknown): string {
  const told: string[] = []
  for (let at: unknown = error; at instanceof Error && told.length < 4; at = at.cause) {
    const { code } = at as NodeJS.ErrnoException
    told.push(typeof code === 'string' ? `${at.message} (${code})` : at.message)
  }
  return tidy(told.join(': '))
}

export function refusalOf(error: unknown, library: typeof Library): SignInRefusal {
  if (error instanceof SignInRefusal) return error
  if (error instanceof library.AuthorizationResponseError || error instanceof library.ResponseBodyError) {
    const { error: code, error_description: more = '' } = error
    return new SignInRefusal('provider_refused', tidy(`${code} ${more}`))
  }
  const isLibrarys = error instanceof library.ClientError && error.code !== undefined
  const reason = isLibrarys && !NO_ANSWER.includes(error.code!) ? 'answer_invalid' : 'provider_unreachable'
  return new SignInRefusal(reason, messages(error))
}
