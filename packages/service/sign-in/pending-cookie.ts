/**
 * The cookie of a sign-in under way at the provider. It holds, sealed, what any node needs when the browser returns.
 * The provider's page sends the browser back, so the cookie is SameSite=Lax.
 */
import type { FastifyRequest } from 'fastify'
import { type CookieForm, cookieName, cookieRest } from '../api/http/sign-in-cookie.ts'
import { type SecretBox, SecretError } from '../runtime/secrets.ts'
import type { Begun } from './provider.ts'

const NAME = 'assay_begun'
const CONTEXT = 'sign-in at the provider'
const SECONDS = 600
const SEALED_MOST = 4000

export interface Pending extends Begun {
  /** The address of the console to which the browser returns. */
  next: string
  /** The end of the sign-in, in milliseconds since 1970. */
  ends: number
}

const cookie = (value: string, seconds: number, form: CookieForm): string =>
  `${cookieName(NAME, form)}=${value}; ${cookieRest(seconds, 'Lax', form)}`

export function pendingCookie(
  secrets: SecretBox,
  begun: Begun & { next: string },
  now: number,
  form: CookieForm,
): string {
  const pending: Pending = { ...begun, ends: now + SECONDS * 1000 }
  return cookie(secrets.sealForOthers(JSON.stringify(pending), CONTEXT), SECONDS, form)
}

export const noPendingCookie = (form: CookieForm): string => cookie('', 0, form)

/** Returns the pending sign-in of the browser. Null if there is none or its time is over. */
export function pendingOf(
  secrets: SecretBox,
  { headers }: FastifyRequest,
  now: number,
  form: CookieForm,
): Pending | null {
  const cookies = headers.cookie ?? ''
  const sealed = new RegExp(`(?:^|;\\s*)${cookieName(NAME, form)}=([\\w.-]{1,${SEALED_MOST}})(?:;|$)`).exec(
    cookies,
  )?.[1]
  if (sealed === undefined) return null
  try {
    const pending = JSON.parse(secrets.open(sealed, CONTEXT)) as Pending
    return pending.ends > now ? pending : null
  } catch (error) {
    if (error instanceof SecretError) return null
    throw error
  }
}
