/** Makes the pool of analysis processes from the settings. */
import { mkdirSync } from 'node:fs'
import { createPool, type Pool, type PoolOptions } from '@assay/engine/run/pool'
import type { Store } from '@assay/store/store'
import { type Config, capsOf } from '../config/config.ts'
import { foldersOf, vetJail } from '../config/folders.ts'
import type { Logger } from '../runtime/log.ts'
import { narratorOf } from '../runtime/narrator.ts'

/** Null on a node that neither runs jobs, serves the API nor sends mail. */
export function poolOf(
  config: Config,
  given: Omit<PoolOptions, 'caps' | 'narrator' | 'log'> & { store: Store; log: Logger },
): Pool | null {
  const { store, ...rest } = given
  const { log } = rest
  const { roles, smtpUrl } = config
  if (!roles.includes('worker') && !roles.includes('api') && smtpUrl === null) return null
  const onFailure = (reason: string): void => log.warn({ reason }, 'the language model gave no answer')
  const folders = foldersOf(config)
  for (const { path, own } of folders) if (own) mkdirSync(path, { recursive: true, mode: 0o700 })
  vetJail(config)
  const pool = createPool({
    ...rest,
    jail: config.jail,
    folders,
    caps: capsOf(config),
    spillBytes: config.maxSpill,
    narrator: narratorOf(config, { cache: store, onFailure }),
  })
  const { walls, missing } = pool.jail
  if (walls.length > 0) log.info({ walls }, 'analysis processes run behind walls')
  else log.warn({ missing }, 'analysis processes run without walls')
  return pool
}
