/**
 * A connection: a database, web server or bucket outside the data folder, and how templates may read it. Its secrets are
 * sealed in the store, opened on the node that runs a job, and given only to the analysis child that reads the source.
 */
import type { Static } from 'typebox'
import {
  CONNECTION_KINDS,
  type ConnectionKind,
  type ConnectionLimits,
  type ConnectionOptions,
} from './connection-kinds.ts'
import { nullable, Type } from './schema.ts'

/** The most connections of a workspace. */
export const CONNECTIONS_MOST = 200

export const CONNECTION_NAME = '^[a-z_][a-z0-9_-]{0,62}$'

/** A secret as the store keeps it. The fingerprint is the first 8 hex digits of its SHA-256, for people to compare. */
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

/** A connection with its secrets opened, as an analysis child gets it for one source. */
export interface OpenConnection {
  name: string
  kind: ConnectionKind
  options: ConnectionOptions
  secrets: Record<string, string>
  limits: ConnectionLimits
  /** The addresses that the connection may reach, as `parseTargets` reads them. */
  targets: readonly string[]
}

/**
 * Returns the context with which a secret is sealed (`SecretBox`). The secret opens for this connection and this
 * field only.
 */
export function connectionContext(workspace_id: string, name: string, field: string): string {
  return `connection:${workspace_id}:${name}:${field}`
}

/** A change of a connection. Absent fields stay as they are. `sealed` null removes the secret of that name. */
export interface ConnectionPatch {
  description?: string | null
  options?: ConnectionOptions
  secrets?: { name: string; sealed: SealedField | null }[]
  limits?: ConnectionLimits
}

/**
 * Tells whether a connection leads elsewhere after a change. A secret is only sent to the server for which it was
 * given.
 */
export function leadsElsewhere(before: ConnectionOptions, after: ConnectionOptions): boolean {
  return ['host', 'port', 'url', 'endpoint', 'tls', 'ca'].some((name) => after[name] !== before[name])
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

const LimitsView = Type.Object({
  timeout_seconds: Type.Integer({ description: 'The longest time that one query may take' }),
  rows: Type.Integer({ description: 'The most rows that one query may return' }),
  bytes: Type.Integer({ description: 'The most bytes of values that one query may return' }),
  concurrent: Type.Integer({ description: 'Queries at a time, on each node' }),
})

/** A connection as the API answers it. Of a secret it has only the fingerprint. */
export const ConnectionView = Type.Object(
  {
    name: Type.String(),
    kind: Type.Enum([...CONNECTION_KINDS]),
    description: nullable(Type.String()),
    options: Type.Record(Type.String(), Type.Unknown(), { description: 'See docs/sources.md, by kind' }),
    secrets: Type.Record(Type.String(), Type.String(), { description: 'Hidden: •••• and a fingerprint' }),
    limits: LimitsView,
    origin: Type.Enum(['store', 'file'], { description: 'file: read-only, from ASSAY_CONNECTIONS' }),
    created_at: nullable(Type.String({ format: 'date-time' })),
    updated_at: nullable(Type.String({ format: 'date-time' })),
  },
  { title: 'Connection' },
)
export type ConnectionView = Static<typeof ConnectionView>
