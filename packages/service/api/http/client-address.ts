/** The address of the client that sends a request. */
import { clientAddress } from '@assay/net/proxies'
import type { FastifyRequest } from 'fastify'

/** Behind proxies that ASSAY_TRUST_PROXY names it is the one they tell, without a port. What is no address is left out. */
export function addressOf({ ip, ips }: FastifyRequest): string {
  return clientAddress(ips ?? [ip])
}
