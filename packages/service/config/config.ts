/**
 * Every setting in one table: it parses, explains, prints and redacts itself; docs/config.md is generated from it.
 * Each is an environment variable (ASSAY_PORT) and a flag (--port); a flag wins. The result is passed in, never global.
 */
import path from 'node:path'
import { parseCollector, parseCollectorHeaders } from './collector.ts'
import {
  cap,
  durationFrom,
  filesPlace,
  folder,
  folders,
  integer,
  list,
  mailbox,
  mailServer,
  oneOf,
  optional,
  parseDuration,
  parseSize,
  publicUrl,
  rate,
  roles,
  secretKeys,
  store,
  text,
  token,
  yesOrNo,
} from './values.ts'

export { type MailServer, parseDuration, parseSize, ROLES, type Role } from './values.ts'

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
  storeConnections: setting(
    'ASSAY_STORE_CONNECTIONS',
    '10',
    'Connections to PostgreSQL that requests and work share on this node; a few more are for leases, claims and hints',
    integer(4, 200),
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
    'How long finished jobs are kept, with their insights, links and deliveries',
    parseDuration,
  ),
  keepDrafts: setting(
    'ASSAY_KEEP_DRAFTS',
    '30d',
    'How long jobs that were created and never run are kept',
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
  linger: setting(
    'ASSAY_LINGER',
    '0s',
    'How long a node that is told to stop goes on answering, with /readyz at 503, so that load balancers leave it first; at most 5m',
    durationFrom(0, 300_000),
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
