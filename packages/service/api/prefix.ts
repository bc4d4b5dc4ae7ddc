/**
 * The path below which a proxy shows the service, such as "/assay". It is the path of ASSAY_PUBLIC_URL. Some proxies
 * pass it on and some remove it, so requests are accepted with and without it. Addresses in answers have it.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

/** Returns the prefix without a slash at its end; "" if the service has a host of its own. */
export function prefixOf(publicUrl: string | null): string {
  return publicUrl === null ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
}

/**
 * The documents that tell agents how to sign in. They stand at the root of the host, before the prefix (RFC 8414, RFC
 * 9728).
 */
const METADATA = /^(\/\.well-known\/oauth-[a-z-]+)(\/.*)$/s

/** Returns the path within the service. */
function withoutPrefix(url: string, prefix: string): string {
  const metadata = METADATA.exec(url)
  if (metadata) return metadata[1]! + withoutPrefix(metadata[2]!, prefix).replace(/^\/(?=\?|$)/, '')
  if (!url.startsWith(prefix)) return url
  const rest = url.slice(prefix.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : url
}

/** Returns the option of Fastify by which routes see the path within the service. */
export function rewriteOf(prefix: string): { rewriteUrl?: (request: IncomingMessage) => string } {
  return prefix === '' ? {} : { rewriteUrl: ({ url = '/' }) => withoutPrefix(url, prefix) }
}

/**
 * Puts the prefix before addresses in answers that begin at the root of the service. A repeated answer has it
 * already.
 */
export function prefixLocations(app: FastifyInstance, prefix: string): void {
  if (prefix === '') return
  app.addHook('onSend', (_request, reply, payload, done) => {
    const location = reply.getHeader('location')
    if (typeof location === 'string' && location.startsWith('/') && !location.startsWith(`${prefix}/`))
      void reply.header('location', prefix + location)
    done(null, payload)
  })
}
