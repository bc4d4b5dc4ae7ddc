/**
 * A connection: where data live that are not files below the data folder, and how they may be read. `KINDS` says of
 * each kind which options and secrets it has; the API, the settings file, the command line and the console's forms all read
 * by it, which is why no library is asked for here. A secret is sealed in the store, opened by whoever runs a job, and
 * handed to the one analysis child that needs it.
 */
import type { FieldError } from './errors.ts'

export const CONNECTION_NAME = '^[a-z_][a-z0-9_-]{0,62}$'

export interface OptionField {
  type: 'text' | 'port' | 'boolean' | 'url' | 'file'
  doc: string
  required?: boolean
  /** Filled in where it is not given. */
  fallback?: string | number | boolean
  enum?: readonly string[]
  max_length?: number
}

export interface KindRow {
  title: string
  /** What a source of this kind names: a query that the database runs, or files. */
  reads: 'query' | 'files'
  options: Record<string, OptionField>
  /** By name, with what each is. */
  secrets: Record<string, string>
}

/** `verify`: TLS with a certificate that is proven; `require`: TLS, whoever answers; `off`: in clear. */
const tls: OptionField = {
  type: 'text',
  enum: ['verify', 'require', 'off'],
  fallback: 'verify',
  doc: 'verify (default): TLS with a proven certificate; require: TLS without proof; off: in clear',
}
const ca: OptionField = {
  type: 'text',
  max_length: 100_000,
  doc: 'Certificates to trust in place of the usual ones (PEM)',
}
const server = (port: number): Record<string, OptionField> => ({
  host: { type: 'text', required: true, doc: 'Name or address of the server' },
  port: { type: 'port', fallback: port, doc: `Default ${port}` },
  database: { type: 'text', required: true, doc: 'The database' },
  user: { type: 'text', required: true, doc: 'A user with the least rights: it should only be able to read' },
  tls,
  ca,
})

export const CONNECTION_KINDS = ['postgresql', 'mysql', 'clickhouse', 'sqlite', 'http', 's3'] as const
export type ConnectionKind = (typeof CONNECTION_KINDS)[number]

export const KINDS: Record<ConnectionKind, KindRow> = {
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
        doc: 'Its HTTP interface, such as https://warehouse.example.com:8443',
      },
      database: { type: 'text', fallback: 'default', doc: 'Default: default' },
      user: { type: 'text', fallback: 'default', doc: 'Default: default' },
      ca,
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
      url: { type: 'url', required: true, doc: 'The address below which the files lie' },
      user: { type: 'text', doc: 'With the secret password: HTTP basic authentication' },
      header: { type: 'text', doc: 'The header that bears the secret header_value' },
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
      bucket: { type: 'text', required: true, doc: 'Its name' },
      region: { type: 'text', fallback: 'us-east-1', doc: 'Default us-east-1' },
      endpoint: { type: 'url', doc: "Where another service than Amazon's answers" },
      prefix: { type: 'text', doc: 'What all keys begin with that sources may name' },
      path_style: {
        type: 'boolean',
        doc: 'The bucket in the path instead of the host; default: where there is an endpoint',
      },
      ca,
    },
    secrets: {
      access_key: 'The id of the key; none: what anyone may read',
      secret_key: 'The key',
      session_token: 'Of keys that are lent for a while',
    },
  },
}

/** What one query over a connection may take, and how many may run at a time (on each node). */
export interface ConnectionLimits {
  timeout_seconds: number
  rows: number
  /** Of the values as they come, before DuckDB. */
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

/** A secret as the store keeps it, with the first 8 hex digits of its SHA-256 for people to compare. */
export interface SealedField {
  name: string
  sealed: string
  fingerprint: string
}

export interface Connection {
  workspace_id: string
  name: string
  kind: ConnectionKind
  description: string | null
  options: ConnectionOptions
  secrets: SealedField[]
  limits: ConnectionLimits
  user_id: string
  created_at: string
  updated_at: string
}

/** What a child is lent for one source: the secrets are open, and only those of this connection. */
export interface OpenConnection {
  name: string
  kind: ConnectionKind
  options: ConnectionOptions
  secrets: Record<string, string>
  limits: ConnectionLimits
  /** Where it may go: entries as `parseTargets` reads them. */
  targets: readonly string[]
}

/** What a sealed secret is bound to (`SecretBox`): it opens for this connection and this field only. */
export function connectionContext(workspace_id: string, name: string, field: string): string {
  return `connection:${workspace_id}:${name}:${field}`
}

/** What of a connection changes; what is left out stays. `sealed` null: the secret of this name is removed. */
export interface ConnectionPatch {
  description?: string | null
  options?: ConnectionOptions
  secrets?: { name: string; sealed: SealedField | null }[]
  limits?: ConnectionLimits
}

export function changedConnection(present: Connection, patch: ConnectionPatch, now: string): Connection {
  const secrets = new Map(present.secrets.map((secret) => [secret.name, secret]))
  for (const { name, sealed } of patch.secrets ?? []) {
    if (sealed === null) secrets.delete(name)
    else secrets.set(name, sealed)
  }
  return {
    ...present,
    description: patch.description === undefined ? present.description : patch.description,
    options: patch.options ?? present.options,
    limits: patch.limits ?? present.limits,
    secrets: [...secrets.values()],
    updated_at: now,
  }
}

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

/** Command lines and settings files give text: "5432" for a port, "true" for a boolean. */
function plainValue(field: OptionField, given: unknown): OptionValue {
  if (typeof given !== 'string') return given as OptionValue
  if (field.type === 'port' && /^\d{1,5}$/.test(given)) return Number(given)
  if (field.type === 'boolean' && /^(true|false)$/.test(given)) return given === 'true'
  return given
}

/** The options as they are kept, or every fault. Paths begin with `options.`. */
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
    errors.push({ path: `options.${name}`, message: `is no option of ${kind}; there are ${known}` })
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

/** The faults of secrets by name: unknown ones, and values that cannot be sent. Paths begin with `secrets.`. */
export function secretFaults(kind: ConnectionKind, given: Record<string, string | null>): FieldError[] {
  const known = Object.keys(KINDS[kind].secrets)
  return Object.entries(given).flatMap(([name, value]) => {
    const path = `secrets.${name}`
    if (!known.includes(name)) {
      const there = known.length === 0 ? 'it has none' : `there is ${known.join(', ')}`
      return [{ path, message: `is no secret of ${kind}; ${there}` }]
    }
    if (value !== null && (value === '' || value.length > 10_000))
      return [{ path, message: 'must have 1 to 10000 characters' }]
    return []
  })
}

/** The limits as they are kept, over those that are present. Paths begin with `limits.`. */
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
      errors.push({ path: `limits.${name}`, message: `is no limit; there are ${known}` })
    } else if (!Number.isInteger(value) || Number(value) < range[0] || Number(value) > range[1]) {
      errors.push({
        path: `limits.${name}`,
        message: `must be a whole number from ${range[0]} to ${range[1]}`,
      })
    } else limits[name as keyof ConnectionLimits] = Number(value)
  }
  return { limits, errors }
}
