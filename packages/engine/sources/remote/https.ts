/**
 * Reads files of web servers: over a connection of the kind `http`, below its address, or at a plain https address
 * whose host the operator allows. A connection never leaves its origin. A plain address may redirect three times; each
 * hop is checked.
 */

import { createHash } from 'node:crypto'
import type { OpenConnection } from '@assay/model/connection'
import { vetPath } from '../../values/file-path.ts'
import { SourceError } from '../source.ts'
import type { FileKind } from './remote.ts'
import type { RemoteFile } from './remote-file.ts'

const HOPS = 3

/** Returns the address without its query, which can hold secrets. */
const shownOf = (url: URL): string => url.origin + url.pathname

/**
 * Returns the file at an address of a template. The host of `address` comes from the template's text, not from a
 * variable.
 */
export function plainAddress(address: string, most: number): RemoteFile {
  if (!URL.canParse(address)) throw new SourceError(`${JSON.stringify(address)} is not an address.`)
  const url = new URL(address)
  url.hash = ''
  return {
    url: url.href,
    shown: shownOf(url),
    headers: () => Promise.resolve({}),
    identity: `address ${url.href}`,
    redirects: HOPS,
    otherOrigins: true,
    most,
  }
}

function headersOf({ options, secrets }: OpenConnection): Record<string, string> {
  const { token, password, header_value } = secrets
  const basic = Buffer.from(`${String(options.user ?? '')}:${password}`).toString('base64')
  return {
    ...(password === undefined ? {} : { authorization: `Basic ${basic}` }),
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(header_value === undefined
      ? {}
      : { [String(options.header ?? 'authorization').toLowerCase()]: header_value }),
  }
}

function baseOf({ options }: OpenConnection): URL {
  const base = new URL(String(options.url))
  if (!base.pathname.endsWith('/')) base.pathname += '/'
  base.search = ''
  base.hash = ''
  return base
}

/** Returns a digest of secrets, for the identity of a cached copy. */
const hashed = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex')

export const http: FileKind = {
  async find(connection, file, _guard, { parts }) {
    const [name = '', ...query] = file.split('?')
    const fault = vetPath(name)
    if (fault !== null) throw new SourceError(`${JSON.stringify(name)} cannot be read. ${fault}`)
    if (/[*{}]/.test(name))
      throw new SourceError(
        `${JSON.stringify(name)} is a pattern: a web server has no list of its files, name one.`,
      )
    const base = baseOf(connection)
    const url = new URL(name.split('/').map(encodeURIComponent).join('/'), base)
    url.search = query.join('?')
    const headers = headersOf(connection)
    const found = {
      url: url.href,
      shown: shownOf(url),
      headers: () => Promise.resolve(headers),
      identity: `address ${url.href} ${hashed(headers)}`,
      redirects: HOPS,
      otherOrigins: false,
      most: connection.limits.bytes,
    }
    return parts?.among([found]) ?? [found]
  },
  async probe(connection, { dispatcher }, signal) {
    const { request } = await import('undici')
    const answer = await request(baseOf(connection).href, {
      method: 'HEAD',
      dispatcher,
      signal,
      headers: headersOf(connection),
    })
    await answer.body.dump()
    if (answer.statusCode === 401 || answer.statusCode === 403)
      throw new SourceError(`The server refused these secrets (${answer.statusCode}).`)
    return `HTTP server that answers ${answer.statusCode}`
  },
}
