/**
 * Connections of a settings file (ASSAY_CONNECTIONS), YAML or JSON. With such a file there are no other connections, and the API
 * only shows them. A secret in the file is a reference, `env:NAME` or `file:PATH`, which is read each time the connection is
 * opened, so that a changed secret takes effect.
 */
import { readFile } from 'node:fs/promises'
import path from 'node:path'
import { CONNECTION_NAME } from '@assay/model/connection'
import {
  CONNECTION_KINDS,
  type ConnectionKind,
  type ConnectionLimits,
  type ConnectionOptions,
  KINDS,
  readLimits,
  readOptions,
} from '@assay/model/connection-kinds'
import { DEFAULT_WORKSPACE } from '@assay/model/token'

/** A fault of the file, or a reference without a secret. The message is a sentence for the operator. */
export class SettingsFault extends Error {}

export interface FileConnection {
  name: string
  kind: ConnectionKind
  description: string | null
  options: ConnectionOptions
  /** The references, by the name of the secret. */
  secrets: Record<string, string>
  limits: ConnectionLimits
  workspaces: string[]
}

const KEYS = ['kind', 'description', 'options', 'secrets', 'limits', 'workspaces']
const REFERENCE = /^(env:[A-Za-z_][A-Za-z0-9_]*|file:.+)$/

type Entries = Record<string, unknown>

function isMap(value: unknown): value is Entries {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Reads the connections of the file. Throws SettingsFault with every fault. */
export async function readSettingsFile(file: string): Promise<FileConnection[]> {
  const text = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new SettingsFault(`${file} cannot be read (${error.code ?? 'unknown'}).`)
  })
  // Only a service with such a file loads the parser.
  const { parse } = await import('yaml')
  let whole: unknown
  try {
    whole = parse(text, { maxAliasCount: 20 })
  } catch (error) {
    throw new SettingsFault(`${file} is not YAML: ${(error as Error).message.split('\n')[0]}`)
  }
  const faults: string[] = []
  if (!isMap(whole) || !isMap(whole.connections) || Object.keys(whole).length > 1)
    throw new SettingsFault(`${file} must hold one key, "connections": a map of connections by name.`)
  const found = Object.entries(whole.connections).flatMap(([name, given]) => {
    const one = readConnection(name, given)
    faults.push(...one.faults.map((fault) => `connections.${name}: ${fault}`))
    return one.connection ? [one.connection] : []
  })
  if (faults.length > 0) throw new SettingsFault(`${file}:\n${faults.join('\n')}`)
  return found
}

function readConnection(
  name: string,
  given: unknown,
): { connection: FileConnection | null; faults: string[] } {
  const faults: string[] = []
  const refuse = (fault: string) => ({ connection: null, faults: [fault] })
  if (!new RegExp(CONNECTION_NAME).test(name))
    return refuse('a name has lower-case letters, digits, "-" and "_", a letter first')
  if (!isMap(given)) return refuse('must be a map')
  const kind = given.kind as ConnectionKind
  if (!CONNECTION_KINDS.includes(kind)) return refuse(`kind must be one of ${CONNECTION_KINDS.join(', ')}`)
  for (const key of Object.keys(given))
    if (!KEYS.includes(key)) faults.push(`${key} is not a key; the keys are ${KEYS.join(', ')}`)
  const maps = { options: given.options ?? {}, secrets: given.secrets ?? {}, limits: given.limits ?? {} }
  for (const [key, value] of Object.entries(maps)) if (!isMap(value)) faults.push(`${key} must be a map`)
  if (faults.length > 0) return { connection: null, faults }
  const { options, errors } = readOptions(kind, maps.options as Entries)
  const { limits, errors: limitErrors } = readLimits(maps.limits as Entries)
  faults.push(...[...errors, ...limitErrors].map(({ path: at, message }) => `${at} ${message}`))
  faults.push(...secretFaultsOf(kind, maps.secrets as Entries))
  const workspaces = (given.workspaces ?? [DEFAULT_WORKSPACE]) as unknown
  if (!Array.isArray(workspaces) || !workspaces.every((one) => typeof one === 'string'))
    faults.push('workspaces must be a list of their ids')
  const { description = null } = given
  if (description !== null && typeof description !== 'string') faults.push('description must be text')
  if (faults.length > 0) return { connection: null, faults }
  const secrets = maps.secrets as Record<string, string>
  return {
    connection: {
      name,
      kind,
      description: description as string | null,
      options,
      secrets,
      limits,
      workspaces: workspaces as string[],
    },
    faults,
  }
}

/** Returns the faults of references. A message never holds the value, which may be a secret in the wrong place. */
function secretFaultsOf(kind: ConnectionKind, given: Entries): string[] {
  const known = Object.keys(KINDS[kind].secrets)
  return Object.entries(given).flatMap(([name, value]) => {
    if (!known.includes(name)) return [`secrets.${name} is not a secret of ${kind}`]
    if (typeof value === 'string' && REFERENCE.test(value)) return []
    return [`secrets.${name} must be a reference: env:NAME or file:PATH, never the secret itself`]
  })
}

/** Reads the secret of a reference, without the line break at the end of a file. Throws SettingsFault. */
export async function followReference(
  reference: string,
  environment: NodeJS.ProcessEnv,
  folder: string,
): Promise<string> {
  const value = reference.slice(reference.indexOf(':') + 1)
  if (reference.startsWith('env:')) {
    const found = environment[value]
    if (found !== undefined && found !== '') return found
    throw new SettingsFault(`the variable ${value} is not set`)
  }
  const text = await readFile(path.resolve(folder, value), 'utf8').catch(() => null)
  if (text === null) throw new SettingsFault(`the file ${value} cannot be read`)
  return text.replace(/\r?\n$/, '')
}
