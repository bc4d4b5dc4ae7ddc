/** Rules about several settings at once: combinations that nobody can intend. */
import type { Config, SettingName } from './settings.ts'

interface Rule {
  /** The setting that the operator changes. */
  name: SettingName
  broken(config: Config): boolean
  /** The remedy, as a sentence. */
  remedy: string
}

const backsUpToBucket = ({ backup }: Config): boolean => backup?.startsWith('s3:') === true
const ofRepository = (name: SettingName, isSet: (config: Config) => boolean): Rule => ({
  name,
  broken: (config) => config.templates.repository === null && isSet(config),
  remedy: 'set ASSAY_TEMPLATES to the address of a git repository, or leave this out',
})

const isLoopback = (url: string): boolean =>
  /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(new URL(url).hostname)

/** Returns the path below which the service is shown; "" if it has a host of its own. */
const belowOf = (publicUrl: string | null): string =>
  publicUrl === null ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')

/** The first parts of the service's own paths (prefix.test.ts compares the list with the routes). */
export const OWN_PATHS: readonly string[] = [
  'account',
  'assets',
  'auth',
  'confirm',
  'data',
  'docs',
  'embed.js',
  'files',
  'health',
  'healthz',
  'insights',
  'jobs',
  'links',
  'mcp',
  'metric',
  'metrics',
  'oauth',
  'openapi.json',
  'readyz',
  'schedules',
  'sign-in',
  'subscriptions',
  'system',
  'templates',
  'unsubscribe',
  'v1alpha',
  'webhooks',
]

const isBySsh = ({ templates: { repository } }: Config): boolean =>
  repository !== null && !/^https?:/.test(repository)

const isBucket = ({ files }: Config): boolean => files?.startsWith('s3:') === true

/** Makes the rule that a setting of the sign-in provider needs the provider. */
const ofProvider = (name: SettingName, isSet: (config: Config) => boolean): Rule => ({
  name,
  broken: (config) => config.oidcIssuer === null && isSet(config),
  remedy: 'set ASSAY_OIDC_ISSUER to the issuer of the sign-in provider, or leave this out',
})

export const RULES: readonly Rule[] = [
  ofProvider('oidcName', ({ oidcName }) => oidcName !== null),
  ofProvider('oidcClientId', ({ oidcClientId }) => oidcClientId !== null),
  ofProvider('oidcClientSecret', ({ oidcClientSecret }) => oidcClientSecret !== null),
  ofProvider('oidcGroups', ({ oidcGroups }) => oidcGroups.length > 0),
  ofProvider('passwordLogin', ({ passwordLogin }) => passwordLogin === 'off'),
  {
    name: 'oidcIssuer',
    broken: ({ oidcIssuer }) => oidcIssuer?.startsWith('http:') === true && !isLoopback(oidcIssuer),
    remedy: 'use https: by http anyone on the way could sign in as anybody',
  },
  {
    name: 'oidcClientId',
    broken: ({ oidcIssuer, oidcClientId }) => oidcIssuer !== null && oidcClientId === null,
    remedy: 'set the id that the provider gave Assay, which ASSAY_OIDC_ISSUER requires',
  },
  {
    name: 'oidcGroups',
    broken: ({ oidcIssuer, oidcGroups }) => oidcIssuer !== null && oidcGroups.length === 0,
    remedy:
      'say what each group may do, such as assay-admins=default:admin;*=default:viewer: else nobody gets in',
  },
  {
    name: 'publicUrl',
    broken: ({ oidcIssuer, publicUrl }) => oidcIssuer !== null && publicUrl === null,
    remedy:
      'set the address under which browsers reach the service: the provider of ASSAY_OIDC_ISSUER sends them back there',
  },
  {
    name: 'publicUrl',
    broken: ({ publicUrl }) => !/^(\/\w[\w.~-]*)*$/.test(belowOf(publicUrl)),
    remedy: 'write a path of letters, digits, ".", "-", "_" and "~", such as https://example.com/assay',
  },
  {
    name: 'publicUrl',
    broken: ({ publicUrl }) => OWN_PATHS.includes(belowOf(publicUrl).split('/')[1] ?? ''),
    remedy: `choose a path that begins otherwise, such as /assay: the service has its own ${OWN_PATHS.map((name) => `/${name}`).join(', ')}`,
  },

  ofRepository('templatesBranch', ({ templatesBranch }) => templatesBranch !== null),
  ofRepository('templatesFolder', ({ templatesFolder }) => templatesFolder !== ''),
  ofRepository('templatesToken', ({ templatesToken }) => templatesToken !== null),
  ofRepository('templatesHookSecret', ({ templatesHookSecret }) => templatesHookSecret !== null),
  ofRepository('templatesSshKey', ({ templatesSshKey }) => templatesSshKey !== null),
  ofRepository('templatesSshHostKeys', ({ templatesSshHostKeys }) => templatesSshHostKeys.length > 0),
  {
    name: 'templatesSshKey',
    broken: (config) => isBySsh(config) && config.templatesSshKey === null,
    remedy:
      'set it (or ASSAY_TEMPLATES_SSH_KEY_FILE) to the deploy key: ASSAY_TEMPLATES is an address by ssh',
  },
  {
    name: 'templatesSshHostKeys',
    broken: (config) => isBySsh(config) && config.templatesSshHostKeys.length === 0,
    remedy:
      'set the fingerprints that the operator of the git server publishes (ssh-keyscan HOST shows its keys), so that no other server can answer in its place',
  },
  {
    name: 'templatesToken',
    broken: (config) => isBySsh(config) && config.templatesToken !== null,
    remedy: 'leave it out: over ssh the key of ASSAY_TEMPLATES_SSH_KEY is used',
  },
  {
    name: 'templates',
    broken: ({ templates: { repository }, templatesToken }) =>
      templatesToken !== null && repository?.startsWith('http:') === true && !isLoopback(repository),
    remedy: 'use https: by http the token would be sent in clear',
  },
  {
    name: 'filesAccessKey',
    broken: (config) => isBucket(config) && config.filesAccessKey === null,
    remedy: 'set the id of the key to the bucket of ASSAY_FILES',
  },
  {
    name: 'filesSecretKey',
    broken: (config) => isBucket(config) && config.filesSecretKey === null,
    remedy: 'set the key to the bucket of ASSAY_FILES',
  },
  {
    name: 'filesEndpoint',
    broken: (config) => !isBucket(config) && config.filesEndpoint !== null,
    remedy: 'set ASSAY_FILES to s3://BUCKET/PREFIX, or leave this out',
  },
  {
    name: 'filesAccessKey',
    broken: (config) => !isBucket(config) && config.filesAccessKey !== null,
    remedy: 'set ASSAY_FILES to s3://BUCKET/PREFIX, or leave this out',
  },
  {
    name: 'filesSecretKey',
    broken: (config) => !isBucket(config) && config.filesSecretKey !== null,
    remedy: 'set ASSAY_FILES to s3://BUCKET/PREFIX, or leave this out',
  },
  {
    name: 'backupAccessKey',
    broken: (config) => backsUpToBucket(config) && config.backupAccessKey === null,
    remedy: 'set the id of the key to the bucket of ASSAY_BACKUP',
  },
  {
    name: 'backupSecretKey',
    broken: (config) => backsUpToBucket(config) && config.backupSecretKey === null,
    remedy: 'set the key to the bucket of ASSAY_BACKUP',
  },
  {
    name: 'backup',
    broken: ({ backup, home }) => backup !== null && (backup === home || backup.startsWith(`${home}/`)),
    remedy:
      'name a folder outside ASSAY_HOME, or better on another disk: a loss of the home would take the backups, too',
  },
  {
    name: 'filesQuota',
    broken: ({ filesQuota, maxFile }) => filesQuota < maxFile,
    remedy: 'set at least as much as ASSAY_MAX_FILE, or the largest file never fits',
  },
  {
    name: 'mailFrom',
    broken: ({ smtpUrl, mailFrom }) => smtpUrl !== null && mailFrom === null,
    remedy: 'set the address of the sender, which ASSAY_SMTP_URL requires',
  },
  {
    name: 'mailFrom',
    broken: ({ smtpUrl, mailFrom }) => smtpUrl === null && mailFrom !== null,
    remedy: 'set ASSAY_SMTP_URL to the mail server, or leave this out',
  },
  {
    name: 'narrateModel',
    broken: ({ narrateUrl, narrateModel }) => narrateUrl !== null && narrateModel === '',
    remedy: 'set the model to ask at ASSAY_NARRATE_URL',
  },
  {
    name: 'narrateModel',
    broken: ({ narrateUrl, narrateModel }) => narrateUrl === null && narrateModel !== '',
    remedy: 'set ASSAY_NARRATE_URL to the endpoint of the model, or leave this out',
  },
  {
    name: 'narrateKey',
    broken: ({ narrateUrl, narrateKey }) => narrateUrl === null && narrateKey !== null,
    remedy: 'set ASSAY_NARRATE_URL to the endpoint of the key, or leave this out',
  },
  {
    name: 'tracesHeaders',
    broken: ({ traces, tracesHeaders }) => traces === null && Object.keys(tracesHeaders).length > 0,
    remedy: 'set ASSAY_TRACES to the collector, or leave this out',
  },
  {
    name: 'secretKey',
    broken: ({ secretKey }) => new Set(secretKey.map((key) => key.toString('hex'))).size < secretKey.length,
    remedy: 'name each key once',
  },
  {
    name: 'keepDeliveries',
    broken: ({ keepDeliveries, keepEvents }) => keepDeliveries !== null && keepDeliveries > keepEvents,
    remedy: 'set at most as much as ASSAY_KEEP_EVENTS: deliveries end with their events',
  },
  {
    name: 'maxOutput',
    broken: ({ maxOutput, maxMemory }) => maxOutput > maxMemory,
    remedy: 'set at most as much as ASSAY_MAX_MEMORY: an output is made in that memory',
  },
]
