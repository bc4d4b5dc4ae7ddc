/**
 * The store on PostgreSQL (14 and later): the contract, method by method. Many processes share one database, which is
 * the distributed engine: row locks, its clock, its transactions. Nothing is concluded from what this process knows.
 */
import type { NewAuditRecord } from '@assay/model/audit'
import type { JobCaps } from '../caps.ts'
import type { Settle } from '../job-move.ts'
import { ensureDefaultWorkspace } from '../nouns/accounts.ts'
import { writeAudit } from '../nouns/audit.ts'
import * as erasure from '../nouns/erasure.ts'
import { READS as NOUN_READS, WRITES as NOUN_WRITES } from '../nouns/nouns.ts'
import * as recoveries from '../nouns/recoveries.ts'
import * as webhooks from '../nouns/webhooks.ts'
import { follow, type Reader, type Routine, type Transaction as Rows } from '../rows.ts'
import { inSteps, untilDone } from '../steps.ts'
import type { Input, NewRecovery, Store } from '../store.ts'
import * as claims from './claims.ts'
import { type Connection, connect, OUT_OF_INDEXES, type Session, type Transaction } from './connection.ts'
import * as deliveries from './deliveries.ts'
import { gatherReads } from './job-reads.ts'
import * as jobs from './jobs.ts'
import { transactionOf } from './native.ts'
import * as nodes from './nodes.ts'
import { migratePostgres, requireSchema } from './schema.ts'
import * as sending from './sending.ts'
import { wakeWebhooks } from './sending-state.ts'
import { createWriteGroups } from './write-groups.ts'

export interface PostgresOptions {
  /** postgres://USER:PASSWORD@HOST/DATABASE */
  url: string
  publicUrl: string | null
  caps: JobCaps
  /** That requests and work share, 10 unless given; a few more are for what must not wait for them. */
  connections?: number
}

/** Opens (and brings up to date) the database. Throws `store_unavailable` where it cannot be reached. */
export async function openPostgres({ connections: size, ...options }: PostgresOptions): Promise<Store> {
  await migratePostgres(options.url)
  const connection = connect({ ...options, size, wake: wakeWebhooks })
  try {
    await connection.write((tx) => follow(ensureDefaultWorkspace(tx.rows)))
    return postgresStore(connection)
  } catch (error) {
    await connection.close()
    throw error
  }
}

/** Rows that one question may look at. */
const STEP = 2000

async function countMissing(from: Session, input: Omit<NewRecovery, 'recovery_id'>) {
  const begun = await follow(recoveries.beginWalk(from.rows, input))
  let count = 0
  let walk = begun
  while (walk) {
    const step = await follow(recoveries.stepWalk(from.rows, walk, STEP))
    count += step.events.length
    walk = step.rest
  }
  return begun && { walk: begun, count }
}

type FollowedReads<Methods> = {
  [Name in keyof Methods]: Methods[Name] extends (from: Reader, ...input: infer In) => Routine<infer Out>
    ? (from: Session, ...input: In) => Promise<Out>
    : never
}

/** What is written once for both databases, as functions of a session. */
function followedReads<Methods extends object>(methods: Methods): FollowedReads<Methods> {
  type Read = (from: Reader, ...input: never[]) => Routine<unknown>
  const made = Object.entries(methods as Record<string, Read>).map(([name, routine]) => [
    name,
    (from: Session, ...input: never[]) => follow(routine(from.rows, ...input)),
  ])
  return Object.fromEntries(made) as FollowedReads<Methods>
}

type FollowedWrites<Methods> = {
  [Name in keyof Methods]: Methods[Name] extends (tx: Rows, ...input: infer In) => Routine<infer Out>
    ? (tx: Transaction, ...input: In) => Promise<Out>
    : never
}

/** The same of a transaction. */
function followedWrites<Methods extends object>(methods: Methods): FollowedWrites<Methods> {
  type Write = (tx: Rows, ...input: never[]) => Routine<unknown>
  const made = Object.entries(methods as Record<string, Write>).map(([name, routine]) => [
    name,
    (tx: Transaction, ...input: never[]) => follow(routine(transactionOf(tx), ...input)),
  ])
  return Object.fromEntries(made) as FollowedWrites<Methods>
}

/** Each is one question to the database, or several that need not agree. */
const READS = {
  ...followedReads(NOUN_READS),
  listJobs: jobs.listJobs,
  getInsight: jobs.getInsight,
  listNodes: nodes.listNodes,
  getDelivery: deliveries.getDelivery,
  listDeliveries: deliveries.listDeliveries,
  ping: (from: Session) => requireSchema(from),
  async countRecoverable(from: Session, input: Input<'countRecoverable'>) {
    const missing = await countMissing(from, input)
    return missing && missing.count
  },
}

/** Each is a transaction that writes nothing: its plans need one to be told of. */
const COUNTS = {
  async counts(tx: Transaction) {
    await tx.run(OUT_OF_INDEXES)
    return {
      jobs: await jobs.countJobs(tx),
      deliveries: await deliveries.countDeliveries(tx),
      webhooks: await follow(webhooks.countWebhooks(tx.rows)),
    }
  },
}

/** Each is one transaction and resolves after its commit. */
const WRITES = {
  ...followedWrites(NOUN_WRITES),
  createJob: jobs.createJob,
  queueJob: jobs.queueJob,
  cancelJob: jobs.cancelJob,
  deleteJob: jobs.deleteJob,
  reportProgress: nodes.reportProgress,
  removeNode: nodes.removeNode,
  reapNodes: nodes.reapNodes,
  giveBackUnknown: nodes.giveBackUnknown,
  sendEvent: sending.sendEvent,
  redeliver: deliveries.redeliver,
}

/** Without these a node is given up. */
const FIRST = {
  registerNode: nodes.registerNode,
  renewNode: nodes.renewNode,
}

type Work = (session: Transaction, ...input: never[]) => Promise<unknown>
type Bound<Methods> = {
  [Name in keyof Methods]: Methods[Name] extends (session: Transaction, ...input: infer In) => infer Out
    ? (...input: In) => Out
    : never
}

function bind<Methods extends Record<string, Work>>(
  methods: Methods,
  run: (work: (session: Transaction) => Promise<unknown>) => Promise<unknown>,
): Bound<Methods> {
  const bound = Object.entries(methods).map(([name, work]) => [
    name,
    (...input: never[]) => run((session) => work(session, ...input)),
  ])
  return Object.fromEntries(bound) as Bound<Methods>
}

type SlowWrites = Pick<
  Store,
  'updateWebhook' | 'deleteWebhook' | 'cancelPending' | 'createRecovery' | 'deleteWorkspace'
>

/** Writes of many rows: others have their turn between the transactions. `change` writes what is decisive. */
function writesInSteps({ read, write }: Connection, change: Connection['write'] = write): SlowWrites {
  return {
    async updateWebhook(input) {
      if (input.patch.status === 'enabled')
        await inSteps((most) =>
          write((tx) => follow(webhooks.prepareEnabling(transactionOf(tx), input, most))),
        )
      return change((tx) => follow(webhooks.updateWebhook(transactionOf(tx), input)))
    },
    async deleteWebhook(key) {
      await inSteps((most) => write((tx) => follow(webhooks.emptyWebhook(transactionOf(tx), key, most))))
      return change((tx) => follow(webhooks.deleteWebhook(transactionOf(tx), key)))
    },
    async deleteWorkspace(workspace_id) {
      if (!(await change((tx) => follow(erasure.closeWorkspace(transactionOf(tx), workspace_id)))))
        return false
      await untilDone((most) =>
        write((tx) => follow(erasure.emptyWorkspace(transactionOf(tx), workspace_id, most))),
      )
      return true
    },
    async cancelPending(input) {
      await change((tx) => deliveries.endPending(tx, input))
      return inSteps((most) => write((tx) => deliveries.cancelPending(tx, input, most)))
    },
    async createRecovery(input) {
      const missing = await read((from) => countMissing(from, input))
      return (
        missing &&
        change((tx) => follow(recoveries.insertRecovery(tx.rows, input, missing.walk, missing.count)))
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
  const change = async <T>(audited: Audited, work: (tx: Transaction) => Promise<T>): Promise<T> => {
    const value = await connection.write(async (tx) => {
      const made = await work(tx)
      if (!audited.written && made !== null && made !== false)
        await follow(writeAudit(tx.rows, [audited.record]))
      return made
    })
    if (value !== null && value !== false) audited.written = true
    return value
  }
  for (const [name, work] of Object.entries(WRITES) as [string, Work][])
    methods[name] = function audited(this: Audited, ...input: never[]) {
      return change(this, (tx) => work(tx, ...input))
    }
  const slow = (audited: Audited) => writesInSteps(connection, (work) => change(audited, work))
  for (const name of Object.keys(writesInSteps(connection)) as (keyof SlowWrites)[])
    methods[name] = function audited(this: Audited, input: never) {
      return slow(this)[name](input)
    }
  return Object.assign(Object.create(store) as Store, methods)
}

type JobMethods = 'claimJobs' | 'startJob' | 'completeJob' | 'failJob' | 'loseJob' | 'releaseJobs'

/** What workers do with jobs: one transaction for all that a process asks for at once. */
function jobMethods(connection: Connection): Pick<Store, JobMethods> {
  const groups = createWriteGroups(connection.control, claims.settleJobs)
  const settle = async (report: Settle): Promise<boolean> => (await groups.report([report]))[0]!
  return {
    claimJobs: (input) => groups.follow((tx) => claims.claimJobs(tx, input)),
    startJob: (lease) => settle({ kind: 'start', ...lease }),
    completeJob: (input) => settle({ kind: 'complete', ...input }),
    failJob: (input) => settle({ kind: 'fail', ...input }),
    loseJob: (lease) => settle({ kind: 'lose', ...lease }),
    async releaseJobs(leases) {
      await groups.report(leases.map((lease) => ({ kind: 'release' as const, ...lease })))
    },
  }
}

function postgresStore(connection: Connection): Store {
  const groups = createWriteGroups(connection.control, sending.recordAttempts)
  const store: Store = {
    kind: 'postgres',
    ...bind(READS, (work) => connection.read(work as (session: Session) => Promise<unknown>)),
    ...bind(COUNTS, connection.readTogether),
    ...bind(WRITES, (work) => connection.write(work)),
    ...bind(FIRST, connection.control),
    ...jobMethods(connection),
    getJob: gatherReads(connection),
    audited: (record) => Object.assign(Object.create(audited) as Store, { record, written: false }),
    subscribe: connection.subscribe,
    connections: connection.usage,
    close: connection.close,
    recordAttempts: groups.report,
    recordAttempt: async (outcome) => (await groups.report([outcome]))[0]!,
    ...writesInSteps(connection),
    releaseDeliveries: (claims) => groups.follow((tx) => sending.releaseDeliveries(tx, claims)),
    claimDeliveries: (input) => groups.follow((tx) => sending.claimDeliveries(tx, input)),
  }
  const audited = auditedMethods(connection, store)
  return store
}
