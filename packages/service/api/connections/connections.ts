/** Operations on connections. Their secrets are never answered. */
import { isIP } from 'node:net'
import { addressOfConnection } from '@assay/engine/run/connection-address'
import {
  CONNECTION_NAME,
  type Connection,
  ConnectionView,
  connectionContext,
  leadsElsewhere,
  type SealedField,
} from '@assay/model/connection'
import { CONNECTION_KINDS, readLimits, readOptions, secretFaults } from '@assay/model/connection-kinds'
import { tagOfConnection } from '@assay/model/entity-tag'
import { AppError, type FieldError, notFound } from '@assay/model/errors'
import { Type } from '@assay/model/schema'
import { DEFAULT_WORKSPACE, includesScope } from '@assay/model/token'
import { parseTargets, vetAddress, vetUrl } from '@assay/net/target'
import type { Static } from 'typebox'
import { hostFaults } from '../../outgoing/host-faults.ts'
import { fingerprint, type SecretBox } from '../../runtime/secrets.ts'
import { administered, OfWorkspace } from '../accounts/administration.ts'
import type { Services } from '../dependencies.ts'
import { LIMIT_DEFAULT, pageOf, pageQuery, whole } from '../http/fields.ts'
import { operation } from '../http/operation.ts'
import { invalid } from '../http/validate.ts'
import { refuseOwned } from '../repository/owned.ts'

const ConnectionName = Type.String({ pattern: CONNECTION_NAME, description: 'The name that templates say' })
export const ConnectionPath = Type.Object({ name: ConnectionName })
export const OfQuery = Type.Object({ workspace_id: OfWorkspace })
const Options = Type.Record(Type.String(), Type.Unknown(), {
  description: 'By kind, see docs/sources.md: host, port, database, user, tls, ca; url; file',
})
const Limits = Type.Record(Type.String(), Type.Unknown(), {
  description: 'timeout_seconds, rows, bytes, concurrent',
})
const Secret = Type.Union([Type.String({ maxLength: 10_000 }), Type.Null()])
const Secrets = Type.Record(Type.String(), Secret, { description: 'Write-only: password. Null removes one' })
const Description = Type.Union([Type.String({ maxLength: 1000 }), Type.Null()])

function view(connection: Connection): ConnectionView {
  const { name, kind, description, options, secrets, limits, created_at, updated_at } = connection
  const hidden = Object.fromEntries(secrets.map((one) => [one.name, `•••• ${one.fingerprint}`]))
  return {
    name,
    kind,
    description,
    options,
    secrets: hidden,
    limits,
    origin: 'store',
    created_at,
    updated_at,
  }
}

function sealed(
  box: SecretBox,
  context: { workspace_id: string; name: string },
  field: string,
  value: string,
): SealedField {
  const { workspace_id, name } = context
  return {
    name: field,
    sealed: box.seal(value, connectionContext(workspace_id, name, field)),
    fingerprint: fingerprint(value),
  }
}

const SETTING = 'ASSAY_CONNECTION_TARGETS'

/** Returns the faults of the address in the options. Host names are checked again at each dial. */
export function addressFaults(
  { connections }: Pick<Services, 'connections'>,
  workspace_id: string,
  options: Record<string, unknown>,
): FieldError[] {
  const targets = parseTargets(connections.targets(workspace_id))
  const message = `is not one that this service may reach; an operator can open it with ${SETTING}`
  if (typeof options.url === 'string') {
    const vetted = vetUrl(options.url, targets, SETTING)
    return vetted.ok ? [] : [{ path: 'options.url', message: vetted.fault }]
  }
  const host = typeof options.host === 'string' ? options.host : ''
  if (isIP(host) === 0 || vetAddress(host, host, Number(options.port), targets)) return []
  return [{ path: 'options.host', message }]
}

/**
 * Returns the fault of a host that the list of the workspace does not allow. Call it for options without other
 * faults.
 */
async function listFaults(
  { ledger }: Pick<Services, 'ledger'>,
  workspace_id: string,
  { kind, options }: Pick<Connection, 'kind' | 'options'>,
): Promise<FieldError[]> {
  const address = await addressOfConnection({ kind, options })
  if (address === null) return []
  const field = ['host', 'url', 'endpoint'].find((name) => options[name] !== undefined) ?? 'bucket'
  return hostFaults({ ledger, workspace_id, kind: 'query' }, address.host, `options.${field}`)
}

/** The fields of a new connection. */
export const NewConnection = Type.Object({
  name: ConnectionName,
  kind: Type.Enum([...CONNECTION_KINDS]),
  description: Type.Optional(Description),
  options: Options,
  secrets: Type.Optional(Secrets),
  limits: Type.Optional(Limits),
  workspace_id: OfWorkspace,
})
type NewConnection = Static<typeof NewConnection>

/** The fields of a change that a test can try. */
export const TriedChange = Type.Object({
  options: Type.Optional(Options),
  secrets: Type.Optional(Secrets),
  limits: Type.Optional(Limits),
})
export type TriedChange = Static<typeof TriedChange>

type Read = Pick<Connection, 'options' | 'limits'> & { secrets: Record<string, string | null> }

/** Checks a new connection. Throws a 422 with every fault. */
export async function readNewConnection(
  services: Services,
  workspace_id: string,
  { kind, ...given }: Pick<NewConnection, 'kind' | 'options' | 'secrets' | 'limits'>,
): Promise<Read> {
  const { options, errors } = readOptions(kind, given.options)
  const { limits, errors: limitErrors } = readLimits(given.limits ?? {})
  const secrets = given.secrets ?? {}
  const faults = [
    ...errors,
    ...limitErrors,
    ...secretFaults(kind, secrets),
    ...addressFaults(services, workspace_id, options),
  ]
  if (faults.length === 0) faults.push(...(await listFaults(services, workspace_id, { kind, options })))
  if (faults.length > 0) throw invalid(faults)
  return { options, limits, secrets }
}

/** Checks a change of a connection and returns the options and limits after it. Throws a 422 with every fault. */
export async function readConnectionChange(
  services: Services,
  present: Connection,
  given: TriedChange,
): Promise<Read> {
  const { kind, workspace_id } = present
  const { options, errors } = readOptions(kind, { ...present.options, ...given.options })
  const { limits, errors: limitErrors } = readLimits(given.limits ?? {}, present.limits)
  const secrets = given.secrets ?? {}
  const faults = [
    ...errors,
    ...limitErrors,
    ...secretFaults(kind, secrets),
    ...addressFaults(services, workspace_id, options),
    ...movedSecretFaults(present, options, secrets),
  ]
  if (faults.length === 0 && given.options !== undefined)
    faults.push(...(await listFaults(services, workspace_id, { kind, options })))
  if (faults.length > 0) throw invalid(faults)
  return { options, limits, secrets }
}

export function refuseReadOnly({ connections }: Services): void {
  if (!connections.readOnly) return
  throw new AppError(
    'conflict',
    'The connections come from the file that ASSAY_CONNECTIONS names: change them there and start the service again.',
  )
}

export const listConnections = operation({
  name: 'listConnections',
  tag: 'Connections',
  summary: 'List connections, newest first',
  description:
    'Publishers, whose drafts may read over each of them, see names, kinds, descriptions and limits: where a connection leads is for admins.',
  scope: 'publisher',
  query: pageQuery({ workspace_id: OfWorkspace }),
  replies: {
    200: { description: 'A page of connections, their secrets hidden', schema: pageOf(ConnectionView) },
  },
  errors: ['not_found'],
  async handle({ services, principal, query }) {
    const workspace_id = await administered(services, principal, query.workspace_id)
    const isAdmin = includesScope(principal.scopes, 'admin')
    const shown = (one: ConnectionView): ConnectionView =>
      isAdmin ? one : { ...one, options: {}, secrets: {} }
    if (services.connections.readOnly)
      return whole(services.connections.listFile(workspace_id).map((one) => shown(one)))
    const page = await services.store.listConnections({ limit: LIMIT_DEFAULT, ...query, workspace_id })
    return { items: page.items.map((one) => shown(view(one))), next_cursor: page.next_cursor }
  },
})

export const getConnection = operation({
  name: 'getConnection',
  tag: 'Connections',
  summary: 'Read a connection',
  scope: 'admin',
  params: ConnectionPath,
  query: OfQuery,
  replies: { 200: { description: 'The connection, its secrets hidden', schema: ConnectionView } },
  errors: ['not_found'],
  async handle({ services, principal, params: { name }, query, reply }) {
    const workspace_id = await administered(services, principal, query.workspace_id)
    if (services.connections.readOnly) {
      const found = services.connections.listFile(workspace_id).find((one) => one.name === name)
      if (!found) throw notFound('connection', name)
      return found
    }
    const found = await services.store.getConnection({ workspace_id, name })
    if (!found) throw notFound('connection', name)
    void reply.header('etag', tagOfConnection(found))
    return view(found)
  },
})

export const createConnection = operation({
  name: 'createConnection',
  audit: 'connection.create',
  tag: 'Connections',
  summary: 'Add a connection',
  description:
    'Templates read over it with `connection` and `query`. The connection is not tried here; `POST /v1alpha/connections/test` tries it before. Give it a database user that can only read.',
  scope: 'admin',
  body: NewConnection,
  replies: { 201: { description: 'The connection', schema: ConnectionView } },
  errors: ['not_found', 'conflict', 'name_taken'],
  async handle({ services, principal, body, reply }) {
    refuseReadOnly(services)
    const workspace_id = await administered(services, principal, body.workspace_id)
    const { options, limits, secrets } = await readNewConnection(services, workspace_id, body)
    const key = { workspace_id, name: body.name }
    const connection = await services.store.createConnection({
      ...key,
      kind: body.kind,
      description: body.description ?? null,
      options,
      secrets: Object.entries(secrets).flatMap(([field, value]) =>
        value === null ? [] : [sealed(services.secrets, key, field, value)],
      ),
      limits,
      user_id: principal.user_id,
    })
    const location = `/v1alpha/connections/${body.name}`
    void reply.code(201).headers({ location, etag: tagOfConnection(connection) })
    return view(connection)
  },
})

export const changeConnection = operation({
  name: 'changeConnection',
  audit: 'connection.change',
  tag: 'Connections',
  summary: 'Change a connection',
  description:
    'Fields that are left out stay. `options`, `secrets` and `limits` change by name: null removes an option or a secret, others stay. A change of the address (host, port, url, endpoint, tls, ca) requires the secrets again, so that nobody can redirect them to another server.',
  scope: 'admin',
  params: ConnectionPath,
  query: OfQuery,
  body: Type.Object({
    description: Type.Optional(Description),
    ...TriedChange.properties,
  }),
  replies: { 200: { description: 'The connection as it is now', schema: ConnectionView } },
  errors: ['not_found', 'conflict'],
  async handle({ services, principal, params, query, body, reply }) {
    refuseReadOnly(services)
    const workspace_id = await administered(services, principal, query.workspace_id)
    const key = { workspace_id, name: params.name }
    const onlySecrets = Object.keys(body).every((field) => field === 'secrets')
    if (workspace_id === DEFAULT_WORKSPACE && !onlySecrets)
      await refuseOwned(services, { connection: params.name })
    const present = await services.store.getConnection(key)
    if (!present) throw notFound('connection', params.name)
    const { options, limits, secrets } = await readConnectionChange(services, present, body)
    const changed = await services.store.updateConnection({
      ...key,
      patch: {
        ...(body.description === undefined ? {} : { description: body.description }),
        ...(body.options === undefined ? {} : { options }),
        ...(body.limits === undefined ? {} : { limits }),
        secrets: Object.entries(secrets).map(([field, value]) => ({
          name: field,
          sealed: value === null ? null : sealed(services.secrets, key, field, value),
        })),
      },
    })
    if (!changed) throw notFound('connection', params.name)
    void reply.header('etag', tagOfConnection(changed))
    return view(changed)
  },
})

/**
 * Returns the faults of secrets that a change of the address requires again. A secret is only sent to the server for
 * which it was given.
 */
function movedSecretFaults(
  present: Connection,
  options: Connection['options'],
  secrets: Record<string, string | null>,
): FieldError[] {
  if (!leadsElsewhere(present.options, options)) return []
  return present.secrets
    .filter(({ name }) => secrets[name] === undefined)
    .map(({ name }) => ({ path: `secrets.${name}`, message: 'must be given again, as the address changes' }))
}

export const deleteConnection = operation({
  name: 'deleteConnection',
  audit: 'connection.delete',
  tag: 'Connections',
  summary: 'Remove a connection',
  description: 'Later jobs that read over it fail with `source_unavailable`.',
  scope: 'admin',
  params: ConnectionPath,
  query: OfQuery,
  replies: { 204: { description: 'The connection is deleted' } },
  errors: ['not_found', 'conflict'],
  async handle({ services, principal, params, query, reply }) {
    refuseReadOnly(services)
    const workspace_id = await administered(services, principal, query.workspace_id)
    if (workspace_id === DEFAULT_WORKSPACE) await refuseOwned(services, { connection: params.name })
    if (!(await services.store.deleteConnection({ workspace_id, name: params.name })))
      throw notFound('connection', params.name)
    return reply.code(204).send()
  },
})
