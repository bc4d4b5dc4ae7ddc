/**
 * Makes backups on a schedule. The node that first sees that the newest backup is older than ASSAY_BACKUP_EVERY makes
 * the next one, in a thread of its own. It then deletes the oldest beyond ASSAY_BACKUP_KEEP.
 */
import path from 'node:path'
import { Worker } from 'node:worker_threads'
import type { Clock } from '@assay/model/clock'
import type { Store } from '@assay/store/store'
import type { Config } from '../config/config.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { Service } from '../runtime/service.ts'
import { type BucketKeys, type Location, openLocation, prune } from './locations.ts'
import type { BackupConfig } from './write.ts'

export interface ThreadInput {
  config: Omit<BackupConfig, 'secretKey'>
  location: string
  keys: BucketKeys
  /** The present time in milliseconds since 1970. */
  now: number
  recipient: Uint8Array | null
}

export type ThreadOutput = { name: string; rows: number; uploads: number } | { failed: string }

export interface BackupsOptions {
  config: Config
  store: Pick<Store, 'takeAllowances' | 'returnAllowances'>
  clock: Clock
  log: Logger
  metrics: Pick<Metrics, 'backups' | 'lastBackup'>
}

const THREAD = path.join(import.meta.dirname, `thread${path.extname(import.meta.filename)}`)
/** The longest time in milliseconds between two checks of the location. It is also the pause after a failed check. */
const LOOK_MOST_MS = 900_000
const LOOK_LEAST_MS = 10_000

export function keysOfBackups(config: Config): BucketKeys {
  return {
    endpoint: config.backupEndpoint,
    region: config.backupRegion,
    accessKey: config.backupAccessKey,
    secretKey: config.backupSecretKey,
  }
}

/** Makes one backup in a thread. An abort of the signal ends the thread and discards what it has written. */
function inThread(input: ThreadInput, signal: AbortSignal): Promise<ThreadOutput> {
  return new Promise((resolve) => {
    const worker = new Worker(THREAD, { workerData: input })
    const stop = (): void => void worker.terminate()
    signal.addEventListener('abort', stop, { once: true })
    worker.once('message', resolve)
    worker.once('error', (error) => resolve({ failed: error.message }))
    worker.once('exit', () => {
      signal.removeEventListener('abort', stop)
      resolve({ failed: 'It was stopped.' })
    })
  })
}

class Backups {
  readonly #options: BackupsOptions
  readonly #address: string
  readonly #location: Location

  constructor(options: BackupsOptions, address: string) {
    this.#options = options
    this.#address = address
    this.#location = openLocation(address, keysOfBackups(options.config))
  }

  /**
   * The claim that one node holds at a time. It ends when this node should have ended its work, and another node may
   * then claim it.
   */
  get #turn() {
    const holdMs = this.#options.config.backupEvery / 4
    return [{ key: `backup ${this.#address}`, burst: 1, per_second: 1000 / holdMs }]
  }

  /** Makes a backup if the newest is too old. */
  async look(signal: AbortSignal): Promise<void> {
    const { config, store, clock, log, metrics } = this.#options
    const last = (await this.#location.list()).at(-1)
    const lastMs = last ? Date.parse(last.created_at) : 0
    metrics.lastBackup.set(lastMs / 1000)
    if (clock.now() - lastMs < config.backupEvery) return
    if (!(await store.takeAllowances(this.#turn)).allowed) return
    const made = await inThread(this.#input(), signal)
    if ('failed' in made) {
      metrics.backups.inc({ outcome: 'failed' })
      await store.returnAllowances(this.#turn)
      if (!signal.aborted)
        log.error({ location: this.#address, reason: made.failed }, 'no backup could be made')
      return
    }
    metrics.backups.inc({ outcome: 'made' })
    metrics.lastBackup.set(clock.now() / 1000)
    const deleted = await prune(this.#location, config.backupKeep)
    log.info({ location: this.#address, ...made, deleted }, 'a backup was made')
  }

  #input(): ThreadInput {
    const { config, clock } = this.#options
    const { store, home, files, filesEndpoint, filesRegion, filesAccessKey, filesSecretKey } = config
    const { maxFile, filesQuota, backupRecipient: recipient } = config
    return {
      config: {
        store,
        home,
        files,
        filesEndpoint,
        filesRegion,
        filesAccessKey,
        filesSecretKey,
        maxFile,
        filesQuota,
      },
      location: this.#address,
      keys: keysOfBackups(config),
      now: clock.now(),
      recipient,
    }
  }

  close(): Promise<void> {
    return this.#location.close()
  }
}

/** Makes the service of backups. Returns null if no location is set. */
export function createBackups(options: BackupsOptions): Service | null {
  const { config, clock, log } = options
  if (config.backup === null) return null
  const backups = new Backups(options, config.backup)
  const lookMs = Math.max(LOOK_LEAST_MS, Math.min(LOOK_MOST_MS, config.backupEvery / 20))
  return {
    name: 'backups',
    async run(signal) {
      let failed = ''
      while (!signal.aborted) {
        try {
          await backups.look(signal)
          failed = ''
        } catch (error) {
          const { message } = error as Error
          if (message !== failed)
            log.error({ err: error, location: config.backup }, 'the place of the backups cannot be used')
          failed = message
        }
        await clock.sleep(lookMs, signal)
      }
      await backups.close()
    },
  }
}
