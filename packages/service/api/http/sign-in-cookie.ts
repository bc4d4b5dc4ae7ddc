/**
 * The cookie of a sign-in, which scripts cannot read, and the pages whose requests may use it. A browser adds the cookie by
 * itself, so a page of another site could make requests in its user's name (OWASP, "Cross-Site Request Forgery Prevention").
 * Two walls: SameSite=Strict, and what the browser says of the page that asks (Fetch Metadata, or Origin where it is absent).
 */
import { AppError } from '@assay/model/errors'
import type { FastifyRequest } from 'fastify'
import { prefixOf } from '../prefix.ts'

const SAFE = ['GET', 'HEAD', 'OPTIONS']
const NAME = 'assay_sign_in'

/** How a cookie of this service is set. */
export interface CookieForm {
  /** The path of the service, without a slash at its end. */
  path: string
  secure: boolean
}

/** Behind a proxy that ends TLS the public address says so. */
export function cookieForm({ protocol }: FastifyRequest, publicUrl: string | null): CookieForm {
  const secure = protocol === 'https' || publicUrl?.startsWith('https:') === true
  return { path: prefixOf(publicUrl), secure }
}

/**
 * Behind https only this host can have set a cookie whose name begins so (RFC 6265bis): `__Host-`, which takes the whole host. Below
 * a path it is `__Secure-`, and the other programs of the host do not get it.
 */
export function cookieName(name: string, { path, secure }: CookieForm): string {
  return secure ? `${path === '' ? '__Host-' : '__Secure-'}${name}` : name
}

/** What stands after the value. `below`: the path within the service. */
export function cookieRest(
  seconds: number,
  site: 'Strict' | 'Lax',
  { path, secure }: CookieForm,
  below = '/',
) {
  return `Path=${path}${below}; Max-Age=${seconds}; HttpOnly; SameSite=${site}${secure ? '; Secure' : ''}`
}

/** `seconds` 0 deletes the cookie. */
export function signInCookie(secret: string, seconds: number, form: CookieForm): string {
  return `${cookieName(NAME, form)}=${secret}; ${cookieRest(seconds, 'Strict', form)}`
}

/** The secret that the request's cookie holds; null: none. */
export function signInSecret({ headers }: FastifyRequest, form: CookieForm): string | null {
  const cookies = headers.cookie
  if (cookies === undefined) return null
  const pattern = new RegExp(`(?:^|;\\s*)${cookieName(NAME, form)}=([\\w-]{1,200})(?:;|$)`)
  return pattern.exec(cookies)?.[1] ?? null
}

/** Throws `forbidden` if a page of another site asks. `proof`: a request that may change something must say where it comes from. */
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
