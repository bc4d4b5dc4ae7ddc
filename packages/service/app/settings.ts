/** Applies settings at the start. A setting that cannot be used throws a ConfigError with a sentence for the operator. */
import { lookup } from 'node:dns/promises'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { parseTargets, type Targets } from '@assay/net/target'
import { storeFile } from '@assay/store/open'
import type { Store } from '@assay/store/store'
import { type Config, ConfigError } from '../config/config.ts'
import { type ConnectionRegistry, openConnections } from '../connections/connection-registry.ts'
import { SettingsFault } from '../connections/settings-file.ts'
import type { Ledger } from '../outgoing/ledger.ts'
import { makeHome } from '../runtime/home.ts'
import type { SecretBox } from '../runtime/secrets.ts'

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host)
}

/**
 * Returns the targets of webhooks. By default one node on SQLite that listens on loopback may also send to its own
 * machine.
 */
function webhookTargets(config: Config, store: Store): readonly string[] {
  if (config.webhookTargets) return config.webhookTargets
  const local =
    store.kind === 'sqlite' &&
    config.roles.length === 3 &&
    isLoopback(config.host) &&
    config.publicUrl === null
  return local ? ['public', 'loopback'] : ['public']
}

export function targetsOf(config: Config, store: Store): Targets {
  return parseTargets(webhookTargets(config, store))
}

export async function connectionBook(
  config: Config,
  store: Store,
  secrets: SecretBox,
  ledger: Ledger,
): Promise<ConnectionRegistry> {
  const targets = config.connectionTargets
  const file = config.connections
  return openConnections({ store, secrets, file, targets, environment: process.env, ledger }).catch(
    (error: unknown) => {
      if (!(error instanceof SettingsFault)) throw error
      throw new ConfigError(`ASSAY_CONNECTIONS: ${error.message}`, { cause: error })
    },
  )
}

/** Checks that the folders of the settings exist. Throws ConfigError. */
export async function checkFolders({ data, templates, home, files, store }: Config): Promise<void> {
  const isFolder = async (folder: string) => (await stat(folder).catch(() => null))?.isDirectory() === true
  if (data !== null && !(await isFolder(data)))
    throw new ConfigError(
      `ASSAY_DATA: ${data} is not a folder; create it, or name the folder that holds the data.`,
    )
  for (const folder of templates.folders)
    if (!(await isFolder(folder)))
      throw new ConfigError(
        `ASSAY_TEMPLATES: ${folder} is not a folder; create it, or name the folders that hold templates.`,
      )
  const { TMPDIR: temporary = '' } = process.env
  if (temporary !== '' && !(await isFolder(temporary)))
    throw new ConfigError(
      `TMPDIR: ${temporary} is not a folder; create it, or name another folder for temporary files.`,
    )
  await requireFolder('ASSAY_HOME', home)
  if (files !== null && !files.startsWith('s3://')) await requireFolder('ASSAY_FILES', files)
  if (store.startsWith('sqlite:')) await requireFolder('ASSAY_STORE', path.dirname(storeFile(store, home)))
}

/** Makes the folder. Throws ConfigError if this process cannot write to it. */
async function requireFolder(name: string, folder: string): Promise<void> {
  try {
    await makeHome(folder)
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    throw new ConfigError(`${name}: ${folder} is not a folder that this process can write to (${code}).`)
  }
}

/**
 * Checks that the name of the mail server has an address. Throws ConfigError if the name does not exist. No answer
 * from the resolver is accepted, because it proves nothing.
 */
export async function checkMailServer({ smtpUrl }: Config): Promise<void> {
  if (smtpUrl === null) return
  await lookup(smtpUrl.host).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTFOUND') return
    throw new ConfigError(`ASSAY_SMTP_URL: there is no host ${smtpUrl.host}; name the mail server.`, {
      cause: error,
    })
  })
}

export function keepOf({ keepJobs, keepDrafts, keepEvents, keepDeliveries }: Config) {
  return {
    jobs_ms: keepJobs,
    drafts_ms: keepDrafts,
    events_ms: keepEvents,
    deliveries_ms: keepDeliveries ?? keepEvents,
  }
}

/** Returns the ConfigError of a failed listen if a setting causes it; otherwise the error itself. */
export function listenError(error: unknown, { host, port }: Config): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EADDRINUSE')
    return new ConfigError(`ASSAY_PORT: ${port} on ${host} is taken; choose another, or 0 for a free one.`)
  if (code === 'EACCES')
    return new ConfigError(`ASSAY_PORT: ${port} needs rights that this process does not have.`)
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return new ConfigError(`ASSAY_HOST: ${JSON.stringify(host)} is not an address of this machine.`)
  return error
}
