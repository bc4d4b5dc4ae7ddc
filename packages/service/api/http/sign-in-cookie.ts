/**
 * The cookie of a sign-in, which scripts cannot read, and the pages whose requests may use it. A browser adds the cookie by
 * itself, so a page of another site could make requests in its user's name (OWASP, "Cross-Site Request Forgery Prevention").
 * Two walls: SameSite=Strict, and what the browser says of the page that asks (Fetch Metadata, or Origin where it is absent).
 */
import { AppError } from '@assay/model/errors'
import type { FastifyRequest } from 'fastify'

const SAFE = ['GET', 'HEAD', 'OPTIONS']
/** Behind https only this host can have set a cookie of this name (RFC 6265bis, "__Host-"). */
const NAMES = { https: '__Host-assay_sign_in', http: 'assay_sign_in' } as const

type Scheme = keyof typeof NAMES

/** Behind a proxy that ends TLS the public address says so. */
export function schemeOf({ protocol }: FastifyRequest, publicUrl: string | null): Scheme {
  return protocol === 'https' || publicUrl?.startsWith('https:') === true ? 'https' : 'http'
}

/** `seconds` 0 deletes the cookie. */
export function signInCookie(secret: string, seconds: number, scheme: Scheme): string {
  const rest = `Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict`
  return `${NAMES[scheme]}=${secret}; ${rest}${scheme === 'https' ? '; Secure' : ''}`
}

/** The secret that the request's cookie holds; null: none. */
export function signInSecret({ headers }: FastifyRequest, scheme: Scheme): string | null {
  const cookies = headers.cookie
  if (cookies === undefined) return null
  return new RegExp(`(?:^|;\\s*)${NAMES[scheme]}=([\\w-]{1,200})(?:;|$)`).exec(cookies)?.[1] ?? null
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
