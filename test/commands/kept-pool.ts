/**
 * Lets the commands of test/commands/command-process.ts, which loads this file first, share one pool. A start of an
 * analysis process for each command would take most of their processor time. The pool has no walls, because a walled
 * process sees only the folders of its first task, and a task with other folders would start another process. cli.test.ts
 * tests the start and end of walled processes.
 */
import { mkdtempSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createPool as openPool, type Pool, type PoolOptions } from '@assay/engine/run/pool'

registerHooks({
  resolve(specifier, context, next) {
    const replaced =
      specifier === '@assay/engine/run/pool' && context.parentURL?.endsWith('/cli/local-pool.ts')
    return next(replaced ? import.meta.url : specifier, context)
  },
})

/** The temporary folder of the pool. It outlives the folders that commands give their pools. */
const tempRoot = mkdtempSync(path.join(process.env.ASSAY_TEST_FOLDER ?? tmpdir(), 'pool-'))
const pools = new Map<string, Pool>()

/** Returns the pool of these caps, the same for each command. It stops with its process. */
export function createPool(options: PoolOptions): Pool {
  const made = JSON.stringify([options.caps, options.narrator === undefined])
  const pool = pools.get(made) ?? openPool({ ...options, tempRoot, jail: 'off' })
  pools.set(made, pool)
  return new Proxy(pool, {
    get(target, name) {
      if (name === 'stop') return async () => undefined
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}
