/** Parsers of settings. Each returns the value of a text, or throws an Error whose message says what it must be ("must be ..."). */
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import path from 'node:path'
import { bytes, milliseconds } from '@assay/model/quantity'
import { parseMailbox } from '@assay/model/subscription'
import { parseTargets } from '@assay/net/target'
import { parseRecipient } from '../recovery/age.ts'

const plain =
  (what: string, shape: RegExp) =>
  (value: string): string => {
    if (value !== '' && !shape.test(value)) throw new Error(`must be ${what}`)
    return value
  }

/** Parses an address or a name to listen on. */
export const hostName = plain(
  'an address or a name of this machine, without http:// and without a port',
  /^([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*(%\w+)?)$/,
)
export const region = plain('the name of a region, such as eu-central-1', /^[a-z0-9-]{1,40}$/)
export const userName = plain(
  'the name of a user, without white space and ":"',
  /^[\x21-\x39\x3b-\x7e]{1,200}$/,
)
export const modelName = plain('the name of a model, without white space', /^[\x21-\x7e]{1,200}$/)

export function integer(least: number, most: number): (value: string) => number {
  return (value) => {
    const number = Number(value)
    if (!/^-?\d+$/.test(value) || number < least || number > most)
      throw new Error(`must be a whole number from ${least} to ${most}`)
    return number
  }
}

export function oneOf<T extends string>(...allowed: T[]): (value: string) => T {
  return (value) => {
    if (!allowed.includes(value as T)) throw new Error(`must be one of ${allowed.join(', ')}`)
    return value as T
  }
}

/** Parses "60s" to 60000 (milliseconds). */
export function parseDuration(value: string): number {
  const duration = milliseconds(value)
  if (duration === null) throw new Error('must be a duration such as 500ms, 60s, 5m, 2h or 30d')
  return duration
}

/** The longest time that a setting may have: 100 years. */
const LONGEST_MS = 36_500 * 86_400_000

/** Parses a time for which something is kept or may last. Zero is refused, because nobody can intend it. */
export function lasting(value: string): number {
  const ms = parseDuration(value)
  if (ms < 1000 || ms > LONGEST_MS) throw new Error('must be from 1s to 36500d')
  return ms
}

export function durationFrom(least: number, most: number): (value: string) => number {
  return (value) => {
    const ms = parseDuration(value)
    if (ms < least || ms > most) throw new Error(`must be from ${least / 1000}s to ${most / 1000}s`)
    return ms
  }
}

/** Parses "1GB" to 1e9 (bytes). */
export function parseSize(value: string): number {
  const size = bytes(value)
  if (size === null) throw new Error('must be a size such as 512MB, 1GB or 2GiB')
  return Math.floor(size)
}

export function sizeFrom(least: string): (value: string) => number {
  return (value) => {
    const size = parseSize(value)
    if (size < parseSize(least) || !Number.isSafeInteger(size))
      throw new Error(`must be at least ${least} and below 9000TB`)
    return size
  }
}

export const ROLES = ['api', 'worker', 'dispatcher'] as const
export type Role = (typeof ROLES)[number]

export function roles(value: string): Role[] {
  const list = value.split(',').map((part) => part.trim())
  if (new Set(list).size < list.length) throw new Error('must name each role once')
  return list.map(oneOf(...ROLES))
}

export function store(value: string): string {
  if (value === '' || /^sqlite:./.test(value)) return value
  if (!/^postgres(ql)?:\/\//.test(value))
    throw new Error('must be sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE')
  vetPostgresUrl(value)
  return value
}

const SSL_MODES = ['disable', 'prefer', 'require', 'verify-ca', 'verify-full']

/** The values of `target_session_attrs` that are accepted. The service writes, so a read-only server is refused. */
const SESSION_ATTRS = ['read-write', 'primary']

/** Splits an address of several servers into one address for each. */
function oneForEachServer(value: string): string[] {
  const [, before = value, servers = '', rest = ''] =
    /^([^/]*\/\/(?:[^/?]*@)?)([^/?]*)(.*)$/s.exec(value) ?? []
  return servers.split(',').map((server) => before + server + rest)
}

function vetPostgresUrl(value: string): void {
  const urls = oneForEachServer(value)
  if (!urls.every((url) => URL.canParse(url)) || !isDecodable(value))
    throw new Error('must be an address that can be read: percent-encode the password')
  if (urls.length > 1 && urls.some((url) => new URL(url).hostname === ''))
    throw new Error(
      'must name each server, with commas between: postgres://USER:PASSWORD@ONE:5432,OTHER:5432/DATABASE',
    )
  const { pathname, searchParams, hash } = new URL(urls[0]!)
  if (hash !== '') throw new Error('must hold no "#": percent-encode the password')
  if (pathname.length < 2) throw new Error('must name the database: postgres://USER:PASSWORD@HOST/DATABASE')
  const attrs = searchParams.get('target_session_attrs')
  if (attrs !== null && !SESSION_ATTRS.includes(attrs))
    throw new Error('must have target_session_attrs of read-write or primary, because the service writes')
  const mode = searchParams.get('sslmode')
  if (mode !== null && !SSL_MODES.includes(mode))
    throw new Error(`must have an sslmode of ${SSL_MODES.join(', ')}`)
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const file = searchParams.get(name)
    if (file !== null && !isFile(file))
      throw new Error(`must name a file in ${name} that this process can read`)
  }
  if (mode === 'verify-ca' && !searchParams.has('sslrootcert'))
    throw new Error(
      'must name the certificate of the authority in sslrootcert, which sslmode=verify-ca requires',
    )
}

function isDecodable(value: string): boolean {
  try {
    decodeURIComponent(value)
    return true
  } catch {
    return false
  }
}

function isFile(file: string): boolean {
  try {
    return readFileSync(file).length > 0
  } catch {
    return false
  }
}

export function publicUrl(value: string): string | null {
  if (value === '') return null
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash)
    throw new Error('must be an http or https address without a query')
  if (url.username !== '' || url.password !== '') throw new Error('must hold no name and no password')
  return value.replace(/\/+$/, '')
}

/** The mail server of the operator. `tls` false allows a connection in clear. */
export interface MailServer {
  host: string
  port: number
  /** True for TLS from the first byte; false for STARTTLS. */
  secure: boolean
  tls: boolean
  user: string | null
  password: string
}

export function mailServer(value: string): MailServer | null {
  if (value === '') return null
  const url = URL.canParse(value) ? new URL(value) : undefined
  const plain = url?.search === '?tls=off'
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '' || /^\/./.test(url.pathname))
    throw new Error('must be smtp://USER:PASSWORD@HOST:PORT or smtps://...')
  if ((url.search !== '' && !plain) || url.hash !== '' || (plain && url.protocol === 'smtps:'))
    throw new Error('may end in ?tls=off (with smtp: only) and nothing else')
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (url.protocol === 'smtps:' ? 465 : 587) : Number(url.port),
    secure: url.protocol === 'smtps:',
    tls: !plain,
    user: url.username === '' ? null : decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  }
}

export function mailbox(value: string): { name: string; address: string } | null {
  if (value === '') return null
  const found = parseMailbox(value)
  if (!found) throw new Error('must be an address such as assay@example.com or Assay <assay@example.com>')
  return found
}

export function secretKeys(value: string): Buffer[] {
  if (value === '') return []
  return value
    .trim()
    .split(/[,\n]/)
    .map((part) => {
      const key = /^[0-9a-fA-F]{64}$/.test(part.trim())
        ? Buffer.from(part.trim(), 'hex')
        : Buffer.from(part.trim(), 'base64')
      if (key.length !== 32)
        throw new Error(
          'must be 32 bytes as 64 hex digits or as base64; several are divided by commas, the first seals',
        )
      return key
    })
}

export function token(value: string): string | null {
  if (value === '') return null
  if (!/^[\x21-\x7e]{16,512}$/.test(value)) throw new Error('must be 16 to 512 visible characters')
  return value
}

export const folder = (value: string): string | null =>
  value === '' ? null : path.resolve(value.replace(/^~(?=\/|$)/, homedir()))
export const list = (value: string): string[] | null =>
  value === ''
    ? null
    : value
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean)
const DOMAIN = /^(\*|(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*)$/

/** Tells whether the text names a domain, all domains below one (`*.example.com`), or all domains (`*`). */
export function isDomain(text: string): boolean {
  return text.length <= 253 && DOMAIN.test(text)
}

/** Parses a list of domains of mail; null if it is empty. */
export const domainList = (value: string): string[] | null => {
  const found = list(value.toLowerCase())
  for (const domain of found ?? [])
    if (!isDomain(domain))
      throw new Error(
        `must list domains such as example.com or *.example.com, or be *; ${JSON.stringify(domain)} is not one of these`,
      )
  return found
}
/** Parses a list of targets of outgoing requests; null if it is empty. */
export const targetList = (value: string): string[] | null => {
  const found = list(value)
  for (const target of found ?? [])
    try {
      parseTargets([target])
    } catch {
      throw new Error(
        `must list public, loopback, private, ranges such as 10.0.0.0/8, addresses or host names; ${JSON.stringify(target)} is not one of these`,
      )
    }
  return found
}
const ORIGIN = /^https?:\/\/(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:(\d{1,5}|\*))?$/i
/**
 * Parses a list of origins as a Content-Security-Policy names them (CSP 3, section 2.3.1). Nothing else can enter the
 * policy.
 */
export const origins = (value: string): string[] => {
  const found = list(value) ?? []
  for (const origin of found)
    if (!ORIGIN.test(origin))
      throw new Error(
        `must list origins such as https://intranet.example, https://*.example.com or http://localhost:*; ${JSON.stringify(origin)} is not one`,
      )
  return found
}
/** Parses origins as `origins` does, or "*" for all. */
export const originsOrAll = (value: string): string[] => (value.trim() === '*' ? ['*'] : origins(value))
/** Returns a parser that gives null for an empty text and otherwise calls `parse`. */
export function orNull<T>(parse: (value: string) => T): (value: string) => T | null {
  return (value) => (value === '' ? null : parse(value))
}
/** Parses a text on one line for people; null for an empty one. */
export const shortText = orNull((value: string) => {
  if (value.length > 80 || /\p{Cc}/u.test(value)) throw new Error('must be at most 80 characters on one line')
  return value
})
export const optional = orNull((value: string) => value)

export function filesLocation(value: string): string | null {
  if (!value.startsWith('s3:')) return folder(value)
  if (!/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[^/]+)*\/?$/.test(value))
    throw new Error(
      'must be a folder or s3://BUCKET/PREFIX, with a bucket of 3 to 63 small letters, digits, "." and "-"',
    )
  return value
}
/** Parses the public key with which backups are encrypted; null for an empty text. */
export function recipient(value: string): Buffer | null {
  if (value === '') return null
  const key = parseRecipient(value)
  if (!key) throw new Error('must be the public key of a pair that age-keygen makes: age1...')
  return key
}
export const rate = orNull(integer(1, 1_000_000))
export const cap = orNull(integer(0, 1_000_000_000))
