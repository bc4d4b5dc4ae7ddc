/**
 * Every setting, in one table. A row says how the setting is parsed, explained and shown; docs/config.md is generated from it.
 * Each setting is an environment variable (ASSAY_PORT) and a flag (--port).
 */
import path from 'node:path'
import { parseProxies } from '@assay/net/proxies'
import { hostKeys, sshKey } from '../git/transport/ssh-address.ts'
import { parseCollector, parseCollectorHeaders } from './collector.ts'
import { claimName, groupRules, issuer, oidcScopes } from './sign-in-values.ts'
import { branchName, folderWithin, templatesPlace } from './templates-place.ts'
import {
  cap,
  domainList,
  durationFrom,
  filesLocation,
  folder,
  hostName,
  integer,
  lasting,
  mailbox,
  mailServer,
  modelName,
  oneOf,
  optional,
  origins,
  originsOrAll,
  orNull,
  publicUrl,
  rate,
  recipient,
  region,
  roles,
  secretKeys,
  shortText,
  sizeFrom,
  store,
  targetList,
  token,
  userName,
} from './values.ts'

export interface Setting<T> {
  env: string
  /** The description that --help and docs/config.md show. */
  doc: string
  /** The default as text, for the docs. */
  fallback: string
  secret: boolean
  parse(text: string): T
}

type Row<T> = Omit<Setting<T>, 'env'>

function setting<T>(doc: string, parse: Row<T>['parse'], fallback = '', secret = false): Row<T> {
  return { doc, parse, fallback, secret }
}

/** Makes a setting whose value nobody is shown. It has no default. */
const secret = <T>(doc: string, parse: Row<T>['parse']): Row<T> => setting(doc, parse, '', true)

const ROWS = {
  host: setting('Address to listen on', hostName, '127.0.0.1'),
  port: setting('Port to listen on; 0 takes a free one', integer(0, 65_535), '8080'),
  home: setting('Folder of the state: database, key, lock', (value) => path.resolve(value), './.assay'),
  store: secret('sqlite:PATH or postgres://...; empty: assay.db in the home', store),
  storeConnections: setting(
    'Connections to PostgreSQL that requests and work share on this node; a few more are for leases, claims and hints',
    integer(4, 200),
    '10',
  ),
  token: secret('Admin token of a fresh server; empty: the first start makes and prints one', token),
  templates: setting(
    `Templates beside the shipped ones: folders, divided by "${path.delimiter}", or a git repository (https://HOST/PATH.git, ssh://git@HOST/PATH.git)`,
    templatesPlace,
  ),
  templatesBranch: setting("The branch of the repository; empty: the repository's own default", branchName),
  templatesFolder: setting(
    'The folder of the repository that holds templates; empty: the whole',
    folderWithin,
  ),
  templatesUser: setting('The user name that goes with ASSAY_TEMPLATES_TOKEN', userName, 'git'),
  templatesToken: secret('A token or password that may read the repository; empty: none', optional),
  templatesSshKey: secret(
    'The private key, such as a deploy key, by which a repository is read over ssh; empty: none',
    sshKey,
  ),
  templatesSshHostKeys: setting(
    'The keys of the git server over ssh: fingerprints (SHA256:...), or lines that ssh-keyscan writes',
    hostKeys,
  ),
  templatesHookSecret: secret(
    'The secret of the webhook by which the git server tells of a push; empty: the clock alone',
    token,
  ),
  templatesEvery: setting('How often the repository is looked at', durationFrom(5000, 86_400_000), '1m'),
  data: setting('Folder that file: sources read; empty: the sample data', folder),
  files: setting(
    'Folder of uploads (on several nodes one that they share) or s3://BUCKET/PREFIX; empty: files in the home',
    filesLocation,
  ),
  filesEndpoint: setting("Address of the bucket's service where it is not Amazon's", publicUrl),
  filesRegion: setting('Region of the bucket', region, 'us-east-1'),
  filesAccessKey: setting('Id of the key to the bucket', optional),
  filesSecretKey: secret('The key to the bucket', optional),
  maxFile: setting('The largest file that may be uploaded', sizeFrom('1KB'), '2GB'),
  filesQuota: setting(
    'The most bytes that the uploads of a workspace may have together',
    sizeFrom('1KB'),
    '20GB',
  ),
  sourceTargets: setting(
    'Where file: https://... may go without a connection: public, CIDRs, hosts; empty: nowhere',
    targetList,
  ),
  sourceCache: setting(
    'The most bytes that copies of fetched files of a workspace may have in the home',
    sizeFrom('1KB'),
    '5GB',
  ),
  roles: setting('What this node does', roles, 'api,worker,dispatcher'),
  workers: setting(
    'Analyses at a time; empty: one for each core, as far as the memory of the machine or container reaches',
    orNull(integer(1, 256)),
  ),
  webhookTargets: setting(
    'Where webhooks may go: public, loopback, CIDRs, hosts; empty: public, and loopback for one node on SQLite that listens on loopback without ASSAY_PUBLIC_URL',
    targetList,
  ),
  connections: setting(
    'File of connections (YAML or JSON), which can then not be changed over HTTP; empty: they are kept in the store',
    folder,
  ),
  connectionTargets: setting(
    'Where connections may go: public, private, loopback, CIDRs, hosts; empty: all three for the default workspace, public for others',
    targetList,
  ),
  publicUrl: setting(
    'The address under which clients reach the service, also below a path such as https://example.com/assay; makes result_url absolute',
    publicUrl,
  ),
  frameParents: setting(
    'Sites that may show the page of a link in a frame: origins such as https://intranet.example or https://*.example.com; empty: none',
    origins,
  ),
  corsOrigins: setting(
    'Sites whose pages may call the API from a browser with a token of theirs: origins such as https://app.example or https://*.example.com, or *; empty: none',
    originsOrAll,
  ),
  smtpUrl: secret(
    'The mail server: smtp://USER:PASSWORD@HOST:587 (STARTTLS) or smtps://...:465; "?tls=off" allows it in clear; empty: no mail',
    mailServer,
  ),
  mailFrom: setting('The sender of mail: Assay <assay@example.com>; required with ASSAY_SMTP_URL', mailbox),
  mailDomains: setting(
    'Domains whose addresses get mail without the agreement of their owners, such as example.com,*.example.com; * for all; empty: the domain of ASSAY_MAIL_FROM',
    domainList,
  ),
  narrateUrl: setting(
    'A language model for {% narrate %} and for drafts that are asked for: the address of an endpoint with the chat completions of OpenAI, without /chat/completions; empty: none',
    publicUrl,
  ),
  narrateModel: setting('The model to ask at ASSAY_NARRATE_URL', modelName),
  narrateKey: secret('The key of ASSAY_NARRATE_URL; empty: none', optional),
  oidcIssuer: setting(
    'The sign-in provider (OpenID Connect): its issuer, an address such as https://login.example.com/realms/acme; empty: none',
    issuer,
  ),
  oidcName: setting('What the button of the provider says; empty: the host of ASSAY_OIDC_ISSUER', shortText),
  oidcClientId: setting('The id of Assay at the provider', optional),
  oidcClientSecret: secret('The secret of Assay at the provider; empty: a public client', optional),
  oidcScopes: setting(
    'What Assay asks the provider for, divided by spaces',
    oidcScopes,
    'openid profile email',
  ),
  oidcGroupsClaim: setting(
    'The claim that holds the groups of a person: a name, or names divided by dots for a claim within claims',
    claimName,
    'groups',
  ),
  oidcGroups: setting(
    'What each group may do: GROUP=WORKSPACE:SCOPE, divided by ";". The first group that a person has decides; * stands for everybody whom the provider signs in. A person without a listed group is refused',
    groupRules,
  ),
  passwordLogin: setting(
    'on, or off: nobody signs in by a password, neither in the console nor by POST /v1alpha/auth/login',
    oneOf('on', 'off'),
    'on',
  ),
  signInIdle: setting(
    'How long a browser stays signed in without being used; from 5m to 365d',
    durationFrom(300_000, 365 * 86_400_000),
    '7d',
  ),
  signInLife: setting(
    'How long a browser stays signed in at the most; from 5m to 365d',
    durationFrom(300_000, 365 * 86_400_000),
    '30d',
  ),
  rateLimit: setting('Requests a second for each token, on each node; empty: no limit', rate),
  workspaceRateLimit: setting(
    'Requests a second for each workspace, on each node, unless it has a limit of its own; empty: no limit',
    rate,
  ),
  maxQueued: setting(
    'Jobs that a workspace may have queued, unless it has a cap of its own; empty: no limit',
    cap,
  ),
  maxRunning: setting(
    'Jobs of a workspace that may run at a time on all nodes, unless it has a cap of its own; empty: no limit',
    cap,
  ),
  maxProcessorSeconds: setting(
    'Processor seconds that the analyses of a workspace may take in an hour (UTC), on all nodes together, unless it has a cap of its own; empty: no limit',
    orNull(integer(1, 1_000_000_000)),
  ),
  maxDrafts: setting('Jobs that a workspace may have created and not run; empty: no limit', cap, '10000'),
  budgetMail: setting(
    'Mails that a workspace may send a day, to each reader one, unless it has a budget of its own',
    cap,
    '5000',
  ),
  budgetChat: setting('Chat messages that a workspace may send a day; empty: no limit', cap),
  budgetModel: setting(
    'Questions that a workspace may ask the language model a day, unless it has a budget of its own',
    cap,
    '2000',
  ),
  budgetWebhook: setting(
    'Requests to webhooks that a workspace may send a day, each try counted; empty: no limit',
    cap,
  ),
  budgetDownload: setting(
    'Downloads of a workspace a day: connections to hosts of addresses in templates; empty: no limit',
    cap,
  ),
  budgetQuery: setting('Queries of a workspace over connections a day; empty: no limit', cap),
  maxStreams: setting(
    'Live streams and waiting status requests of a workspace on each node; half of them for one token',
    integer(2, 100_000),
    '400',
  ),
  maxSpill: setting(
    'The most bytes that all analyses of this node together may write to disk while they run; each has an equal share',
    sizeFrom('100MB'),
    '20GB',
  ),
  workspaceSpill: setting(
    'The most bytes of these that the analyses of one workspace together may write, unless it has a cap of its own; each has an equal share; empty: no limit',
    orNull(sizeFrom('1MB')),
  ),
  workspaceStored: setting(
    'The most bytes that the stored jobs and insights of a workspace may have together, unless it has a cap of its own; empty: no limit',
    orNull(sizeFrom('1MB')),
    '100GB',
  ),
  spill: setting('Folder for what analyses write to disk while they run; empty: tmp in the home', folder),
  trustProxy: setting(
    'Reverse proxies whose X-Forwarded-For is believed, for limits by address and the audit trail: addresses and ranges (10.0.0.0/8), or true for every client',
    parseProxies,
    'false',
  ),
  metricsToken: secret(
    'Bearer token for /metrics; empty: it answers admins of the default workspace, and programs of the same machine where no ASSAY_PUBLIC_URL and no ASSAY_TRUST_PROXY is set',
    token,
  ),
  traces: setting(
    'Where traces are sent by OTLP over HTTP, such as http://collector:4318; empty: nothing is traced',
    parseCollector,
  ),
  tracesHeaders: secret(
    'Headers that ASSAY_TRACES requires: NAME=VALUE,NAME=VALUE, values percent-encoded',
    parseCollectorHeaders,
  ),
  secretKey: secret(
    '32 bytes as hex or base64 that seal secrets; a list allows rotation; empty: a file in the home',
    secretKeys,
  ),
  backup: setting(
    'Where backups are made while the service runs: a folder or s3://BUCKET/PREFIX; empty: none are',
    filesLocation,
  ),
  backupEvery: setting(
    'How often a backup is made, by one of the nodes; from 1m to 365d',
    durationFrom(60_000, 365 * 86_400_000),
    '1d',
  ),
  backupKeep: setting('How many backups are kept; the oldest are deleted', integer(1, 100_000), '7'),
  backupRecipient: setting(
    'Public key that backups are encrypted to, as age-keygen makes it (age1...); empty: they are in clear',
    recipient,
  ),
  backupEndpoint: setting(
    "Address of the service of the backups' bucket where it is not Amazon's",
    publicUrl,
  ),
  backupRegion: setting("Region of the backups' bucket", region, 'us-east-1'),
  backupAccessKey: setting("Id of the key to the backups' bucket", optional),
  backupSecretKey: secret("The key to the backups' bucket", optional),
  jail: setting(
    'Walls around analysis processes by bubblewrap or unshare: auto where the machine has one, require to refuse the start without, or off',
    oneOf('auto', 'require', 'off'),
    'auto',
  ),
  logLevel: setting(
    'debug, info, warn, error or silent',
    oneOf('debug', 'info', 'warn', 'error', 'silent'),
    'info',
  ),
  logFormat: setting('json or text; empty: text on a terminal', oneOf('', 'json', 'text')),
  maxTimeout: setting('The most that limits.timeout may ask for', lasting, '15m'),
  maxMemory: setting('The most that limits.memory may ask for', sizeFrom('32MB'), '4GB'),
  maxThreads: setting('The most that limits.threads may ask for', integer(1, 256), '4'),
  maxRows: setting('The most that limits.rows may ask for', integer(1, 10_000_000), '100000'),
  maxOutput: setting('The most that limits.output may ask for', sizeFrom('1KB'), '50MB'),
  keepJobs: setting(
    'How long finished jobs are kept, with their insights, links and deliveries',
    lasting,
    '30d',
  ),
  keepDrafts: setting('How long jobs that were created and never run are kept', lasting, '30d'),
  keepEvents: setting('How long events are kept; ended deliveries are kept at most as long', lasting, '30d'),
  keepDeliveries: setting(
    'How long ended deliveries are kept with what was sent and answered; empty: as long as events',
    orNull(lasting),
  ),
  lease: setting(
    'How long a node that is silent keeps its jobs and deliveries before others take them over; from 3s to 10m, the same on every node',
    durationFrom(3000, 600_000),
    '30s',
  ),
  keepAudit: setting('How long the audit trail is kept', lasting, '365d'),
  drain: setting(
    'How long running jobs may finish when the service is told to stop',
    durationFrom(0, 86_400_000),
    '10s',
  ),
  linger: setting(
    'How long a node that is told to stop still answers, with /readyz at 503, so that load balancers leave it first; at most 5m',
    durationFrom(0, 300_000),
    '0s',
  ),
} as const satisfies Record<string, Row<unknown>>

export type SettingName = keyof typeof ROWS
export type Config = { -readonly [Name in SettingName]: ReturnType<(typeof ROWS)[Name]['parse']> }

/** Returns the words of a name such as storeConnections, with `between` before each but the first. */
const spaced = (name: string, between: string): string =>
  name.replace(/[A-Z]/g, (letter) => `${between}${letter.toLowerCase()}`)

/** Each setting with its environment variable: storeConnections is ASSAY_STORE_CONNECTIONS. */
export const SETTINGS = Object.fromEntries(
  Object.entries(ROWS).map(([name, row]) => [
    name,
    { ...row, env: `ASSAY_${spaced(name, '_').toUpperCase()}` },
  ]),
) as Record<SettingName, Setting<unknown>>

export function flagOf(name: SettingName): string {
  return `--${spaced(name, '-')}`
}
