/**
 * The path below which a proxy shows the service, such as "/assay": that of ASSAY_PUBLIC_URL. Some proxies pass it on
 * and some remove it, so requests are accepted with and without it. Addresses in answers have it.
 */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance } from 'fastify'

/** "" where the service has a host of its own. */
export function prefixOf(publicUrl: string | null): string {
  return publicUrl === null ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
}

/** What clients of agents read of the service stands at the root of the host, before the path (RFC 8414, RFC 9728). */
const METADATA = /^(\/\.well-known\/oauth-[a-z-]+)(\/.*)$/s

/** The path within the service. */
function withoutPrefix(url: string, prefix: string): string {
  const metadata = METADATA.exec(url)
  if (metadata) return metadata[1]! + withoutPrefix(metadata[2]!, prefix).replace(/^\/(?=\?|$)/, '')
  if (!url.startsWith(prefix)) return url
  const rest = url.slice(prefix.length)
  if (rest === '' || rest.startsWith('?')) return `/${rest}`
  return rest.startsWith('/') ? rest : url
}

/** The option of Fastify by which routes see the path within the service. */
export function rewriteOf(prefix: string): { rewriteUrl?: (request: IncomingMessage) => string } {
  return prefix === '' ? {} : { rewriteUrl: ({ url = '/' }) => withoutPrefix(url, prefix) }
}

/** Puts the prefix before the addresses of answers that begin at the root of the service. An answer that is replayed has it. */
export function prefixLocations(app: FastifyInstance, prefix: string): void {
  if (prefix === '') return
  app.addHook('onSend', (_request, reply, payload, done) => {
    const location = reply.getHeader('location')
    if (typeof location === 'string' && location.startsWith('/') && !location.startsWith(`${prefix}/`))
      void reply.header('location', prefix + location)
    done(null, payload)
  })
}
