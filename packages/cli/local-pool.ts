/**
 * The pool that checks and runs a template on this machine. It loads little, so that its process starts before the
 * template is read here.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createPool, type Pool } from '@assay/engine/run/pool'
import { systemClock } from '@assay/model/clock'
import type { Config } from '@assay/service/config/config'
import type { Logger } from '@assay/service/runtime/log'
import { say } from './print.ts'

/** As in the service, but each question is asked anew: there is no store to keep answers in. */
async function narratorOf({ narrateUrl: url, narrateModel: model, narrateKey: key }: Config) {
  if (url === null) return undefined
  const { createNarrator } = await import('@assay/service/runtime/narrator')
  return createNarrator({ url, model, key, cache: null, onFailure: say })
}

/** A pool for as long as `use` takes: the same sandbox and limits as in the service. */
export async function withPool<T>(config: Config, log: Logger, use: (pool: Pool) => Promise<T>): Promise<T> {
  const tempRoot = await mkdtemp(path.join(tmpdir(), 'assay-'))
  const caps = {
    timeout_ms: config.maxTimeout,
    memory_bytes: config.maxMemory,
    threads: config.maxThreads,
    rows: config.maxRows,
    output_bytes: config.maxOutput,
  }
  const narrator = await narratorOf(config)
  const pool = createPool({ size: 1, single: true, clock: systemClock, log, caps, tempRoot, narrator })
  try {
    return await use(pool)
  } finally {
    await pool.stop()
    await rm(tempRoot, { recursive: true, force: true })
  }
}
