/** The address of the client that sends a request. */
import { clientAddress, networkOf } from '@assay/net/proxies'
import type { FastifyRequest } from 'fastify'

/** Behind proxies that ASSAY_TRUST_PROXY names it is the one they tell, without a port. What is no address is left out. */
export function addressOf({ ip, ips }: FastifyRequest): string {
  return clientAddress(ips ?? [ip])
}

/** What proxies add. Many are set up with X-Real-IP or X-Forwarded-Proto alone. */
const OF_PROXIES = /^(?:forwarded|via|x-real-ip|x-forwarded-.+|cf-connecting-ip|true-client-ip)$/

/** What a program of this machine calls it. A page of a browser asks by the name of its site, wherever that leads. */
const HERE = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

/** Whether a program of this machine asks by an address of its own, and no header says that it is a proxy. */
export function asksFromHere({ socket, headers }: FastifyRequest): boolean {
  const isProxied = Object.keys(headers).some((name) => OF_PROXIES.test(name))
  return (
    !isProxied && HERE.test(headers.host ?? '') && /^(?:::ffff:)?127\.|^::1$/.test(socket.remoteAddress ?? '')
  )
}

/** By what pages without a token are limited: the network of the client, because one customer has many addresses of IPv6. */
export function callerNetwork(request: FastifyRequest): string {
  return networkOf(addressOf(request))
}
