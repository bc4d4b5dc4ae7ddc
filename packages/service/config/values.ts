/** Parsers of settings. Each returns the value of a text, or throws an Error whose message says what it must be ("must be ..."). */
import { homedir } from 'node:os'
import path from 'node:path'
import { bytes, milliseconds } from '@assay/model/quantity'
import { parseMailbox } from '@assay/model/subscription'

export const text = (value: string): string => value

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

/** "60s" -> 60000 (milliseconds). */
export function parseDuration(value: string): number {
  const duration = milliseconds(value)
  if (duration === null) throw new Error('must be a duration such as 500ms, 60s, 5m, 2h or 30d')
  return duration
}

export function durationFrom(least: number, most: number): (value: string) => number {
  return (value) => {
    const ms = parseDuration(value)
    if (ms < least || ms > most) throw new Error(`must be from ${least / 1000}s to ${most / 1000}s`)
    return ms
  }
}

/** "1GB" -> 1e9 (bytes). */
export function parseSize(value: string): number {
  const size = bytes(value)
  if (size === null) throw new Error('must be a size such as 512MB, 1GB or 2GiB')
  return Math.floor(size)
}

export const ROLES = ['api', 'worker', 'dispatcher'] as const
export type Role = (typeof ROLES)[number]

export function roles(value: string): Role[] {
  const list = value.split(',').map((part) => part.trim())
  return list.map(oneOf(...ROLES))
}

export function store(value: string): string {
  if (value === '' || /^sqlite:./.test(value) || /^postgres(ql)?:\/\//.test(value)) return value
  throw new Error('must be sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE')
}

export function publicUrl(value: string): string | null {
  if (value === '') return null
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash)
    throw new Error('must be an http or https address without a query')
  return value.replace(/\/+$/, '')
}

/** The mail server of the operator. `tls` false allows a connection in clear. */
export interface MailServer {
  host: string
  port: number
  /** TLS from the first byte; else by STARTTLS. */
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
  return value.split(',').map((part) => {
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

export const folders = (value: string): string[] =>
  value
    .split(path.delimiter)
    .filter((part) => part !== '')
    .map((part) => path.resolve(part))
export const folder = (value: string): string | null =>
  value === '' ? null : path.resolve(value.replace(/^~(?=\/|$)/, homedir()))
export const list = (value: string): string[] | null =>
  value === ''
    ? null
    : value
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean)
/** Reads the text unless it is empty: then null. */
export function orNull<T>(parse: (value: string) => T): (value: string) => T | null {
  return (value) => (value === '' ? null : parse(value))
}
export const optional = orNull(text)

export function filesLocation(value: string): string | null {
  if (!value.startsWith('s3:')) return folder(value)
  if (!/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[^/]+)*\/?$/.test(value))
    throw new Error('must be a folder or s3://BUCKET/PREFIX')
  return value
}
export const rate = orNull(integer(1, 1_000_000))
export const cap = orNull(integer(0, 1_000_000_000))
