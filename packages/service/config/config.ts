/** Reads the settings of the environment and the command line. A flag wins over a variable. */
import type { Budgets } from '@assay/model/outgoing'
import { RULES } from './rules.ts'
import { readSecretFiles } from './secret-files.ts'
import { type Config, flagOf, SETTINGS, type Setting, type SettingName } from './settings.ts'

export { type Config, flagOf, SETTINGS, type SettingName } from './settings.ts'
export { type MailServer, parseDuration, parseSize, ROLES, type Role } from './values.ts'

/** A setting with a bad value. Its message is a sentence for the operator, and the start stops with it. */
export class ConfigError extends Error {}

/** Returns the most that a template may ask for in `limits`. */
export function capsOf({ maxTimeout, maxMemory, maxThreads, maxRows, maxOutput }: Config) {
  return {
    timeout_ms: maxTimeout,
    memory_bytes: maxMemory,
    threads: maxThreads,
    rows: maxRows,
    output_bytes: maxOutput,
  }
}

/** Returns the caps of the analyses of a workspace without caps of its own. */
export function workspaceCapsOf({ maxProcessorSeconds, workspaceSpill }: Config) {
  return { max_processor_seconds: maxProcessorSeconds, max_spill_bytes: workspaceSpill }
}

/** Returns how many of each kind may leave a workspace a day; null: no limit. */
export function budgetsOf(config: Config): Budgets {
  const { budgetMail, budgetChat, budgetModel, budgetWebhook, budgetDownload, budgetQuery } = config
  return {
    mail: budgetMail,
    chat: budgetChat,
    model: budgetModel,
    webhook: budgetWebhook,
    download: budgetDownload,
    query: budgetQuery,
  }
}

/** Returns the domains whose addresses get mail without the agreement of their owners. */
export function mailDomainsOf({ mailDomains, mailFrom }: Pick<Config, 'mailDomains' | 'mailFrom'>): string[] {
  if (mailDomains !== null) return mailDomains
  return mailFrom === null
    ? []
    : [mailFrom.address.slice(mailFrom.address.lastIndexOf('@') + 1).toLowerCase()]
}

/** Variables that Kubernetes sets in each pod for a service named "assay". */
const SERVICE_LINK = /^ASSAY_(SERVICE_(HOST|PORT)|PORT_\d+_)/

function unknown(variable: string): string {
  const remedy = SERVICE_LINK.test(variable)
    ? 'Kubernetes set it for a service named assay: set "enableServiceLinks: false" in the pod'
    : '"assay config --help" lists those that there are'
  return `${variable}: there is no such setting; ${remedy}.`
}

export interface Resolved {
  config: Config
  /** The origin of each value. */
  origin: Record<SettingName, 'default' | 'environment' | 'flag'>
  /** The text of each value before parsing. */
  given: Record<SettingName, string>
}

const SECRETS = Object.values(SETTINGS).flatMap(({ env, secret: hidden }) => (hidden ? [env] : []))

/** Returns the faults of values that are usable by themselves but not together. */
function conflicts(config: Config, bearers: Record<SettingName, string>): string[] {
  return RULES.flatMap(({ name, broken, remedy }) => (broken(config) ? [`${bearers[name]}: ${remedy}.`] : []))
}

/**
 * Reads all settings. `flags` are by setting name. A secret may stand in the file that ASSAY_..._FILE names. Throws
 * ConfigError with every fault at once.
 */
export function resolveConfig(
  variables: NodeJS.ProcessEnv,
  flags: Partial<Record<SettingName, string>> = {},
): Resolved {
  const { environment, faults } = readSecretFiles(variables, SECRETS)
  const config: Record<string, unknown> = {}
  const origin: Record<string, string> = {}
  const given = {} as Record<SettingName, string>
  const bearers = {} as Record<SettingName, string>
  for (const [name, row] of Object.entries(SETTINGS) as [SettingName, Setting<unknown>][]) {
    const flag = flags[name]
    const variable = environment[row.env]
    const value = flag ?? (variable === undefined || variable === '' ? row.fallback : variable)
    origin[name] =
      flag !== undefined ? 'flag' : variable === undefined || variable === '' ? 'default' : 'environment'
    given[name] = value
    bearers[name] = flag !== undefined ? flagOf(name) : row.env
    try {
      config[name] = row.parse(value)
    } catch (error) {
      const shown = row.secret ? 'its value' : JSON.stringify(value.replace(/\/\/[^/?]*@/, '//••••@'))
      faults.push(`${bearers[name]}: ${shown} is not usable, it ${(error as Error).message}.`)
    }
  }
  for (const variable of Object.keys(environment)) {
    const known = Object.values(SETTINGS).some((row) => row.env === variable)
    if (variable.startsWith('ASSAY_') && !known && !/^ASSAY_(TEST_|WRAPPED$|URL$|SERVER$)/.test(variable)) {
      faults.push(unknown(variable))
    }
  }
  if (faults.length === 0) faults.push(...conflicts(config as unknown as Config, bearers))
  if (faults.length > 0) throw new ConfigError(faults.join('\n'))
  return {
    config: config as unknown as Config,
    origin: origin as Resolved['origin'],
    given,
  }
}

/** Returns each setting with its value, with secrets hidden. */
export function describeConfig(
  resolved: Resolved,
): { name: SettingName; env: string; value: string; origin: string; doc: string }[] {
  return (Object.keys(SETTINGS) as SettingName[]).map((name) => {
    const row = SETTINGS[name]
    const value = resolved.given[name]
    const shown = row.secret && value !== '' ? redact(name, value) : value
    return { name, env: row.env, value: shown, origin: resolved.origin[name], doc: row.doc }
  })
}

function redact(name: SettingName, value: string): string {
  if (name !== 'store') return '••••'
  return value.startsWith('sqlite:')
    ? value
    : value.replace(/\/\/[^/?]*@/, '//••••@').replace(/([?&]password=)[^&]*/, '$1••••')
}
