/**
 * The cookie of a sign-in, which scripts cannot read, and the pages whose requests may use it. A browser adds the
 * cookie by itself, so a page of another site could make requests in its user's name (OWASP, "Cross-Site Request
 * Forgery Prevention"). Two checks prevent that: SameSite=Strict, and what the browser says about the requesting page
 * (Fetch Metadata, or Origin if that is absent).
 */
import { AppError } from '@assay/model/errors'
import type { FastifyRequest } from 'fastify'
import { prefixOf } from '../prefix.ts'

const SAFE = ['GET', 'HEAD', 'OPTIONS']
const NAME = 'assay_sign_in'

/** The form in which this service sets its cookies. */
export interface CookieForm {
  /** The path of the service, without a slash at its end. */
  path: string
  secure: boolean
}

/**
 * Returns the form of cookies for a request. A public address with https makes them secure behind a proxy that ends
 * TLS.
 */
export function cookieForm({ protocol }: FastifyRequest, publicUrl: string | null): CookieForm {
  const secure = protocol === 'https' || publicUrl?.startsWith('https:') === true
  return { path: prefixOf(publicUrl), secure }
}

/**
 * Returns the name of a cookie. With https it begins with `__Host-`, which only this host can set and which covers the
 * whole host (RFC 6265bis). Below a path it begins with `__Secure-`, so that other programs of the host do not get it.
 */
export function cookieName(name: string, { path, secure }: CookieForm): string {
  return secure ? `${path === '' ? '__Host-' : '__Secure-'}${name}` : name
}

/** Returns the attributes after the value. `below` is the path within the service. */
export function cookieRest(
  seconds: number,
  site: 'Strict' | 'Lax',
  { path, secure }: CookieForm,
  below = '/',
) {
  return `Path=${path}${below}; Max-Age=${seconds}; HttpOnly; SameSite=${site}${secure ? '; Secure' : ''}`
}

/** Returns the Set-Cookie of a sign-in. `seconds` 0 deletes the cookie. */
export function signInCookie(secret: string, seconds: number, form: CookieForm): string {
  return `${cookieName(NAME, form)}=${secret}; ${cookieRest(seconds, 'Strict', form)}`
}

/** Returns the secret that the request's cookie holds; null if it has none. */
export function signInSecret({ headers }: FastifyRequest, form: CookieForm): string | null {
  const cookies = headers.cookie
  if (cookies === undefined) return null
  const pattern = new RegExp(`(?:^|;\\s*)${cookieName(NAME, form)}=([\\w-]{1,200})(?:;|$)`)
  return pattern.exec(cookies)?.[1] ?? null
}

/**
 * Throws `forbidden` if the request comes from a page of another site. With `proof`, for requests that may change
 * something, the request must say where it comes from.
 */
export function refuseForeignPage(request: FastifyRequest, publicUrl: string | null, proof: boolean): void {
  const { 'sec-fetch-site': site, origin } = request.headers
  const isSafe = SAFE.includes(request.method)
  if (site !== undefined) {
    if (site === 'same-origin' || (site === 'none' && isSafe)) return
  } else if (origin !== undefined) {
    const own = [
      `${request.protocol}://${request.host}`,
      ...(publicUrl === null ? [] : [new URL(publicUrl).origin]),
    ]
    if (own.includes(origin)) return
  } else if (isSafe || !proof) return
  throw new AppError(
    'forbidden',
    'The cookie of a sign-in is taken from pages of this service only: send a bearer token.',
  )
}
