/** The addresses by which clients find out how people sign in here (RFC 8414, RFC 9728). */
import type { FastifyRequest } from 'fastify'
import { prefixOf } from '../prefix.ts'

/** Where agents are answered. */
const RESOURCE_PATH = '/mcp'
const METADATA_PATH = '/.well-known/oauth-protected-resource'

/** The issuer: the public address, else the one that the request came to. */
export function baseOf({ protocol, host }: FastifyRequest, publicUrl: string | null): string {
  return publicUrl ?? `${protocol}://${host}`
}

export const resourceOf = (base: string): string => `${base}${RESOURCE_PATH}`

/** Whether a client may name this resource: the endpoint of agents, or the service as a whole (RFC 8707). */
export function isOwnResource(resource: string, base: string): boolean {
  const plain = (text: string): string => text.replace(/\/$/, '')
  if (!URL.canParse(resource) || new URL(resource).hash !== '') return false
  const given = plain(new URL(resource).href)
  return [base, resourceOf(base)].some((own) => plain(new URL(own).href) === given)
}

/** What a refused request of an agent learns beside the error: where to begin. "": the request is none of an agent. */
export function challengeOf(request: FastifyRequest, publicUrl: string | null): string {
  if (request.url.split('?')[0]!.replace(/\/$/, '') !== RESOURCE_PATH) return ''
  // Before the path of the service, where there is one (RFC 9728, section 3.1).
  const prefix = prefixOf(publicUrl)
  const host = baseOf(request, publicUrl).slice(0, -prefix.length || undefined)
  const address = `${host}${METADATA_PATH}${prefix}${RESOURCE_PATH}`
  // A host that a client has made up is not repeated in quotes.
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(address) ? `resource_metadata="${address}", scope="analyst"` : ''
}
