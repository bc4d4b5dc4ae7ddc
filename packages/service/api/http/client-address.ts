/** The address of the client that sends a request. */
import { clientAddress, networkOf } from '@assay/net/proxies'
import type { FastifyRequest } from 'fastify'

/** Behind proxies that ASSAY_TRUST_PROXY names it is the one they tell, without a port. What is no address is left out. */
export function addressOf({ ip, ips }: FastifyRequest): string {
  return clientAddress(ips ?? [ip])
}

/** By what pages without a token are limited: the network of the client, because one customer has many addresses of IPv6. */
export function callerNetwork(request: FastifyRequest): string {
  return networkOf(addressOf(request))
}
