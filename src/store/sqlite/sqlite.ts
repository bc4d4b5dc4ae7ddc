/**
 * The store on SQLite: the contract, method by method. Reads are answered at once, writes after their group's commit.
 * The functions behind it are synchronous: each runs whole inside one transaction.
 */
import { chmodSync, closeSync, openSync } from 'node:fs'
import type { Clock } from '../../runtime/clock.ts'
import type { NewRecovery, Store } from '../store.ts'
import * as accounts from './accounts.ts'
import * as claims from './claims.ts'
import { type Connection, connect, openDatabase, translate, unavailable } from './connection.ts'
import * as deliveries from './deliveries.ts'
import { listEvents } from './events.ts'
import * as idempotency from './idempotency.ts'
import * as jobs from './jobs.ts'
import { takeLock } from './lock.ts'
import * as nodes from './nodes.ts'
import { prune } from './prune.ts'
import * as recoveries from './recoveries.ts'
import { migrateSqlite } from './schema.ts'
import * as sending from './sending.ts'
import * as settings from './settings.ts'
import * as templates from './templates.ts'
import * as webhooks from './webhooks.ts'

export interface SqliteOptions {
  /** The database; its lock lies beside it. */
  file: string
  clock: Clock
  publicUrl: string | null
}

/** Opens (and brings up to date) the database. Throws `store_unavailable` where another process holds it. */
export async function openSqlite({ file, clock, publicUrl }: SqliteOptions): Promise<Store> {
  const lock = takeLock(file, new Date(clock.now()).toISOString())
  try {
    // Before SQLite makes it: its -wal and -shm files take the mode of the database.
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
    const db = openDatabase(file)
    await migrateSqlite(db)
    const connection = connect(db, clock, publicUrl)
    await connection.write(() => accounts.ensureDefaultWorkspace(connection))
    return sqliteStore(connection, () => lock.release())
  } catch (error) {
    lock.release()
    throw translate(error)
  }
}

/** Rows that one turn of the event loop may look at. */
const STEP = 2000

/** Between the steps other requests are served. */
async function countMissing(connection: Connection, input: Omit<NewRecovery, 'recovery_id'>) {
  const begun = await connection.read(() => recoveries.beginWalk(connection, input))
  let count = 0
  let walk = begun
  while (walk) {
    const present = walk
    const step = await connection.read(() => recoveries.stepWalk(connection, present, STEP))
    count += step.events.length
    walk = step.rest
    await new Promise((resolve) => setImmediate(resolve))
  }
  return begun && { walk: begun, count }
}

function sqliteStore(connection: Connection, released: () => void): Store {
  type Work<In extends unknown[], Out> = (connection: Connection, ...input: In) => Out
  const read =
    <In extends unknown[], Out>(work: Work<In, Out>) =>
    (...input: In): Promise<Out> =>
      connection.read(() => work(connection, ...input))
  const write =
    <In extends unknown[], Out>(work: Work<In, Out>) =>
    (...input: In): Promise<Out> =>
      connection.write(() => work(connection, ...input))
  let open = true

  return {
    kind: 'sqlite',
    get revision() {
      return connection.revision
    },

    async ping() {
      if (!open) throw unavailable('The store is closed.')
      await connection.read(() => connection.one('SELECT 1 FROM migrations LIMIT 1'))
    },
    async close() {
      if (!open) return
      open = false
      connection.close()
      released()
    },
    subscribe: connection.subscribe,
    keepOnce: write(settings.keepOnce),
    counts: read((present) => ({
      jobs: jobs.countJobs(present),
      deliveries: deliveries.countDeliveries(present),
    })),
    prune: write(prune),

    createWorkspace: write(accounts.createWorkspace),
    getWorkspace: read(accounts.getWorkspace),
    listWorkspaces: read(accounts.listWorkspaces),
    deleteWorkspace: write(accounts.deleteWorkspace),
    createUser: write(accounts.createUser),
    findUser: read(accounts.findUser),
    listUsers: read(accounts.listUsers),
    deleteUser: write(accounts.deleteUser),
    createToken: write(accounts.createToken),
    findToken: read(accounts.findToken),
    listTokens: read(accounts.listTokens),
    deleteToken: write(accounts.deleteToken),

    putTemplate: write(templates.putTemplate),
    getTemplate: read(templates.getTemplate),
    listTemplates: read(templates.listTemplates),
    deleteTemplate: write(templates.deleteTemplate),
    getTemplateVersion: read(templates.getTemplateVersion),

    createJob: write(jobs.createJob),
    queueJob: write(jobs.queueJob),
    getJob: read(jobs.getJob),
    listJobs: read(jobs.listJobs),
    cancelJob: write(jobs.cancelJob),
    deleteJob: write(jobs.deleteJob),
    getInsight: read(jobs.getInsight),

    claimJobs: write(claims.claimJobs),
    startJob: write(claims.startJob),
    completeJob: write(claims.completeJob),
    failJob: write(claims.failJob),
    loseJob: write(claims.loseJob),
    releaseJobs: write(claims.releaseJobs),

    registerNode: write(nodes.registerNode),
    renewNode: write(nodes.renewNode),
    reportProgress: write((present, input) => {
      nodes.reportProgress(present, input)
    }),
    listNodes: read(nodes.listNodes),
    removeNode: write(nodes.removeNode),
    reapNodes: write(nodes.reapNodes),

    createWebhook: write(webhooks.createWebhook),
    getWebhook: read(webhooks.getWebhook),
    listWebhooks: read(webhooks.listWebhooks),
    updateWebhook: write(webhooks.updateWebhook),
    rotateSecret: write(webhooks.rotateSecret),
    deleteWebhook: write(webhooks.deleteWebhook),

    sendEvent: write(sending.sendEvent),
    redeliver: write(deliveries.redeliver),
    claimDeliveries: write(sending.claimDeliveries),
    recordAttempt: write(sending.recordAttempt),
    releaseDeliveries: write(sending.releaseDeliveries),
    getDelivery: read(deliveries.getDelivery),
    listDeliveries: read(deliveries.listDeliveries),
    cancelPending: write(deliveries.cancelPending),
    listEvents: read(listEvents),

    async countRecoverable(input) {
      const missing = await countMissing(connection, input)
      return missing && missing.count
    },
    async createRecovery(input) {
      const missing = await countMissing(connection, input)
      return (
        missing &&
        connection.write(() => recoveries.insertRecovery(connection, input, missing.walk, missing.count))
      )
    },
    getRecovery: read(recoveries.getRecovery),
    advanceRecoveries: write(recoveries.advanceRecoveries),
    webhookStats: read(recoveries.webhookStats),

    startIdempotent: write(idempotency.startIdempotent),
    endIdempotent: write(idempotency.endIdempotent),
  }
}
