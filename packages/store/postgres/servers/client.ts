/** Makes clients of PostgreSQL: their configuration, and how they read times and integers. */
import { type Client, type ClientConfig, TypeOverrides } from 'pg'
import { clientClass, withFirstServer } from './servers.ts'

/** The most milliseconds in which a connection is made. */
export const CONNECT_MS = 5000

/** A time in UTC, with milliseconds without trailing zeros. */
const IN_UTC = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)(\.\d{1,3})?\+00$/

/**
 * Turns "2026-01-01 09:30:00.123+02" into RFC 3339 UTC with milliseconds. A time in UTC is assembled from its text:
 * by a Date it took most of the time in which a row is read.
 */
export function toIso(text: string): string {
  const [, date, time, fraction = '.'] = IN_UTC.exec(text) ?? []
  if (date !== undefined) return `${date}T${time}${fraction.padEnd(4, '0')}Z`
  return new Date(text.replace(' ', 'T').replace(/([+-]\d\d)$/, '$1:00')).toISOString()
}

const BIGINT = 20
const TIMESTAMPTZ = 1184

/** The type parsers of all clients. */
export const types = new TypeOverrides()
types.setTypeParser(TIMESTAMPTZ, toIso)
types.setTypeParser(BIGINT, Number)

/** Tells the driver to read `sslmode` as PostgreSQL's own programs do. */
function withOwnSslModes(url: string): string {
  return new URL(url).searchParams.has('sslmode') ? `${url}&uselibpqcompat=true` : url
}

/** Returns the configuration of a connection. Its type parsers are its own; no global setting of the driver counts. */
export function clientConfig(url: string): ClientConfig {
  return {
    connectionString: withOwnSslModes(withFirstServer(url)),
    application_name: 'assay',
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    types,
  }
}

/** Makes a client that is not connected yet. */
export function newClient(url: string, more: ClientConfig = {}): Client {
  const config = clientConfig(url)
  return new (clientClass(url, config))({ ...config, ...more })
}
