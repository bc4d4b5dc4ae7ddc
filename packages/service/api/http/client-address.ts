/** The address of the client that sends a request. */
import { clientAddress, networkOf } from '@assay/net/proxies'
import type { FastifyRequest } from 'fastify'

/**
 * Returns the address of the client, without a port. Behind proxies that ASSAY_TRUST_PROXY names it is the one that
 * they report. A text that is no address is ignored.
 */
export function addressOf({ ip, ips }: FastifyRequest): string {
  return clientAddress(ips ?? [ip])
}

/** The headers that proxies add. Many proxies add only X-Real-IP or X-Forwarded-Proto. */
const OF_PROXIES = /^(?:forwarded|via|x-real-ip|x-forwarded-.+|cf-connecting-ip|true-client-ip)$/

/**
 * The host names that programs of this machine use. A page of a browser uses the name of its site, wherever that leads.
 */
const HERE = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

/** Whether a program of this machine asks by an address of its own, and no header says that it is a proxy. */
export function asksFromHere({ socket, headers }: FastifyRequest): boolean {
  const isProxied = Object.keys(headers).some((name) => OF_PROXIES.test(name))
  return (
    !isProxied && HERE.test(headers.host ?? '') && /^(?:::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '')
  )
}

/**
 * Returns the key of limits on pages without a token: the network of the client, because one customer has many
 * addresses of IPv6.
 */
export function callerNetwork(request: FastifyRequest): string {
  return networkOf(addressOf(request))
}
