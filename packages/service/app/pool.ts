/** Makes the pool of analysis processes from the settings. */
import { mkdirSync } from 'node:fs'
import { createPool, type Pool, type PoolOptions } from '@assay/engine/run/pool'
import type { Store } from '@assay/store/store'
import { type Config, capsOf } from '../config/config.ts'
import { foldersOf, vetJail } from '../config/folders.ts'
import type { Ledger } from '../outgoing/ledger.ts'
import type { Logger } from '../runtime/log.ts'
import { type LanguageModel, narratorOf } from '../runtime/narrator.ts'

/** Returns the language model of the settings; undefined if they name none. */
export function modelOf(
  config: Config,
  { store, ledger, log }: { store: Store; ledger: Ledger; log: Logger },
): LanguageModel | undefined {
  const onFailure = (reason: string): void => log.warn({ reason }, 'the language model gave no answer')
  return narratorOf(config, { cache: store, ledger, onFailure })
}

/** Makes the pool. Returns null on a node that neither runs jobs, serves the API nor sends mail. */
export function poolOf(
  config: Config,
  given: Omit<PoolOptions, 'caps' | 'log' | 'vetDial'> & { ledger: Ledger; log: Logger },
): Pool | null {
  const { ledger, ...rest } = given
  const { log } = rest
  const { roles, smtpUrl } = config
  if (!roles.includes('worker') && !roles.includes('api') && smtpUrl === null) return null
  const folders = foldersOf(config)
  for (const { path, own } of folders) if (own) mkdirSync(path, { recursive: true, mode: 0o700 })
  vetJail(config)
  const pool = createPool({
    ...rest,
    jail: config.jail,
    folders,
    caps: capsOf(config),
    spillBytes: config.maxSpill,
    vetDial: vetDialOf(ledger),
  })
  const { walls, by, missing } = pool.jail
  if (walls.length > 0) log.info({ walls, by }, 'analysis processes run behind walls')
  else log.warn({ missing }, 'analysis processes run without walls')
  return pool
}

/**
 * Returns the check that runs before each connection to a host. It resolves with the reason why the workspace may not
 * reach the host, else null. Each connection of a download counts against the budget of downloads.
 */
export function vetDialOf(ledger: Pick<Ledger, 'take' | 'vetHost'>): NonNullable<PoolOptions['vetDial']> {
  return async ({ workspace_id, connection, host }) => {
    const kind = connection === null ? 'download' : 'query'
    const refusal =
      (await ledger.vetHost(workspace_id, kind, host)) ??
      (kind === 'download' ? await ledger.take(workspace_id, kind) : null)
    return refusal && refusal.text
  }
}
