/** Tests connections: stored ones, stored ones with a change, and new ones before they are stored. */
import { addressOfConnection } from '@assay/engine/run/connection-address'
import type { OpenConnection } from '@assay/model/connection'
import { AppError, notFound } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { SecretError } from '../../runtime/secrets.ts'
import { administered } from '../accounts/administration.ts'
import type { Services } from '../dependencies.ts'
import { type Call, operation } from '../http/operation.ts'
import { rootsOf } from '../templates/template-lookup.ts'
import {
  ConnectionPath,
  NewConnection,
  OfQuery,
  readConnectionChange,
  readNewConnection,
  refuseReadOnly,
  TriedChange,
} from './connections.ts'

const Tested = Type.Object(
  {
    ok: Type.Boolean(),
    server: Type.Union([Type.String(), Type.Null()], { description: 'The name and version of the server' }),
    read_only: Type.Union([Type.String(), Type.Null()], {
      description: 'How the server keeps queries from writing',
    }),
    detail: Type.Union([Type.String(), Type.Null()], { description: 'Why it cannot be used' }),
    elapsed_ms: Type.Number(),
  },
  { title: 'ConnectionTest' },
)

function failed(detail: string, elapsed_ms = 0) {
  return { ok: false, server: null, read_only: null, detail, elapsed_ms }
}

/**
 * Returns the host and port of a connection for the audit trail. The trail names no other option, because only these
 * are known to hold no secret.
 */
async function placeOf({ kind, options }: OpenConnection): Promise<string[]> {
  if (kind === 'sqlite') return [`file:${String(options.file)}`]
  const address = await addressOfConnection({ kind, options })
  return address === null ? [] : [`host:${address.host}:${address.port}`]
}

/**
 * Tests a connection and records the test with its host before it runs. `connection` is a text if it cannot be
 * opened; the text says why.
 */
async function tried(call: Call, workspace_id: string, connection: OpenConnection | string) {
  const { services, principal, signal } = call
  const fields = typeof connection === 'string' ? [] : await placeOf(connection)
  services.audit.note({ ...services.audit.record('connection.test', call), fields })
  if (typeof connection === 'string') return failed(connection)
  const began = services.clock.monotonic()
  const roots = await rootsOf(services, { ...principal, workspace_id })
  const found = await services.pool
    .probe({ kind: 'probe', connection, roots }, { workspace_id, signal: signal() })
    .catch((error: Error) => {
      if (error instanceof AppError) throw error
      return { ok: false as const, detail: error.message }
    })
  const elapsed_ms = Math.round(services.clock.monotonic() - began)
  if (!found.ok) return failed(found.detail, elapsed_ms)
  return { ok: true, server: found.server, read_only: found.read_only, detail: null, elapsed_ms }
}

/** Returns the secrets after a change. Null as the value of a secret removes it. */
function merged(
  before: Record<string, string>,
  given: Record<string, string | null>,
): Record<string, string> {
  const all: [string, string | null][] = Object.entries({ ...before, ...given })
  return Object.fromEntries(all.flatMap(([name, value]) => (value === null ? [] : [[name, value]])))
}

/** Returns the stored connection, or a sentence on why it cannot be opened. Throws a 404 if there is none. */
async function kept(
  { connections }: Services,
  workspace_id: string,
  name: string,
): Promise<OpenConnection | string> {
  try {
    const found = await connections.open(workspace_id, name)
    if (found) return found
  } catch (error) {
    if (error instanceof AppError) throw error
    return error instanceof SecretError
      ? 'Its secrets cannot be opened: give them again.'
      : (error as Error).message
  }
  throw notFound('connection', name)
}

/**
 * Returns the connection as the change would make it. Stored secrets stay sealed if the change gives all of them
 * again.
 */
async function changed(
  services: Services,
  key: { workspace_id: string; name: string },
  body: TriedChange,
): Promise<OpenConnection | string> {
  const { workspace_id, name } = key
  refuseReadOnly(services)
  const present = await services.store.getConnection(key)
  if (!present) throw notFound('connection', name)
  const { options, limits, secrets } = await readConnectionChange(services, present, body)
  const isGivenWhole = present.secrets.every((one) => secrets[one.name] !== undefined)
  const before = isGivenWhole ? null : await kept(services, workspace_id, name)
  if (typeof before === 'string') return before
  return {
    name,
    kind: present.kind,
    options,
    limits,
    secrets: merged(before?.secrets ?? {}, secrets),
    targets: services.connections.targets(workspace_id),
  }
}

const TRIES =
  'Connects from a sandboxed process like those of jobs, reads the version of the server, and disconnects.'

export const tryConnection = operation({
  name: 'tryConnection',
  // `tried` records the test with the host that it reaches.
  audit: null,
  tag: 'Connections',
  summary: 'Try a connection before it is added',
  description: `${TRIES} Nothing is kept.`,
  scope: 'admin',
  body: NewConnection,
  idempotent: false,
  replies: { 200: { description: 'The result of the test', schema: Tested } },
  errors: ['not_found', 'conflict', 'workspace_busy'],
  async handle(call) {
    const { services, principal, body } = call
    refuseReadOnly(services)
    const workspace_id = await administered(services, principal, body.workspace_id)
    const { options, limits, secrets } = await readNewConnection(services, workspace_id, body)
    const targets = services.connections.targets(workspace_id)
    const { name, kind } = body
    return tried(call, workspace_id, { name, kind, options, limits, secrets: merged({}, secrets), targets })
  },
})

export const testConnection = operation({
  name: 'testConnection',
  // `tried` records the test with the host that it reaches.
  audit: null,
  tag: 'Connections',
  summary: 'Try a connection',
  description: `${TRIES} With a body it is tried as a change with this body would make it; nothing is kept.`,
  scope: 'admin',
  params: ConnectionPath,
  query: OfQuery,
  body: TriedChange,
  idempotent: false,
  replies: { 200: { description: 'The result of the test', schema: Tested } },
  errors: ['not_found', 'conflict', 'workspace_busy'],
  async handle(call) {
    const { services, principal, params, query, body } = call
    const workspace_id = await administered(services, principal, query.workspace_id)
    const connection =
      Object.keys(body).length === 0
        ? await kept(services, workspace_id, params.name)
        : await changed(services, { workspace_id, name: params.name }, body)
    return tried(call, workspace_id, connection)
  },
})
