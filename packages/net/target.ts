/**
 * The rules of outgoing requests. Pure. `vetUrl` vets an address that a person typed, `vetAddress` every address
 * before it is dialed. Only allowed addresses pass. IPv6 passes only inside 2000::/3, and every IPv4 address inside
 * an IPv6 address is vetted too. Metadata services never pass, whatever the operator allows. A fault reveals nothing
 * of our network: all refused addresses have the same sentence.
 */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6

interface Range {
  address: Address
  bits: number
  port: number | null
}

interface HostRule {
  name: string
  /** True for `*.name`, which stands for the names below it. */
  suffix: boolean
  port: number | null
}

/** The addresses and hosts that may be reached beside or instead of public addresses. */
export interface Targets {
  public: boolean
  ranges: Range[]
  hosts: HostRule[]
}

const range = (text: string): Range => {
  const [address, bits] = ipaddr.parseCIDR(text)
  return { address, bits, port: null }
}

const LOOPBACK = ['127.0.0.0/8', '::1/128'].map(range)
/** Private ranges by RFC 1918, RFC 6598 (also used by VPNs) and RFC 4193. */
const PRIVATE = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', 'fc00::/7'].map(range)

/** Ranges that no setting allows. They are unassigned, multicast, or services that hand out the machine's credentials. */
const NEVER = [
  '0.0.0.0/8',
  '224.0.0.0/4',
  '255.255.255.255/32',
  '::/128',
  'ff00::/8',
  '169.254.169.254/32', // AWS, Google, Azure and most others
  '169.254.170.2/32', // AWS ECS tasks
  '169.254.170.23/32', // AWS EKS pods
  '169.254.169.123/32', // AWS time
  '169.254.169.253/32', // AWS resolver
  '168.63.129.16/32', // Azure platform, a public address
  '100.100.100.200/32', // Alibaba, inside carrier-grade NAT
  '192.0.0.192/32', // Oracle, inside 192.0.0.0/24
  'fd00:ec2::/32', // AWS
  'fd20:ce::254/128', // Google
].map(range)

/** The names of metadata services. */
const METADATA_NAMES = ['metadata', 'metadata.google.internal', 'metadata.goog', 'instance-data']
/** Names that mean something only inside a network (RFC 6762, RFC 8375, ICANN's .internal). */
const INSIDE_NAMES = /(^|\.)(internal|local|localdomain|lan|home\.arpa|intranet|corp|home)$|^[^.]+$/

/** Parses canonical text only, because `ipaddr.parse` also reads octal, hexadecimal and decimal IPv4. */
function parseAddress(text: string): Address | null {
  if (isIP(text) === 0 || text.includes('%')) return null
  return ipaddr.parse(text)
}

function within(address: Address, { address: base, bits }: Range): boolean {
  return address.kind() === base.kind() && address.match(base, bits)
}

const v4 = (bytes: readonly number[]): ipaddr.IPv4 => new ipaddr.IPv4([...bytes])

const PREFIXES = {
  mapped: range('::ffff:0:0/96'),
  compatible: range('::/96'),
  translated: range('::ffff:0:0:0/96'),
  nat64: range('64:ff9b::/96'),
  localNat64: range('64:ff9b:1::/48'),
  sixToFour: range('2002::/16'),
  teredo: range('2001::/32'),
}

/**
 * The positions of the IPv4 address in a NAT64 prefix of 48, 56, 64 and 96 bits; byte 8 is skipped (RFC 6052, section
 * 2.2).
 */
const LOCAL_NAT64_OFFSETS = [
  [6, 7, 9, 10],
  [7, 9, 10, 11],
  [9, 10, 11, 12],
  [12, 13, 14, 15],
]

/** Returns every IPv4 address that an IPv6 address may stand for. */
function hiddenIpv4(address: ipaddr.IPv6): ipaddr.IPv4[] {
  const bytes = address.toByteArray()
  const last = bytes.slice(12)
  const has = (prefix: Range): boolean => within(address, prefix)
  if (has(PREFIXES.compatible)) return address.toNormalizedString() === '0:0:0:0:0:0:0:1' ? [] : [v4(last)]
  if (has(PREFIXES.mapped) || has(PREFIXES.translated) || has(PREFIXES.nat64)) return [v4(last)]
  if (has(PREFIXES.localNat64))
    return LOCAL_NAT64_OFFSETS.map((offsets) => v4(offsets.map((at) => bytes[at]!)))
  const found: ipaddr.IPv4[] = []
  if (has(PREFIXES.sixToFour)) found.push(v4(bytes.slice(2, 6)))
  if (has(PREFIXES.teredo)) found.push(v4(bytes.slice(4, 8)), v4(last.map((byte) => byte ^ 0xff)))
  if (isIsatap(bytes)) found.push(v4(last))
  return found
}

/** Tells whether the interface id is 0:5efe:a.b.c.d or 200:5efe:a.b.c.d (RFC 5214). */
function isIsatap(bytes: number[]): boolean {
  return (bytes[8]! & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false
  if (address.kind() === 'ipv4') return true
  const bytes = address.toByteArray()
  return (bytes[0]! & 0xe0) === 0x20 && !isIsatap(bytes)
}

function hostMatches(rule: HostRule, host: string, port: number): boolean {
  if (rule.port !== null && rule.port !== port) return false
  return rule.suffix ? host.endsWith(`.${rule.name}`) : host === rule.name
}

function allows(address: Address, host: string, port: number, targets: Targets): boolean {
  if (NEVER.some((never) => within(address, never))) return false
  if (targets.public && isPublic(address)) return true
  if (targets.ranges.some((entry) => (entry.port ?? port) === port && within(address, entry))) return true
  return targets.hosts.some((rule) => hostMatches(rule, host, port))
}

/**
 * Tells whether `ip` may be dialed on `port`. `host` (as in a URL: lower case, ASCII) resolved to it. Call it with
 * exactly the address that is dialed. A text that is not a canonical address is refused.
 */
export function vetAddress(ip: string, host: string, port: number, targets: Targets): boolean {
  const address = parseAddress(ip)
  if (address === null) return false
  if (address.kind() === 'ipv4') return allows(address, host, port, targets)
  const hidden = hiddenIpv4(address as ipaddr.IPv6)
  const judged = within(address, PREFIXES.mapped) ? hidden : [address, ...hidden]
  return judged.every((each) => allows(each, host, port, targets))
}

const PORT_FORM = /^(?<host>.+?)(?::(?<port>\d{1,5}))?$/

function parseHost(entry: string): { host: string; port: number | null } {
  const bracketed = /^\[(?<host>[^\]]+)\](?::(?<port>\d{1,5}))?$/.exec(entry)
  const { host, port } = (bracketed ?? PORT_FORM.exec(entry))?.groups ?? {}
  const number = port === undefined ? null : Number(port)
  if (host === undefined || number === 0 || (number ?? 0) > 65_535) throw new Error('bad port')
  return { host, port: number }
}

function parseRange(entry: string): Range | null {
  if (entry.includes('/')) {
    const [address, bits, ...rest] = entry.split('/')
    const parsed = parseAddress(address!)
    if (!parsed || rest.length > 0 || !/^\d{1,3}$/.test(bits!)) throw new Error('bad range')
    if (Number(bits) > (parsed.kind() === 'ipv4' ? 32 : 128)) throw new Error('bad range')
    return { address: parsed, bits: Number(bits), port: null }
  }
  const { host, port } = isIP(entry) === 0 ? parseHost(entry) : { host: entry, port: null }
  const parsed = parseAddress(host)
  return parsed ? { address: parsed, bits: parsed.kind() === 'ipv4' ? 32 : 128, port } : null
}

function parseHostRule(entry: string): HostRule {
  const { host, port } = parseHost(entry)
  const suffix = host.startsWith('*.')
  const name = suffix ? host.slice(2) : host
  const canonical = URL.canParse(`http://${name}`) ? new URL(`http://${name}`).hostname : ''
  const plain = /^[\p{L}\p{N}._-]+$/u.test(name) && !name.split('.').includes('')
  if (!plain || canonical === '' || isIP(canonical) !== 0) throw new Error('bad name')
  return { name: canonical, suffix, port }
}

/**
 * Parses `public`, `loopback`, `private`, ranges (`10.0.0.0/8`), addresses and host names with or without a port
 * (`10.0.0.5:8080`, `[fd00::1]:8080`, `hooks.corp.internal`), and names below one (`*.corp.internal`). Throws an
 * Error with a sentence.
 */
export function parseTargets(list: readonly string[]): Targets {
  const targets: Targets = { public: false, ranges: [], hosts: [] }
  for (const entry of list) {
    if (entry === 'public') targets.public = true
    else if (entry === 'loopback') targets.ranges.push(...LOOPBACK)
    else if (entry === 'private') targets.ranges.push(...PRIVATE)
    else
      try {
        const found = parseRange(entry)
        if (found) targets.ranges.push(found)
        else targets.hosts.push(parseHostRule(entry))
      } catch (error) {
        throw new Error(
          `${JSON.stringify(entry)} is not a target: write public, loopback, private, a range such as 10.0.0.0/8, an address or a ` +
            'host name with or without a port, or *.example.com.',
          { cause: error },
        )
      }
  }
  return targets
}

const forbidden = (setting: string): string =>
  `The host is not one that this service may reach. Use a public host; an operator can open others with ${setting}.`

/** Returns the fault of the text before a parser repairs it; null if there is none. */
function textFault(text: string): string | null {
  if (text.length > 2048) return 'The address is longer than 2048 characters.'
  if (/[\s\p{Cc}]/u.test(text)) return 'The address must not contain white space or control characters.'
  const authority = /^https?:\/\/(?<authority>[^/?#]+)/i.exec(text)?.groups?.authority
  if (authority === undefined || text.includes('\\'))
    return 'The address must start with http:// or https:// and a host.'
  if (authority.includes('@'))
    return 'The address must not contain a user name or password: put credentials into headers.'
  if (!URL.canParse(text)) return 'The address has a host or port that cannot be read.'
  return null
}

/** Tells whether a name may be allowed at all. Its addresses are vetted when they are dialed. */
function nameAllowed(name: string, port: number, targets: Targets): boolean {
  if (METADATA_NAMES.includes(name)) return false
  if (targets.hosts.some((rule) => hostMatches(rule, name, port))) return true
  if (name === 'localhost' || name.endsWith('.localhost'))
    return ['127.0.0.1', '::1'].some((ip) => vetAddress(ip, name, port, targets))
  if (INSIDE_NAMES.test(name)) return targets.ranges.length > 0
  return targets.public || targets.ranges.length > 0
}

/**
 * Vets an address that a person typed: http or https with `//`, no white space, user info, empty labels or port 0, and a host
 * that may be allowed. Literal addresses are vetted as parsed, whatever their spelling. `fault` says what to do; `setting` is
 * the setting of the targets.
 */
export function vetUrl(
  text: string,
  targets: Targets,
  setting = 'ASSAY_WEBHOOK_TARGETS',
): { ok: true; url: URL } | { ok: false; fault: string } {
  const fault = textFault(text)
  if (fault !== null) return { ok: false, fault }
  const url = new URL(text)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (url.port === '0') return { ok: false, fault: 'The port must be from 1 to 65535.' }
  const port = portOf(url)
  if (isIP(host) !== 0)
    return vetAddress(host, host, port, targets)
      ? { ok: true, url }
      : { ok: false, fault: forbidden(setting) }
  if (host.split('.').includes(''))
    return { ok: false, fault: 'The host must not have empty parts or a dot at its end.' }
  return nameAllowed(host, port, targets) ? { ok: true, url } : { ok: false, fault: forbidden(setting) }
}

export function portOf(url: Pick<URL, 'protocol' | 'port'>): number {
  if (url.port !== '') return Number(url.port)
  return url.protocol === 'https:' ? 443 : 80
}
