/**
 * The store on SQLite: the contract, method by method. Reads are answered at once, writes once their commit is durable.
 * The functions behind it are synchronous: each runs whole inside one transaction.
 */
import { chmodSync, closeSync, openSync } from 'node:fs'
import type { NewAuditRecord } from '@assay/model/audit'
import type { Clock } from '@assay/model/clock'
import type { AppError } from '@assay/model/errors'
import type { JobCaps } from '../caps.ts'
import { ensureDefaultWorkspace } from '../nouns/accounts.ts'
import { writeAudit } from '../nouns/audit.ts'
import * as erasure from '../nouns/erasure.ts'
import { READS as NOUN_READS, WRITES as NOUN_WRITES } from '../nouns/nouns.ts'
import * as recoveries from '../nouns/recoveries.ts'
import * as webhooks from '../nouns/webhooks.ts'
import { finish, type Routine, type Transaction } from '../rows.ts'
import { inSteps, untilDone } from '../steps.ts'
import type { AttemptOutcome, Input, NewRecovery, Store } from '../store.ts'
import * as claims from './claims.ts'
import { type Connection, connect, openDatabase, translate, unavailable } from './connection.ts'
import * as deliveries from './deliveries.ts'
import * as jobs from './jobs.ts'
import { takeLock } from './lock.ts'
import { transactionOf } from './native.ts'
import * as nodes from './nodes.ts'
import { migrateSqlite, requireSchema } from './schema.ts'
import * as sending from './sending.ts'

export interface SqliteOptions {
  /** The database; its lock lies beside it. */
  file: string
  clock: Clock
  publicUrl: string | null
  caps: JobCaps
  /** Called once, where the disk has failed to keep what was written: nothing is read or written any more. */
  failed?: ((error: AppError) => void) | undefined
}

/** Opens (and brings up to date) the database. Throws `store_unavailable` where another process holds it. */
export async function openSqlite({ file, ...options }: SqliteOptions): Promise<Store> {
  const lock = takeLock(file, new Date(options.clock.now()).toISOString())
  try {
    // Before SQLite makes it: its -wal and -shm files take the mode of the database.
    closeSync(openSync(file, 'a', 0o600))
    chmodSync(file, 0o600)
    const db = openDatabase(file)
    await migrateSqlite(db)
    const connection = await connect(db, { file, ...options })
    await connection.write(() => finish(ensureDefaultWorkspace(connection.rows)))
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
  const begun = await connection.read(() => finish(recoveries.beginWalk(connection.rows, input)))
  let count = 0
  let walk = begun
  while (walk) {
    const present = walk
    const step = await connection.read(() => finish(recoveries.stepWalk(connection.rows, present, STEP)))
    count += step.events.length
    walk = step.rest
    await new Promise((resolve) => setImmediate(resolve))
  }
  return begun && { walk: begun, count }
}

type Routines = Record<string, (tx: Transaction, ...input: never[]) => Routine<unknown>>
type Finished<Methods> = {
  [Name in keyof Methods]: Methods[Name] extends (tx: Transaction, ...input: infer In) => Routine<infer Out>
    ? (connection: Connection, ...input: In) => Out
    : never
}

/** What is written once for both databases, as functions of a connection. */
function finished<Methods extends Routines>(methods: Methods): Finished<Methods> {
  const made = Object.entries(methods).map(([name, routine]) => [
    name,
    (connection: Connection, ...input: never[]) => finish(routine(transactionOf(connection), ...input)),
  ])
  return Object.fromEntries(made) as Finished<Methods>
}

/** Answered at once. */
const READS = {
  ...finished(NOUN_READS),
  getJob: jobs.getJob,
  listJobs: jobs.listJobs,
  getInsight: jobs.getInsight,
  listNodes: nodes.listNodes,
  getDelivery: deliveries.getDelivery,
  listDeliveries: deliveries.listDeliveries,
  counts: (connection: Connection) => ({
    jobs: jobs.countJobs(connection),
    deliveries: deliveries.countDeliveries(connection),
    webhooks: finish(webhooks.countWebhooks(connection.rows)),
  }),
}

/** Each resolves once its commit is durable. */
const WRITES = {
  ...finished(NOUN_WRITES),
  createJob: jobs.createJob,
  queueJob: jobs.queueJob,
  cancelJob: jobs.cancelJob,
  deleteJob: jobs.deleteJob,
  startJob: claims.startJob,
  completeJob: claims.completeJob,
  failJob: claims.failJob,
  loseJob: claims.loseJob,
  releaseJobs: claims.releaseJobs,
  registerNode: nodes.registerNode,
  renewNode: nodes.renewNode,
  removeNode: nodes.removeNode,
  reapNodes: nodes.reapNodes,
  giveBackUnknown: nodes.giveBackUnknown,
  sendEvent: sending.sendEvent,
  redeliver: deliveries.redeliver,
  releaseDeliveries: sending.releaseDeliveries,
  reportProgress(connection: Connection, input: Input<'reportProgress'>): void {
    nodes.reportProgress(connection, input)
  },
}

/** Each as a write that finds what the others of its commit have made or freed. */
const CLAIMS = { claimJobs: claims.claimJobs, claimDeliveries: sending.claimDeliveries }

type Work = (connection: Connection, ...input: never[]) => unknown
type Bound<Methods> = {
  [Name in keyof Methods]: Methods[Name] extends (connection: Connection, ...input: infer In) => infer Out
    ? (...input: In) => Promise<Out>
    : never
}

function bind<Methods extends Record<string, Work>>(
  connection: Connection,
  methods: Methods,
  run: (work: () => unknown) => Promise<unknown>,
): Bound<Methods> {
  const bound = Object.entries(methods).map(([name, work]) => [
    name,
    (...input: never[]) => run(() => work(connection, ...input)),
  ])
  return Object.fromEntries(bound) as Bound<Methods>
}

type SlowWrites = Pick<
  Store,
  'updateWebhook' | 'deleteWebhook' | 'cancelPending' | 'createRecovery' | 'deleteWorkspace'
>

/** Writes of many rows: others have their turn between the transactions. `change` writes what is decisive. */
function writesInSteps(
  connection: Connection,
  change: <T>(work: () => T) => Promise<T> = connection.write,
): SlowWrites {
  return {
    async updateWebhook(input) {
      if (input.patch.status === 'enabled')
        await inSteps((most) =>
          connection.write(() => finish(webhooks.prepareEnabling(transactionOf(connection), input, most))),
        )
      return change(() => finish(webhooks.updateWebhook(transactionOf(connection), input)))
    },
    async deleteWebhook(key) {
      await inSteps((most) =>
        connection.write(() => finish(webhooks.emptyWebhook(transactionOf(connection), key, most))),
      )
      return change(() => finish(webhooks.deleteWebhook(transactionOf(connection), key)))
    },
    async deleteWorkspace(workspace_id) {
      if (!(await change(() => finish(erasure.closeWorkspace(transactionOf(connection), workspace_id)))))
        return false
      await untilDone((most) =>
        connection.write(() => finish(erasure.emptyWorkspace(transactionOf(connection), workspace_id, most))),
      )
      return true
    },
    async cancelPending(input) {
      await change(() => deliveries.endPending(connection, input))
      return inSteps((most) => connection.write(() => deliveries.cancelPending(connection, input, most)))
    },
    async createRecovery(input) {
      const missing = await countMissing(connection, input)
      return (
        missing &&
        change(() => finish(recoveries.insertRecovery(connection.rows, input, missing.walk, missing.count)))
      )
    },
  }
}

/** A store for one request, whose changes tell of it. Its methods are made once and find the record by `this`. */
interface Audited {
  record: NewAuditRecord
  written: boolean
}

function auditedMethods(connection: Connection, store: Store): Store {
  const methods: Record<string, unknown> = {}
  const change = async <T>(audited: Audited, work: () => T): Promise<T> => {
    const value = await connection.write(() => {
      const made = work()
      if (!audited.written && made !== null && made !== false)
        finish(writeAudit(connection.rows, [audited.record]))
      return made
    })
    if (value !== null && value !== false) audited.written = true
    return value
  }
  for (const [name, work] of Object.entries(WRITES) as [string, Work][])
    methods[name] = function audited(this: Audited, ...input: never[]) {
      return change(this, () => work(connection, ...input))
    }
  const slow = (audited: Audited) => writesInSteps(connection, (work) => change(audited, work))
  for (const name of Object.keys(writesInSteps(connection)) as (keyof SlowWrites)[])
    methods[name] = function audited(this: Audited, input: never) {
      return slow(this)[name](input)
    }
  return Object.assign(Object.create(store) as Store, methods)
}

function sqliteStore(connection: Connection, released: () => void): Store {
  let open = true
  const recordAttempts = (groups: AttemptOutcome[][]): boolean[][] => {
    const written = sending.recordAttempts(connection, groups.flat())
    return groups.map(({ length }) => written.splice(0, length))
  }
  const store: Store = {
    kind: 'sqlite',
    ...bind(connection, READS, connection.read),
    ...bind(connection, WRITES, connection.write),
    ...bind(connection, CLAIMS, connection.writeLast),
    recordAttempts: (outcomes) => connection.join(recordAttempts, outcomes),
    recordAttempt: async (outcome) => (await connection.join(recordAttempts, [outcome]))[0]!,
    ...writesInSteps(connection),
    audited: (record) => Object.assign(Object.create(audited) as Store, { record, written: false }),
    subscribe: connection.subscribe,
    connections: () => null,
    async ping() {
      if (!open) throw unavailable('The store is closed.')
      await connection.read(() => requireSchema(connection))
    },
    async close() {
      if (!open) return
      open = false
      if (await connection.close()) released()
    },
    async countRecoverable(input) {
      const missing = await countMissing(connection, input)
      return missing && missing.count
    },
  }
  const audited = auditedMethods(connection, store)
  return store
}
