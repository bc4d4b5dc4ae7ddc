/** Converts connections between the form, where every value is text, and the service, where each option has its type. */
import type { ConnectionChange, ConnectionInput } from '@assay/client'
import type { ConnectionView } from '@assay/model/connection'
import {
  type ConnectionKind,
  type ConnectionLimits,
  KINDS,
  type OptionField,
} from '@assay/model/connection-kinds'
import { api, orNull } from './api.ts'

/** Returns null if there is no connection of this name. */
export const findConnection = (name: string): Promise<ConnectionView | null> =>
  orNull(api().connections.get(name))

export const textOf = (value: unknown): string =>
  value === undefined || value === null ? '' : typeof value === 'string' ? value : JSON.stringify(value)

/** Returns the address and user of a connection in one line. */
export function placeOf({ options }: Pick<ConnectionView, 'options'>): string {
  const at = (name: string): string => textOf(options[name])
  const user = at('user') === '' ? '' : `${at('user')} at `
  if (at('url') !== '') return user + at('url')
  if (at('host') !== '') return `${user}${at('host')}:${at('port')}/${at('database')}`
  if (at('bucket') === '') return at('file')
  const prefix = at('prefix') === '' ? '' : `/${at('prefix')}`
  return `${at('bucket')}${prefix} at ${at('endpoint') || `Amazon ${at('region')}`}`
}

interface OptionWords {
  label: string
  /** A hint, if the description of the option does not say enough. */
  hint?: string
  choices?: Record<string, string>
}

/** The options and secrets of connections, in words for the person who fills in the form. */
const OPTION_WORDS: Record<string, OptionWords> = {
  host: { label: 'Host' },
  port: { label: 'Port' },
  database: { label: 'Database' },
  user: { label: 'User' },
  tls: {
    label: 'Encryption',
    hint: 'Whether the way to the server is encrypted, and the server must show who it is.',
    choices: {
      verify: 'yes, with a verified certificate',
      require: 'yes, with any certificate',
      off: 'no, plain text',
    },
  },
  ca: { label: 'Certificates' },
  privileged: {
    label: 'If it can do more than read',
    hint: 'What to do where the user may write, or is a superuser.',
    choices: { refused: 'refuse it', accepted: 'take it anyway' },
  },
  url: { label: 'Address' },
  file: { label: 'File' },
  header: { label: 'Header' },
  bucket: { label: 'Bucket' },
  region: { label: 'Region' },
  endpoint: { label: 'Endpoint' },
  prefix: { label: 'Keys begin with' },
  path_style: { label: 'Bucket in the path' },
  password: { label: 'Password' },
  token: { label: 'Token' },
  header_value: { label: 'Value of the header' },
  access_key: { label: 'Access key' },
  secret_key: { label: 'Secret key' },
  session_token: { label: 'Session token' },
}

export const optionWords = (name: string): OptionWords => OPTION_WORDS[name] ?? { label: name }

/** Returns the value of an option as a page shows it. */
export function optionText(name: string, value: unknown): string {
  const text = textOf(value)
  return optionWords(name).choices?.[text] ?? text
}

export const LIMITS: Record<keyof ConnectionLimits, string> = {
  timeout_seconds: 'Seconds that one query may take',
  rows: 'Rows that one query may return',
  bytes: 'Bytes of values that one query may return',
  concurrent: 'Queries at a time, on each node',
}
const LIMIT_NAMES = Object.keys(LIMITS) as (keyof ConnectionLimits)[]

export interface ConnectionDraft {
  name: string
  kind: ConnectionKind
  description: string
  options: Record<string, string>
  /** The limits as text. An empty text takes the default. */
  limits: Record<string, string>
}

const usualOptions = (kind: ConnectionKind): Record<string, string> =>
  Object.fromEntries(
    Object.entries(KINDS[kind].options).map(([name, { fallback }]) => [name, textOf(fallback)]),
  )

export function firstDraft(kind: ConnectionKind): ConnectionDraft {
  return { name: '', kind, description: '', options: usualOptions(kind), limits: {} }
}

/** Returns the draft for another kind. Options that both kinds have keep their values. */
export function ofKind(draft: ConnectionDraft, kind: ConnectionKind): ConnectionDraft {
  const before = usualOptions(draft.kind)
  const typed = Object.entries(draft.options).filter(([name, value]) => value !== before[name])
  const known = typed.filter(([name]) => Object.hasOwn(KINDS[kind].options, name))
  return { ...draft, kind, options: { ...usualOptions(kind), ...Object.fromEntries(known) } }
}

export function draftOf({ name, kind, description, options, limits }: ConnectionView): ConnectionDraft {
  return {
    name,
    kind,
    description: description ?? '',
    options: Object.fromEntries(
      Object.keys(KINDS[kind].options).map((option) => [option, textOf(options[option])]),
    ),
    limits: Object.fromEntries(LIMIT_NAMES.map((limit) => [limit, String(limits[limit])])),
  }
}

/**
 * Returns the options as the service takes them. A text that is no number or boolean is sent unchanged and refused
 * there.
 */
function typed({ type }: OptionField, value: string): unknown {
  if (type === 'port' && /^\d+$/.test(value)) return Number(value)
  return type === 'boolean' ? value === 'true' : value
}

function sentOptions({ kind, options }: ConnectionDraft): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(KINDS[kind].options).map(([name, field]) => {
      const value = (options[name] ?? '').trim()
      return [name, value === '' ? null : typed(field, value)]
    }),
  )
}

function sentLimits({ limits }: ConnectionDraft): Partial<ConnectionLimits> {
  const given = LIMIT_NAMES.filter((name) => (limits[name] ?? '').trim() !== '')
  return Object.fromEntries(given.map((name) => [name, Number(limits[name])]))
}

/** Returns the input of a new connection. `secrets`: those that were entered. */
export function inputOf(draft: ConnectionDraft, secrets: Record<string, string>): ConnectionInput {
  const { name, kind, description } = draft
  return {
    name: name.trim(),
    kind,
    ...(description.trim() === '' ? {} : { description: description.trim() }),
    options: sentOptions(draft),
    secrets,
    limits: sentLimits(draft),
  }
}

/** Returns the change. `secrets`: those that were entered, and null for those that are removed. */
export function changeOf(draft: ConnectionDraft, secrets: Record<string, string | null>): ConnectionChange {
  const description = draft.description.trim() === '' ? null : draft.description.trim()
  return { description, options: sentOptions(draft), secrets, limits: sentLimits(draft) }
}

/** Tells whether a change affects the way to the server. A change of a note or a limit does not. */
export function leadsOtherwise(
  { options }: ConnectionDraft,
  before: ConnectionDraft,
  secrets: Record<string, string | null>,
): boolean {
  const names = Object.keys({ ...before.options, ...options })
  const differs = names.some((name) => (options[name] ?? '').trim() !== (before.options[name] ?? ''))
  return differs || Object.keys(secrets).length > 0
}

/** Returns the front matter of a template that reads over this connection. */
export function snippetOf({ name, kind }: Pick<ConnectionView, 'name' | 'kind'>): string {
  const head = ['sources:', '  orders:', `    connection: ${name}`]
  const file = kind === 's3' ? '"2024/*.parquet"' : '2024/orders.csv'
  const rest =
    KINDS[kind].reads === 'files'
      ? [`    file: ${file}`]
      : ['    query: |', '      select day, sum(amount) as amount', '      from orders', '      group by day']
  return [...head, ...rest].join('\n')
}

/** The most tables that are listed. */
const TABLES_MOST = 1000

/** The query that lists the tables of a database, by the kind of its connection. Tables of the server are left out. */
const TABLES: Partial<Record<ConnectionView['kind'], string>> = {
  postgresql: `select table_schema || '.' || table_name as name from information_schema.tables where table_schema not in ('pg_catalog', 'information_schema') order by 1 limit ${TABLES_MOST}`,
  mysql: `select concat(table_schema, '.', table_name) as name from information_schema.tables where table_schema not in ('mysql', 'sys', 'information_schema', 'performance_schema') order by 1 limit ${TABLES_MOST}`,
  clickhouse: `select concat(database, '.', name) as name from system.tables where lower(database) not in ('system', 'information_schema') order by 1 limit ${TABLES_MOST}`,
  sqlite: `select name from sqlite_schema where type in ('table', 'view') and name not like 'sqlite_%' order by 1 limit ${TABLES_MOST}`,
}

/** Returns a template whose block "names" lists the tables of the connection. */
export function listTemplate({ name: connection, kind }: Pick<ConnectionView, 'name' | 'kind'>): string {
  const sources = JSON.stringify({ found: { connection, query: TABLES[kind] ?? '' } })
  return `---\nlineage: none\nsources: ${sources}\n---\n\n\`\`\`sql names\nselect name from found order by name\n\`\`\`\n\n# Tables\n`
}
