/**
 * The kinds of connections: for each, its options, secrets and defaults, and the checks of what a request, a settings file or
 * a command gives. It imports no library because the console's forms are built from it in the browser.
 */
import type { FieldError } from './errors.ts'

export interface OptionField {
  type: 'text' | 'port' | 'boolean' | 'url' | 'file'
  doc: string
  required?: boolean
  /** The value of an option that is not given. */
  fallback?: string | number | boolean
  enum?: readonly string[]
  max_length?: number
}

interface Kind {
  title: string
  /** A source names a query that the database runs, or files. */
  reads: 'query' | 'files'
  options: Record<string, OptionField>
  /** The descriptions of the secrets, by name. */
  secrets: Record<string, string>
}

/** `verify`: TLS with a verified certificate; `require`: TLS with any certificate; `off`: plain text. */
const tls: OptionField = {
  type: 'text',
  enum: ['verify', 'require', 'off'],
  fallback: 'verify',
  doc: 'verify (default): TLS with a verified certificate; require: TLS with any certificate; off: plain text',
}
const ca: OptionField = {
  type: 'text',
  max_length: 100_000,
  doc: 'Certificates to trust instead of the usual ones (PEM)',
}
const privileged: OptionField = {
  type: 'text',
  enum: ['refused', 'accepted'],
  fallback: 'refused',
  doc: 'refused (default): a user who can do more than read, such as a superuser, is refused; accepted: is not',
}
const server = (port: number): Record<string, OptionField> => ({
  host: { type: 'text', required: true, doc: 'Name or address of the server' },
  port: { type: 'port', fallback: port, doc: `Default ${port}` },
  database: { type: 'text', required: true, doc: 'The database' },
  user: { type: 'text', required: true, doc: 'A user that can only read' },
  tls,
  ca,
  privileged,
})

export const CONNECTION_KINDS = ['postgresql', 'mysql', 'clickhouse', 'sqlite', 'http', 's3'] as const
export type ConnectionKind = (typeof CONNECTION_KINDS)[number]

export const KINDS: Record<ConnectionKind, Kind> = {
  postgresql: {
    title: 'PostgreSQL',
    reads: 'query',
    options: server(5432),
    secrets: { password: "The user's password" },
  },
  mysql: {
    title: 'MySQL or MariaDB',
    reads: 'query',
    options: server(3306),
    secrets: { password: "The user's password" },
  },
  clickhouse: {
    title: 'ClickHouse',
    reads: 'query',
    options: {
      url: {
        type: 'url',
        required: true,
        doc: 'The address of its HTTP interface, such as https://warehouse.example.com:8443',
      },
      database: { type: 'text', fallback: 'default', doc: 'Default: default' },
      user: { type: 'text', fallback: 'default', doc: 'Default: default' },
      ca,
      privileged,
    },
    secrets: { password: "The user's password" },
  },
  sqlite: {
    title: 'SQLite file',
    reads: 'query',
    options: { file: { type: 'file', required: true, doc: 'A path below the data folder' } },
    secrets: {},
  },
  http: {
    title: 'Files of a web server',
    reads: 'files',
    options: {
      url: { type: 'url', required: true, doc: 'The address of the folder that holds the files' },
      user: { type: 'text', doc: 'The user of HTTP basic authentication, with the secret password' },
      header: { type: 'text', doc: 'The header that carries the secret header_value' },
      ca,
    },
    secrets: {
      token: 'Sent as "Authorization: Bearer TOKEN"',
      password: "The user's password",
      header_value: 'Sent in the header that the option header names',
    },
  },
  s3: {
    title: 'S3-compatible bucket',
    reads: 'files',
    options: {
      bucket: { type: 'text', required: true, doc: 'The name of the bucket' },
      region: { type: 'text', fallback: 'us-east-1', doc: 'Default us-east-1' },
      endpoint: { type: 'url', doc: "The address of a service other than Amazon's" },
      prefix: { type: 'text', doc: 'Sources may name only keys that begin with this' },
      path_style: {
        type: 'boolean',
        doc: 'Puts the bucket into the path instead of the host; default: true if endpoint is set',
      },
      ca,
    },
    secrets: {
      access_key: 'The id of the key; without one only public objects can be read',
      secret_key: 'The secret key',
      session_token: 'The session token of temporary keys',
    },
  },
}

/** The limits of one query over a connection, and how many may run at a time on each node. */
export interface ConnectionLimits {
  timeout_seconds: number
  rows: number
  /** The most bytes of values as the server sends them, before DuckDB stores them. */
  bytes: number
  concurrent: number
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  timeout_seconds: 300,
  rows: 100_000_000,
  bytes: 10_000_000_000,
  concurrent: 4,
}

const LIMIT_RANGE: Record<keyof ConnectionLimits, [number, number]> = {
  timeout_seconds: [1, 86_400],
  rows: [1, 100_000_000_000],
  bytes: [1, 100_000_000_000_000],
  concurrent: [1, 1000],
}

export type OptionValue = string | number | boolean
export type ConnectionOptions = Record<string, OptionValue>

function optionFault(field: OptionField, value: OptionValue): string | null {
  if (field.type === 'port') {
    const fits = Number.isInteger(value) && Number(value) >= 1 && Number(value) <= 65_535
    return fits ? null : 'must be a port from 1 to 65535'
  }
  if (field.type === 'boolean') return typeof value === 'boolean' ? null : 'must be true or false'
  if (typeof value !== 'string' || value === '') return 'must be text and not empty'
  if (value.length > (field.max_length ?? 1000))
    return `may have at most ${field.max_length ?? 1000} characters`
  if (field.max_length === undefined && /\p{Cc}/u.test(value)) return 'must not hold control characters'
  if (field.enum && !field.enum.includes(value)) return `must be one of ${field.enum.join(', ')}`
  if (field.type === 'url' && !(/^https?:\/\//i.test(value) && URL.canParse(value)))
    return 'must be an http or https address'
  if (field.type === 'file' && (/^[/\\]|^[a-z]:/i.test(value) || value.split(/[/\\]/).includes('..')))
    return 'must be a path below the data folder, such as shop/orders.db'
  return null
}

/** Converts the text of command lines and settings files: "5432" to a port, "true" to a boolean. */
function plainValue(field: OptionField, given: unknown): OptionValue {
  if (typeof given !== 'string') return given as OptionValue
  if (field.type === 'port' && /^\d{1,5}$/.test(given)) return Number(given)
  if (field.type === 'boolean' && /^(true|false)$/.test(given)) return given === 'true'
  return given
}

/** Returns the options with defaults filled in, and every fault. Paths begin with `options.`. */
export function readOptions(
  kind: ConnectionKind,
  given: Record<string, unknown>,
): { options: ConnectionOptions; errors: FieldError[] } {
  const fields = KINDS[kind].options
  const options: ConnectionOptions = {}
  const errors: FieldError[] = []
  for (const name of Object.keys(given)) {
    if (Object.hasOwn(fields, name)) continue
    const known = Object.keys(fields).join(', ')
    errors.push({ path: `options.${name}`, message: `is not an option of ${kind}; the options are ${known}` })
  }
  for (const [name, field] of Object.entries(fields)) {
    const value = given[name] ?? null
    if (value === null) {
      if (field.required) errors.push({ path: `options.${name}`, message: 'is required' })
      else if (field.fallback !== undefined) options[name] = field.fallback
      continue
    }
    const plain = plainValue(field, value)
    const message = optionFault(field, plain)
    if (message === null) options[name] = plain
    else errors.push({ path: `options.${name}`, message })
  }
  return { options, errors }
}

/** Returns the faults of secrets by name: unknown names and values of a wrong length. Paths begin with `secrets.`. */
export function secretFaults(kind: ConnectionKind, given: Record<string, string | null>): FieldError[] {
  const known = Object.keys(KINDS[kind].secrets)
  return Object.entries(given).flatMap(([name, value]) => {
    const path = `secrets.${name}`
    if (!known.includes(name)) {
      const there = known.length === 0 ? 'it has none' : `there is ${known.join(', ')}`
      return [{ path, message: `is not a secret of ${kind}; ${there}` }]
    }
    if (value !== null && (value === '' || value.length > 10_000))
      return [{ path, message: 'must have 1 to 10000 characters' }]
    return []
  })
}

/** Returns the present limits changed by the given ones, and every fault. Paths begin with `limits.`. */
export function readLimits(
  given: Record<string, unknown>,
  present: ConnectionLimits = CONNECTION_LIMITS,
): { limits: ConnectionLimits; errors: FieldError[] } {
  const limits = { ...present }
  const errors: FieldError[] = []
  for (const [name, value] of Object.entries(given)) {
    const range = Object.hasOwn(LIMIT_RANGE, name) ? LIMIT_RANGE[name as keyof ConnectionLimits] : null
    if (range === null) {
      const known = Object.keys(LIMIT_RANGE).join(', ')
      errors.push({ path: `limits.${name}`, message: `is not a limit; the limits are ${known}` })
    } else if (!Number.isInteger(value) || Number(value) < range[0] || Number(value) > range[1]) {
      errors.push({
        path: `limits.${name}`,
        message: `must be a whole number from ${range[0]} to ${range[1]}`,
      })
    } else limits[name as keyof ConnectionLimits] = Number(value)
  }
  return { limits, errors }
}
