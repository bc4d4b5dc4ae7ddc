/**
 * Every setting in one table: it parses, explains, prints and redacts itself; docs/config.md is generated from it.
 * Each is an environment variable (ASSAY_PORT) and a flag (--port); a flag wins. The result is passed in, never global.
 */
import { homedir } from 'node:os'
import path from 'node:path'
import { parseCollector, parseCollectorHeaders } from './collector.ts'
import { parseMailbox } from './subscription.ts'

interface Setting<T> {
  env: string
  /** Shown by --help and docs/config.md. */
  doc: string
  /** As text, for the docs. */
  fallback: string
  secret?: boolean
  parse(text: string): T
}

/** A bad value: the start stops with this sentence. */
export class ConfigError extends Error {}

function setting<T>(
  env: string,
  fallback: string,
  doc: string,
  parse: (text: string) => T,
  secret = false,
): Setting<T> {
  return { env, fallback, doc, parse, secret }
}

const text = (value: string): string => value

function integer(least: number, most: number): (value: string) => number {
  return (value) => {
    const number = Number(value)
    if (!/^-?\d+$/.test(value) || number < least || number > most)
      throw new Error(`must be a whole number from ${least} to ${most}`)
    return number
  }
}

function oneOf<T extends string>(...allowed: T[]): (value: string) => T {
  return (value) => {
    if (!allowed.includes(value as T)) throw new Error(`must be one of ${allowed.join(', ')}`)
    return value as T
  }
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const SIZES: Record<string, number> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
}

/** "60s" -> 60000 (milliseconds). */
export function parseDuration(value: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(value)
  if (!match) throw new Error('must be a duration such as 500ms, 60s, 5m, 2h or 30d')
  return Number(match[1]) * UNITS[match[2]!]!
}

function durationFrom(least: number, most: number): (value: string) => number {
  return (value) => {
    const ms = parseDuration(value)
    if (ms < least || ms > most) throw new Error(`must be from ${least / 1000}s to ${most / 1000}s`)
    return ms
  }
}

/** "1GB" -> 1e9 (bytes). */
export function parseSize(value: string): number {
  const match = /^(\d+(?:\.\d+)?)\s*(B|kB|KB|MB|GB|TB|KiB|MiB|GiB)$/.exec(value)
  if (!match) throw new Error('must be a size such as 512MB, 1GB or 2GiB')
  return Math.floor(Number(match[1]) * SIZES[match[2]!]!)
}

export const ROLES = ['api', 'worker', 'dispatcher'] as const
export type Role = (typeof ROLES)[number]

function roles(value: string): Role[] {
  const list = value.split(',').map((part) => part.trim())
  return list.map(oneOf(...ROLES))
}

function store(value: string): string {
  if (value === '' || /^sqlite:./.test(value) || /^postgres(ql)?:\/\//.test(value)) return value
  throw new Error('must be sqlite:PATH or postgres://USER:PASSWORD@HOST/DATABASE')
}

function publicUrl(value: string): string | null {
  if (value === '') return null
  const url = URL.canParse(value) ? new URL(value) : undefined
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash)
    throw new Error('must be an http or https address without a query')
  return value.replace(/\/+$/, '')
}

/** Where mail is handed in. `tls` false: also without a secure connection. */
export interface MailServer {
  host: string
  port: number
  /** TLS from the first byte; else by STARTTLS. */
  secure: boolean
  tls: boolean
  user: string | null
  password: string
}

function mailServer(value: string): MailServer | null {
  if (value === '') return null
  const url = URL.canParse(value) ? new URL(value) : undefined
  const plain = url?.search === '?tls=off'
  if (!url || !/^smtps?:$/.test(url.protocol) || url.hostname === '' || /^\/./.test(url.pathname))
    throw new Error('must be smtp://USER:PASSWORD@HOST:PORT or smtps://...')
  if ((url.search !== '' && !plain) || url.hash !== '' || (plain && url.protocol === 'smtps:'))
    throw new Error('may end in ?tls=off (with smtp: only) and nothing else')
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (url.protocol === 'smtps:' ? 465 : 587) : Number(url.port),
    secure: url.protocol === 'smtps:',
    tls: !plain,
    user: url.username === '' ? null : decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
  }
}

function mailbox(value: string): { name: string; address: string } | null {
  if (value === '') return null
  const found = parseMailbox(value)
  if (!found) throw new Error('must be an address such as assay@example.com or Assay <assay@example.com>')
  return found
}

function secretKeys(value: string): Buffer[] {
  if (value === '') return []
  return value.split(',').map((part) => {
    const key = /^[0-9a-fA-F]{64}$/.test(part.trim())
      ? Buffer.from(part.trim(), 'hex')
      : Buffer.from(part.trim(), 'base64')
    if (key.length !== 32)
      throw new Error(
        'must be 32 bytes as 64 hex digits or as base64; several are divided by commas, the first seals',
      )
    return key
  })
}

function token(value: string): string | null {
  if (value === '') return null
  if (!/^[\x21-\x7e]{16,512}$/.test(value)) throw new Error('must be 16 to 512 visible characters')
  return value
}

const folders = (value: string): string[] =>
  value
    .split(path.delimiter)
    .filter((part) => part !== '')
    .map((part) => path.resolve(part))
const folder = (value: string): string | null =>
  value === '' ? null : path.resolve(value.replace(/^~(?=\/|$)/, homedir()))
const list = (value: string): string[] | null =>
  value === ''
    ? null
    : value
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean)
const optional = (value: string): string | null => (value === '' ? null : value)

function filesPlace(value: string): string | null {
  if (!value.startsWith('s3:')) return folder(value)
  if (!/^s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[^/]+)*\/?$/.test(value))
    throw new Error('must be a folder or s3://BUCKET/PREFIX')
  return value
}
function yesOrNo(value: string): boolean {
  return oneOf('true', 'false')(value) === 'true'
}
const rate = (value: string): number | null => (value === '' ? null : integer(1, 1_000_000)(value))
const cap = (value: string): number | null => (value === '' ? null : integer(0, 1_000_000_000)(value))

export const SETTINGS = {
  host: setting('ASSAY_HOST', '127.0.0.1', 'Address to listen on', text),
  port: setting('ASSAY_PORT', '8080', 'Port to listen on; 0 takes a free one', integer(0, 65_535)),
  home: setting('ASSAY_HOME', './.assay', 'Folder of the state: database, key, lock', (value) =>
    path.resolve(value),
  ),
  store: setting(
    'ASSAY_STORE',
    '',
    'sqlite:PATH or postgres://...; empty: assay.db in the home',
    store,
    true,
  ),
  token: setting(
    'ASSAY_TOKEN',
    '',
    'Admin token of a fresh server; empty: the first start makes and prints one',
    token,
    true,
  ),
  templates: setting(
    'ASSAY_TEMPLATES',
    '',
    `Template folders beside the shipped one, divided by "${path.delimiter}"`,
    folders,
  ),
  data: setting('ASSAY_DATA', '', 'Folder that file: sources read; empty: the sample data', folder),
  files: setting(
    'ASSAY_FILES',
    '',
    'Where uploads lie: a folder (on several nodes one that they share) or s3://BUCKET/PREFIX; empty: files in the home',
    filesPlace,
  ),
  filesEndpoint: setting(
    'ASSAY_FILES_ENDPOINT',
    '',
    "Address of the bucket's service where it is not Amazon's",
    publicUrl,
  ),
  filesRegion: setting('ASSAY_FILES_REGION', 'us-east-1', 'Region of the bucket', text),
  filesAccessKey: setting('ASSAY_FILES_ACCESS_KEY', '', 'Id of the key to the bucket', optional),
  filesSecretKey: setting('ASSAY_FILES_SECRET_KEY', '', 'The key to the bucket', optional, true),
  maxFile: setting('ASSAY_MAX_FILE', '2GB', 'The largest file that may be uploaded', parseSize),
  filesQuota: setting(
    'ASSAY_FILES_QUOTA',
    '20GB',
    'The most that the uploads of a workspace may take up together',
    parseSize,
  ),
  sourceTargets: setting(
    'ASSAY_SOURCE_TARGETS',
    '',
    'Where file: https://... may go without a connection: public, CIDRs, hosts; empty: nowhere',
    list,
  ),
  sourceCache: setting(
    'ASSAY_SOURCE_CACHE',
    '5GB',
    'The most that copies of fetched files may take up in the home',
    parseSize,
  ),
  roles: setting('ASSAY_ROLES', 'api,worker,dispatcher', 'What this node does', roles),
  workers: setting('ASSAY_WORKERS', '', 'Analyses at a time; empty: one for each core', (value) =>
    value === '' ? null : integer(1, 256)(value),
  ),
  webhookTargets: setting(
    'ASSAY_WEBHOOK_TARGETS',
    '',
    'Where webhooks may go: public, loopback, CIDRs, hosts; empty: public, and loopback where the service is only tried out',
    list,
  ),
  connections: setting(
    'ASSAY_CONNECTIONS',
    '',
    'File of connections (YAML or JSON), read-only then; empty: they are kept in the store',
    folder,
  ),
  connectionTargets: setting(
    'ASSAY_CONNECTION_TARGETS',
    '',
    'Where connections may go: public, private, loopback, CIDRs, hosts; empty: all three for the default workspace, public for others',
    list,
  ),
  publicUrl: setting(
    'ASSAY_PUBLIC_URL',
    '',
    'The address under which clients reach the service; makes result_url absolute',
    publicUrl,
  ),
  smtpUrl: setting(
    'ASSAY_SMTP_URL',
    '',
    'Where mail is handed in: smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://...:465; "?tls=off" allows it in clear; empty: no mail',
    mailServer,
    true,
  ),
  mailFrom: setting(
    'ASSAY_MAIL_FROM',
    '',
    'Who mail is from: Assay <assay@example.com>; asked for with ASSAY_SMTP_URL',
    mailbox,
  ),
  narrateUrl: setting(
    'ASSAY_NARRATE_URL',
    '',
    'A language model for {% narrate %}: an endpoint that speaks OpenAI, without /chat/completions; empty: none',
    publicUrl,
  ),
  narrateModel: setting('ASSAY_NARRATE_MODEL', '', 'The model to ask at ASSAY_NARRATE_URL', (value) => value),
  narrateKey: setting(
    'ASSAY_NARRATE_KEY',
    '',
    'The key of ASSAY_NARRATE_URL; empty: none',
    (value) => (value === '' ? null : value),
    true,
  ),
  rateLimit: setting(
    'ASSAY_RATE_LIMIT',
    '',
    'Requests a second for each token, on each node; empty: no limit',
    rate,
  ),
  workspaceRateLimit: setting(
    'ASSAY_WORKSPACE_RATE_LIMIT',
    '',
    'Requests a second for each workspace, on each node, unless it has a limit of its own; empty: no limit',
    rate,
  ),
  maxQueued: setting(
    'ASSAY_MAX_QUEUED',
    '',
    'Jobs that a workspace may have queued, unless it has a cap of its own; empty: no limit',
    cap,
  ),
  maxRunning: setting(
    'ASSAY_MAX_RUNNING',
    '',
    'Jobs of a workspace that may run at a time on all nodes, unless it has a cap of its own; empty: no limit',
    cap,
  ),
  trustProxy: setting(
    'ASSAY_TRUST_PROXY',
    'false',
    "true behind one reverse proxy: the last address of X-Forwarded-For is the client's, for the limit of logins",
    yesOrNo,
  ),
  metricsToken: setting(
    'ASSAY_METRICS_TOKEN',
    '',
    'Bearer token that /metrics asks for; empty: none',
    token,
    true,
  ),
  traces: setting(
    'ASSAY_TRACES',
    '',
    'Where traces are sent by OTLP over HTTP, such as http://collector:4318; empty: nothing is traced',
    parseCollector,
  ),
  tracesHeaders: setting(
    'ASSAY_TRACES_HEADERS',
    '',
    'Headers that ASSAY_TRACES asks for: NAME=VALUE,NAME=VALUE, values percent-encoded',
    parseCollectorHeaders,
    true,
  ),
  secretKey: setting(
    'ASSAY_SECRET_KEY',
    '',
    '32 bytes as hex or base64 that seal secrets; a list allows rotation; empty: a file in the home',
    secretKeys,
    true,
  ),
  logLevel: setting(
    'ASSAY_LOG_LEVEL',
    'info',
    'debug, info, warn, error or silent',
    oneOf('debug', 'info', 'warn', 'error', 'silent'),
  ),
  logFormat: setting(
    'ASSAY_LOG_FORMAT',
    '',
    'json or text; empty: text on a terminal',
    oneOf('', 'json', 'text'),
  ),
  maxTimeout: setting('ASSAY_MAX_TIMEOUT', '15m', 'The most that limits.timeout may ask for', parseDuration),
  maxMemory: setting('ASSAY_MAX_MEMORY', '4GB', 'The most that limits.memory may ask for', parseSize),
  maxThreads: setting('ASSAY_MAX_THREADS', '4', 'The most that limits.threads may ask for', integer(1, 256)),
  maxRows: setting(
    'ASSAY_MAX_ROWS',
    '100000',
    'The most that limits.rows may ask for',
    integer(1, 10_000_000),
  ),
  maxOutput: setting('ASSAY_MAX_OUTPUT', '50MB', 'The most that limits.output may ask for', parseSize),
  keepJobs: setting(
    'ASSAY_KEEP_JOBS',
    '30d',
    'How long finished jobs and their insights are kept',
    parseDuration,
  ),
  keepEvents: setting(
    'ASSAY_KEEP_EVENTS',
    '30d',
    'How long events are kept, and ended deliveries with them at the latest',
    parseDuration,
  ),
  keepDeliveries: setting(
    'ASSAY_KEEP_DELIVERIES',
    '',
    'How long ended deliveries are kept with what was sent and answered; empty: as long as events',
    (value) => (value === '' ? null : parseDuration(value)),
  ),
  lease: setting(
    'ASSAY_LEASE',
    '30s',
    'How long a node that is silent keeps its jobs and deliveries before others take them over; from 3s to 10m, the same on every node',
    durationFrom(3000, 600_000),
  ),
  keepAudit: setting('ASSAY_KEEP_AUDIT', '365d', 'How long the audit trail is kept', parseDuration),
  drain: setting(
    'ASSAY_DRAIN',
    '10s',
    'How long running jobs may finish when the service is told to stop',
    parseDuration,
  ),
} as const satisfies Record<string, Setting<unknown>>

export type SettingName = keyof typeof SETTINGS
export type Config = { -readonly [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]['parse']> }

export function flagOf(name: SettingName): string {
  return `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** Kubernetes gives each pod variables named for the services around it: one named "assay" looks like settings. */
const SERVICE_LINK = /^ASSAY_(SERVICE_(HOST|PORT)|PORT_\d+_)/

function unknown(variable: string): string {
  const remedy = SERVICE_LINK.test(variable)
    ? 'Kubernetes set it for a service named assay: set "enableServiceLinks: false" in the pod'
    : '"assay config --help" lists those that there are'
  return `${variable}: there is no such setting; ${remedy}.`
}

export interface Resolved {
  config: Config
  /** Where each value came from. */
  origin: Record<SettingName, 'default' | 'environment' | 'flag'>
  /** As given, before parsing. */
  given: Record<SettingName, string>
}

/** `flags` by setting name. Throws ConfigError with every fault at once. */
export function resolveConfig(
  environment: NodeJS.ProcessEnv,
  flags: Partial<Record<SettingName, string>> = {},
): Resolved {
  const config: Record<string, unknown> = {}
  const origin: Record<string, string> = {}
  const given = {} as Record<SettingName, string>
  const faults: string[] = []
  for (const [name, row] of Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]) {
    const flag = flags[name]
    const variable = environment[row.env]
    const value = flag ?? (variable === undefined || variable === '' ? row.fallback : variable)
    origin[name] =
      flag !== undefined ? 'flag' : variable === undefined || variable === '' ? 'default' : 'environment'
    given[name] = value
    try {
      config[name] = row.parse(value)
    } catch (error) {
      const shown = row.secret ? 'its value' : JSON.stringify(value.replace(/\/\/[^@/]*@/, '//••••@'))
      const bearer = flag !== undefined ? flagOf(name) : row.env
      faults.push(`${bearer}: ${shown} is not usable, it ${(error as Error).message}.`)
    }
  }
  for (const variable of Object.keys(environment)) {
    const known = Object.values(SETTINGS).some((row) => row.env === variable)
    if (variable.startsWith('ASSAY_') && !known && !/^ASSAY_(TEST_|WRAPPED$|URL$|SERVER$)/.test(variable)) {
      faults.push(unknown(variable))
    }
  }
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  return {
    config: config as unknown as Config,
    origin: origin as Resolved['origin'],
    given,
  }
}

/** Each setting with its value as people may see it; secrets are hidden. */
export function describeConfig(
  resolved: Resolved,
): { name: SettingName; env: string; value: string; origin: string; doc: string }[] {
  return (Object.keys(SETTINGS) as SettingName[]).map((name) => {
    const row: Setting<unknown> = SETTINGS[name]
    const value = resolved.given[name]
    const shown = row.secret && value !== '' ? redact(name, value) : value
    return { name, env: row.env, value: shown, origin: resolved.origin[name], doc: row.doc }
  })
}

function redact(name: SettingName, value: string): string {
  if (name !== 'store') return '••••'
  return value.startsWith('sqlite:')
    ? value
    : value.replace(/\/\/[^@/]*@/, '//••••@').replace(/([?&]password=)[^&]*/, '$1••••')
}
