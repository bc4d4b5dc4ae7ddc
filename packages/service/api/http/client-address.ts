/** The address of the client that sends a request. */
import { clientAddress, networkOf } from '@assay/net/proxies'
import type { FastifyRequest } from 'fastify'

/**
 * Returns the address of the client, without a port. Behind a proxy of ASSAY_TRUST_PROXY it is the address that the
 * proxy reports. A reported text that is not an address is ignored.
 */
export function addressOf({ ip, ips }: FastifyRequest): string {
  return clientAddress(ips ?? [ip])
}

/** The headers that proxies add. Many proxies add only X-Real-IP or X-Forwarded-Proto. */
const OF_PROXIES = /^(?:forwarded|via|x-real-ip|x-forwarded-.+|cf-connecting-ip|true-client-ip)$/

/**
 * The host names that programs of this machine use. A browser sends the name of its site as Host, even where that
 * name leads to this machine.
 */
const HERE = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

/** Tells whether the request comes from a program of this machine and has no header of a proxy. */
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
