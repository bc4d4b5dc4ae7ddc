/** Finds the client's address behind the proxies before the service. Pure. */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Tells whether the sender of a request is a trusted proxy. `hop` counts from the service: 0 is the connection itself. */
export type TrustedProxies = (address: string, hop: number) => boolean

/**
 * Returns the address without port and brackets: "1.2.3.4:5678" gives "1.2.3.4", "[::1]:80" gives "::1",
 * "::ffff:1.2.3.4" gives "1.2.3.4". Returns null if the text is not an address.
 */
export function bareAddress(text: string): string | null {
  const trimmed = text.trim()
  // Node names most clients in this form, which needs no parsing.
  if (isIP(trimmed) === 4) return trimmed
  const [, host = trimmed] =
    /^\[([^\]]+)\](?::\d+)?$/.exec(trimmed) ?? /^(\d+(?:\.\d+){3}):\d+$/.exec(trimmed) ?? []
  return isIP(host) === 0 || host.includes('%') ? null : ipaddr.process(host).toString()
}

/**
 * Parses an address or a range: "10.0.0.5", "10.0.0.0/8", "fd00::/8". Throws an Error whose message says what it must
 * be.
 */
function parseRange(text: string): ReturnType<typeof ipaddr.parseCIDR> {
  const [address = '', bits, ...rest] = text.split('/')
  const bare = isIP(address) === 0 ? null : bareAddress(address)
  const most = bare !== null && isIP(bare) === 4 ? 32 : 128
  const width = bits === undefined ? most : Number(bits)
  if (bare === null || rest.length > 0 || !/^\d{1,3}$/.test(String(bits ?? most)) || width > most)
    throw new Error(
      `must be true, false, or addresses of proxies such as 10.0.0.0/8,fd00::/8 (not ${JSON.stringify(text)})`,
    )
  return [ipaddr.parse(bare), width]
}

/**
 * Parses ASSAY_TRUST_PROXY. "false" gives null. "true" trusts the connection itself, whatever its address. Any other
 * text lists addresses and ranges of the proxies, separated by commas, and every hop is compared with them. Throws an
 * Error whose message says what the text must be.
 */
export function parseProxies(text: string): TrustedProxies | null {
  if (text === 'false') return null
  if (text === 'true') return (_address, hop) => hop === 0
  const ranges = text.split(',').map((part) => parseRange(part.trim()))
  return (address) => {
    const bare = bareAddress(address)
    if (bare === null) return false
    const parsed = ipaddr.parse(bare)
    return ranges.some(([base, bits]) => base.kind() === parsed.kind() && parsed.match(base, bits))
  }
}

/**
 * Returns the client's address: the farthest of `hops` (the connection first) before the first unreadable one. A text
 * that a client wrote into X-Forwarded-For itself is not an address of a trusted proxy, so it ends the list.
 */
export function clientAddress(hops: readonly string[]): string {
  let client = hops[0] ?? ''
  for (const hop of hops) {
    const bare = bareAddress(hop)
    if (bare === null) break
    client = bare
  }
  return client
}

/**
 * Returns the network of an address: the address itself, or the first 64 bits of IPv6, which belong to one customer
 * (RFC 6177).
 */
export function networkOf(address: string): string {
  const bare = bareAddress(address)
  if (bare === null || isIP(bare) === 4) return bare ?? address
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${bare}/64`).toString()}/64`
}

/**
 * Returns the site of an address: the first 48 bits of IPv6, of which a customer may have all networks, or the first
 * 24 bits of IPv4.
 */
export function siteOf(address: string): string {
  const bare = bareAddress(address)
  if (bare === null) return address
  if (isIP(bare) === 4) return `${ipaddr.IPv4.networkAddressFromCIDR(`${bare}/24`).toString()}/24`
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${bare}/48`).toString()}/48`
}
