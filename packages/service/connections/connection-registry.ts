/**
 * The connections of this service: those of the settings file if there is one, else those of the store. The registry opens
 * their secrets. It gives an analysis process only the connections that its template names, one source at a time. It counts
 * the queries under way, so that no connection has more of them on this node than its limit.
 */
import path from 'node:path'
import type { ConnectionAccess } from '@assay/engine/run/connection-requests'
import {
  type Connection,
  type ConnectionView,
  connectionContext,
  type OpenConnection,
} from '@assay/model/connection'
import { DEFAULT_WORKSPACE } from '@assay/model/token'
import { KeyedSemaphore } from '@assay/net/semaphore'
import type { Store } from '@assay/store/store'
import type { Ledger } from '../outgoing/ledger.ts'
import { type SecretBox, SecretError } from '../runtime/secrets.ts'
import { type FileConnection, followReference, readSettingsFile, SettingsFault } from './settings-file.ts'

/**
 * The targets of connections if ASSAY_CONNECTION_TARGETS is not set. Databases are usually inside the operator's network, so
 * connections of the default workspace and of the settings file may go there; those of other workspaces may not. No connection
 * reaches a metadata service.
 */
const OPERATORS_TARGETS = ['public', 'private', 'loopback']
const GUESTS_TARGETS = ['public']
const STORE_AWAY = { text: 'The store cannot be reached, so nothing is known of what the workspace may do.' }

export interface RegistryOptions {
  /** Null on a machine without a service (`assay run`), where only the settings file counts. */
  store: Pick<Store, 'getConnection'> | null
  secrets: SecretBox | null
  /** The path of ASSAY_CONNECTIONS; null if it is not set. */
  file: string | null
  /** The targets of ASSAY_CONNECTION_TARGETS; null if it is not set. */
  targets: readonly string[] | null
  environment: NodeJS.ProcessEnv
  /** Counts the queries; absent on a machine without a service. */
  ledger?: Pick<Ledger, 'take'>
}

export interface AccessOptions {
  workspace_id: string
  /** The connections that the template names. */
  names(): Promise<readonly string[]>
  /** The reason why the template gets no connection at all. */
  withheld?: string | undefined
}

export interface ConnectionRegistry {
  /** True if the connections come from the settings file, so that the API cannot change them. */
  readonly readOnly: boolean
  /** Returns the targets that connections of a workspace may reach. */
  targets(workspace_id: string): readonly string[]
  /** Lists the connections of the settings file. */
  listFile(workspace_id: string): ConnectionView[]
  /** Returns the kind of a connection; null if there is none. */
  kindOf(workspace_id: string, name: string): Promise<string | null>
  /**
   * Returns a connection with its secrets opened, or null if there is none. Throws SettingsFault or SecretError if a
   * secret cannot be opened.
   */
  open(workspace_id: string, name: string): Promise<OpenConnection | null>
  accessFor(to: AccessOptions): ConnectionAccess
}

/** Opens the registry. Throws SettingsFault if the file has faults. */
export async function openConnections(options: RegistryOptions): Promise<ConnectionRegistry> {
  const { file } = options
  const fromFile = file === null ? null : await readSettingsFile(file)
  const inFile = (workspace_id: string): FileConnection[] =>
    (fromFile ?? []).filter(({ workspaces }) => workspaces.includes(workspace_id))
  const queries = new KeyedSemaphore()

  const open = async (workspace_id: string, name: string): Promise<OpenConnection | null> => {
    if (fromFile === null) return openStored(options, workspace_id, name)
    const found = inFile(workspace_id).find((one) => one.name === name)
    if (!found) return null
    const secrets: Record<string, string> = {}
    for (const [field, reference] of Object.entries(found.secrets))
      secrets[field] = await followReference(reference, options.environment, path.dirname(file!)).catch(
        (error: Error) => {
          throw new SettingsFault(
            `The secret "${field}" of the connection "${name}" cannot be read: ${error.message}.`,
          )
        },
      )
    const { kind, options: given, limits } = found
    return { name, kind, options: given, secrets, limits, targets: options.targets ?? OPERATORS_TARGETS }
  }

  return {
    readOnly: fromFile !== null,
    targets: (workspace_id) => targetsFor(options, workspace_id),
    listFile: (workspace_id) => inFile(workspace_id).map(fileView),
    async kindOf(workspace_id, name) {
      if (fromFile !== null) return inFile(workspace_id).find((one) => one.name === name)?.kind ?? null
      return (await options.store?.getConnection({ workspace_id, name }))?.kind ?? null
    },
    open,
    accessFor: (to) =>
      accessFor(to, {
        open,
        queries,
        isEmpty: fromFile === null && options.store === null,
        ledger: options.ledger,
      }),
  }
}

function targetsFor({ targets }: RegistryOptions, workspace_id: string): readonly string[] {
  return targets ?? (workspace_id === DEFAULT_WORKSPACE ? OPERATORS_TARGETS : GUESTS_TARGETS)
}

async function openStored(
  options: RegistryOptions,
  workspace_id: string,
  name: string,
): Promise<OpenConnection | null> {
  const { store, secrets } = options
  const found: Connection | null = (await store?.getConnection({ workspace_id, name })) ?? null
  if (!found) return null
  const opened = found.secrets.map(({ name: field, sealed }) => [
    field,
    secrets!.open(sealed, connectionContext(workspace_id, name, field)),
  ])
  const { kind, limits } = found
  const targets = targetsFor(options, workspace_id)
  return {
    name,
    kind,
    options: found.options,
    secrets: Object.fromEntries(opened) as Record<string, string>,
    limits,
    targets,
  }
}

function fileView({ name, kind, description, options, secrets, limits }: FileConnection): ConnectionView {
  return {
    name,
    kind,
    description,
    options,
    secrets,
    limits,
    origin: 'file',
    created_at: null,
    updated_at: null,
  }
}

interface Registered {
  open: ConnectionRegistry['open']
  queries: KeyedSemaphore
  isEmpty: boolean
  ledger: RegistryOptions['ledger']
}

function accessFor(
  { workspace_id, names, withheld }: AccessOptions,
  { open, queries, isEmpty, ledger }: Registered,
): ConnectionAccess {
  const held = new Map<string, () => void>()

  async function find(name: string): Promise<OpenConnection | string> {
    if (withheld !== undefined) return withheld
    // The process may ask for any name, because a template may have taken control of it.
    if (!(await names()).includes(name)) return `The template names no connection "${name}".`
    if (isEmpty)
      return `The connection "${name}" is not known here: name a file of connections (ASSAY_CONNECTIONS).`
    try {
      return (
        (await open(workspace_id, name)) ??
        `There is no connection "${name}" in this workspace: an admin adds it.`
      )
    } catch (error) {
      if (error instanceof SettingsFault) return error.message
      if (error instanceof SecretError)
        return `The secrets of the connection "${name}" cannot be opened: give them again.`
      return `The connection "${name}" cannot be read: the store cannot be reached.`
    }
  }

  return {
    async acquire(name, signal) {
      const found = await find(name)
      if (typeof found === 'string') return { refused: found }
      const refusal = await ledger?.take(workspace_id, 'query').catch(() => STORE_AWAY)
      if (refusal) return { refused: `The connection "${name}" is not asked. ${refusal.text}` }
      const { concurrent, timeout_seconds } = found.limits
      const waiting = AbortSignal.any([signal, AbortSignal.timeout(timeout_seconds * 1000)])
      const release = await queries.acquire(`${workspace_id}\n${name}`, concurrent, waiting)
      if (release === null)
        return {
          refused: `The connection "${name}" has ${concurrent} queries under way, the most that limits.concurrent allows.`,
        }
      if (signal.aborted) release()
      else held.set(name, release)
      return { connection: found }
    },
    release(name) {
      held.get(name)?.()
      held.delete(name)
    },
    end() {
      for (const release of held.values()) release()
      held.clear()
    },
  }
}
