/**
 * The pool that checks and runs a template on this machine. This file loads little, so that the process of the pool
 * starts before the template is read here.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createPool, type Pool } from '@assay/engine/run/pool'
import { systemClock } from '@assay/model/clock'
import { type Config, capsOf } from '@assay/service/config/config'
import { foldersOf, vetJail } from '@assay/service/config/folders'
import type { Logger } from '@assay/service/runtime/log'
import { say } from './print.ts'

/** Returns the narrator of this machine. It has no cache, because there is no store to keep answers in. */
export async function localNarrator(config: Config) {
  if (config.narrateUrl === null) return undefined
  const { narratorOf } = await import('@assay/service/runtime/narrator')
  return narratorOf(config, { cache: null, ledger: null, onFailure: say })
}

/** Runs `use` with a pool that has the same sandbox and limits as the pool of a service. */
export async function withPool<T>(config: Config, log: Logger, use: (pool: Pool) => Promise<T>): Promise<T> {
  const tempRoot = await mkdtemp(path.join(tmpdir(), 'assay-'))
  const caps = capsOf(config)
  const narrator = await localNarrator(config)
  vetJail(config)
  const folders = foldersOf(config)
  // Copies of fetched files are kept in the home, as a service keeps them.
  if ((config.sourceTargets ?? []).length > 0 || config.connections !== null)
    for (const { path: folder, writable } of folders)
      if (writable) await mkdir(folder, { recursive: true, mode: 0o700 })
  const pool = createPool({
    size: 1,
    single: true,
    clock: systemClock,
    log,
    caps,
    tempRoot,
    narrator,
    jail: config.jail,
    folders,
  })
  try {
    return await use(pool)
  } finally {
    await pool.stop()
    await rm(tempRoot, { recursive: true, force: true })
  }
}
