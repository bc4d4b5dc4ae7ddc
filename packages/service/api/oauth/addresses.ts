/** The addresses by which clients find out how people sign in here (RFC 8414, RFC 9728). */
import type { FastifyRequest } from 'fastify'
import { prefixOf } from '../prefix.ts'

/** The path of the endpoint of agents. */
const RESOURCE_PATH = '/mcp'
const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** Returns the issuer: the public address, or else the address that the request came to. */
export function baseOf({ protocol, host }: FastifyRequest, publicUrl: string | null): string {
  return publicUrl ?? `${protocol}://${host}`
}

export const resourceOf = (base: string): string => `${base}${RESOURCE_PATH}`

/** Tells whether a client may name this resource: the endpoint of agents, or the service as a whole (RFC 8707). */
export function isOwnResource(resource: string, base: string): boolean {
  const plain = (text: string): string => text.replace(/\/$/, '')
  if (!URL.canParse(resource) || new URL(resource).hash !== '') return false
  const given = plain(new URL(resource).href)
  return [base, resourceOf(base)].some((own) => plain(new URL(own).href) === given)
}

/**
 * Returns what the WWW-Authenticate header tells a refused agent: where to begin. "" if the request is not of an
 * agent.
 */
export function challengeOf(request: FastifyRequest, publicUrl: string | null): string {
  if (request.url.split('?')[0]!.replace(/\/$/, '') !== RESOURCE_PATH) return ''
  // The well-known path stands before the path of the service (RFC 9728, section 3.1).
  const prefix = prefixOf(publicUrl)
  const host = baseOf(request, publicUrl).slice(0, -prefix.length || undefined)
  const address = `${host}${METADATA_PATH}${prefix}${RESOURCE_PATH}`
  // A host that a client has made up is not repeated, because it could end the quotes.
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(address) ? `resource_metadata="${address}", scope="analyst"` : ''
}
