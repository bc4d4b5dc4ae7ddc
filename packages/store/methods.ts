/**
 * Builds the contract, method by method, from the routines of the nouns and from what each database does in its own
 * way.
 */
import { setImmediate } from 'node:timers/promises'
import type { NewAuditRecord } from '@assay/model/audit'
import type { Expected } from '@assay/model/entity-tag'
import * as grants from './nouns/accounts/grants.ts'
import * as keptDrafts from './nouns/accounts/kept-drafts.ts'
import { vetExpected, vetMade } from './nouns/expected.ts'
import * as collections from './nouns/jobs/collections.ts'
import * as counts from './nouns/jobs/counts.ts'
import { earlierInsights } from './nouns/jobs/earlier-insights.ts'
import * as cards from './nouns/jobs/insight-cards.ts'
import * as insights from './nouns/jobs/insights.ts'
import type { Settle } from './nouns/jobs/job-move.ts'
import * as jobs from './nouns/jobs/jobs.ts'
import * as keptDays from './nouns/jobs/kept-days.ts'
import * as nodes from './nouns/jobs/nodes.ts'
import * as schedules from './nouns/jobs/schedules.ts'
import { settleJobs } from './nouns/jobs/settles.ts'
import * as repositories from './nouns/repositories/repositories.ts'
import * as sealed from './nouns/service/sealed.ts'
import * as settings from './nouns/service/settings.ts'
import * as attempts from './nouns/webhooks/attempts.ts'
import * as deliveries from './nouns/webhooks/deliveries.ts'
import { findHeldEvent, listEvents } from './nouns/webhooks/events.ts'
import * as consents from './nouns/webhooks/mail-consents.ts'
import * as recoveries from './nouns/webhooks/recoveries.ts'
import * as waiting from './nouns/webhooks/waiting.ts'
import * as webhooks from './nouns/webhooks/webhooks.ts'
import * as accounts from './nouns/workspaces/accounts.ts'
import * as allowances from './nouns/workspaces/allowances.ts'
import * as audit from './nouns/workspaces/audit.ts'
import * as connections from './nouns/workspaces/connections.ts'
import * as erasure from './nouns/workspaces/erasure.ts'
import * as idempotency from './nouns/workspaces/idempotency.ts'
import * as links from './nouns/workspaces/links.ts'
import * as metrics from './nouns/workspaces/metrics.ts'
import * as narratives from './nouns/workspaces/narratives.ts'
import * as outgoing from './nouns/workspaces/outgoing.ts'
import * as processorUse from './nouns/workspaces/processor-use.ts'
import { prune } from './nouns/workspaces/prune.ts'
import * as readers from './nouns/workspaces/readers.ts'
import * as signIns from './nouns/workspaces/sign-ins.ts'
import * as templates from './nouns/workspaces/templates.ts'
import type { Reader, Routine, Transaction } from './rows.ts'
import { inSteps, untilDone } from './steps.ts'
import type { ClaimedJob, Counts, Input, NewRecovery, Store } from './store.ts'

/** Methods that read. Each asks one question, or several whose answers need not agree. */
const READS = {
  databaseBytes: settings.databaseBytes,
  getKept: settings.getKept,
  getWorkspace: accounts.getWorkspace,
  listWorkspaces: accounts.listWorkspaces,
  findUser: accounts.findUser,
  findUsers: accounts.findUsers,
  findIdentity: accounts.findIdentity,
  getUser: accounts.getUser,
  getToken: accounts.getToken,
  listUsers: accounts.listUsers,
  findToken: accounts.findToken,
  listTokens: accounts.listTokens,
  findGrant: grants.findGrant,
  listGrants: grants.listGrants,
  getKeptDraft: keptDrafts.getKeptDraft,
  listKeptDrafts: keptDrafts.listKeptDrafts,
  findSignIn: signIns.findSignIn,
  listSignIns: signIns.listSignIns,
  getTemplate: templates.getTemplate,
  listTemplates: templates.listTemplates,
  getTemplateVersion: templates.getTemplateVersion,
  getMetric: metrics.getMetric,
  listMetrics: metrics.listMetrics,
  findMetrics: metrics.findMetrics,
  getConnection: connections.getConnection,
  listConnections: connections.listConnections,
  getReader: readers.getReader,
  listReaders: readers.listReaders,
  findReaders: readers.findReaders,
  readersAfter: readers.readersAfter,
  findReaderOf: readers.findReaderOf,
  getRepository: repositories.getRepository,
  getRepositoryTree: repositories.getRepositoryTree,
  getJob: jobs.getJob,
  getJobs: jobs.getOwnJobs,
  getDraft: jobs.getDraft,
  listJobs: jobs.listJobs,
  countBatch: counts.countBatch,
  listInsights: cards.listInsights,
  insightTitles: cards.insightTitles,
  insightReader: cards.insightReader,
  earlierInsights,
  getCollection: collections.getCollection,
  listCollections: collections.listCollections,
  collectionFollowers: collections.collectionFollowers,
  insightBytes: insights.insightBytes,
  getInsight: insights.getInsight,
  getInsightHead: insights.getInsightHead,
  getInsightData: insights.getInsightData,
  lastDelivered: insights.lastDelivered,
  findLink: links.findLink,
  listLinks: links.listLinks,
  findCollectionLink: links.findCollectionLink,
  listCollectionLinks: links.listCollectionLinks,
  getNarrative: narratives.getNarrative,
  findKeptDays: keptDays.findKeptDays,
  keptBytes: keptDays.keptBytes,
  keptOfMetrics: keptDays.keptOfMetrics,
  findMailConsents: consents.findMailConsents,
  getFileDialect: connections.getFileDialect,
  readOutgoing: outgoing.readOutgoing,
  listOutgoing: outgoing.listOutgoing,
  readProcessorUse: processorUse.readProcessorUse,
  listAudit: audit.listAudit,
  listReadings: audit.listReadings,
  getWebhook: webhooks.getWebhook,
  findSubscriptions: webhooks.findSubscriptions,
  findFollowers: webhooks.findFollowers,
  listWebhooks: webhooks.listWebhooks,
  getSchedule: schedules.getSchedule,
  listSchedules: schedules.listSchedules,
  failingSchedules: schedules.failingSchedules,
  listEvents,
  getDelivery: deliveries.getDelivery,
  listDeliveries: deliveries.listDeliveries,
  getRecovery: recoveries.getRecovery,
  webhookStats: recoveries.webhookStats,
  listNodes: nodes.listNodes,
}

/** Methods that write. Each is one transaction and resolves once it is durable. */
const WRITES = {
  keepOnce: settings.keepOnce,
  replaceKept: settings.replaceKept,
  reseal: sealed.reseal,
  keepNarrative: narratives.keepNarrative,
  keepDays: keptDays.keepDays,
  dropKeptDays: keptDays.dropKeptDays,
  claimDayToAudit: keptDays.claimDayToAudit,
  doubtKeptDay: keptDays.doubtKeptDay,
  claimMailQuestions: consents.claimMailQuestions,
  noteMailConsents: consents.noteMailConsents,
  keepFileDialect: connections.keepFileDialect,
  deleteFileDialect: connections.deleteFileDialect,
  countOutgoing: outgoing.countOutgoing,
  changeOutgoing: outgoing.changeOutgoing,
  countProcessorUse: processorUse.countProcessorUse,
  takeAllowances: allowances.takeAllowances,
  returnAllowances: allowances.returnAllowances,
  createWorkspace: accounts.createWorkspace,
  updateWorkspace: accounts.updateWorkspace,
  createUser: accounts.createUser,
  updateUser: accounts.updateUser,
  deleteUser: accounts.deleteUser,
  admitUser: accounts.admitUser,
  withdrawUser: accounts.withdrawUser,
  createToken: accounts.createToken,
  updateToken: accounts.updateToken,
  deleteToken: accounts.deleteToken,
  createGrant: grants.createGrant,
  useGrant: grants.useGrant,
  keepDraft: keptDrafts.keepDraft,
  deleteKeptDraft: keptDrafts.deleteKeptDraft,
  createSignIn: signIns.createSignIn,
  deleteSignIn: signIns.deleteSignIn,
  deleteSignIns: signIns.deleteSignIns,
  endPasswordSignIns: signIns.endPasswordSignIns,
  noteSignInUses: signIns.noteSignInUses,
  putTemplate: templates.putTemplate,
  deleteTemplate: templates.deleteTemplate,
  putMetric: metrics.putMetric,
  deleteMetric: metrics.deleteMetric,
  createConnection: connections.createConnection,
  updateConnection: connections.updateConnection,
  deleteConnection: connections.deleteConnection,
  putReaders: readers.putReaders,
  deleteReader: readers.deleteReader,
  openRepository: repositories.openRepository,
  askRepository: repositories.askRepository,
  claimRepository: repositories.claimRepository,
  holdRepository: repositories.holdRepository,
  settleRepository: repositories.settleRepository,
  createJob: jobs.createDraft,
  createJobs: jobs.createJobs,
  queueJob: jobs.queueJob,
  queueCurrent: jobs.queueCurrent,
  cancelJob: jobs.cancelJob,
  deleteJob: jobs.deleteJob,
  createCollection: collections.createCollection,
  updateCollection: collections.updateCollection,
  deleteCollection: collections.deleteCollection,
  addToCollection: collections.addToCollection,
  removeFromCollection: collections.removeFromCollection,
  createLink: links.createLink,
  deleteLink: links.deleteLink,
  createCollectionLink: links.createCollectionLink,
  deleteCollectionLink: links.deleteCollectionLink,
  countOpenings: links.countOpenings,
  moveLink: links.moveLink,
  noteTokenUses: accounts.noteTokenUses,
  writeAudit: audit.writeAudit,
  pruneAudit: audit.pruneAudit,
  createWebhook: webhooks.createWebhook,
  rotateSecret: webhooks.rotateSecret,
  createSchedule: schedules.createSchedule,
  updateSchedule: schedules.updateSchedule,
  deleteSchedule: schedules.deleteSchedule,
  claimSchedules: schedules.claimSchedules,
  settleSchedule: schedules.settleSchedule,
  fireSchedule: schedules.fireSchedule,
  runSchedule: schedules.runSchedule,
  sendEvent: deliveries.sendEvent,
  redeliver: deliveries.redeliver,
  advanceRecoveries: recoveries.advanceRecoveries,
  reportProgress: nodes.reportProgress,
  removeNode: nodes.removeNode,
  reapNodes: nodes.reapNodes,
  giveBackUnknown: nodes.giveBackUnknown,
  eraseUser: erasure.eraseUser,
  startIdempotent: idempotency.startIdempotent,
  endIdempotent: idempotency.endIdempotent,
}

/** Methods of the lease. A node is given up without these writes. */
const LEASES = { registerNode: nodes.registerNode, renewNode: nodes.renewNode }

export type Read<Result> = (from: Reader) => Routine<Result>
export type Write<Result> = (tx: Transaction) => Routine<Result>

/** Writes the reports of workers or dispatchers, and the work that must come after them (claims and releases). */
export interface Reports<Report> {
  /** Writes the reports. Returns for each whether it was written. */
  report(reports: Report[]): Promise<boolean[]>
  /**
   * Runs `work` after all earlier reports, maybe in one transaction with them. `first` runs before `work` and takes
   * the locks that precede those of the reports. `work` takes later locks, and others only if nobody else holds them.
   */
  follow<Result>(work: Write<Result>, first: Write<void>): Promise<Result>
  /** Runs `work` after all earlier reports, in a transaction of its own. */
  alone<Result>(work: Write<Result>): Promise<Result>
  /**
   * Runs `work` after all earlier reports on a database with one writer. Otherwise it runs at once, and `isBeside` is
   * true if earlier reports are under way.
   */
  beside<Result>(work: Write<Result>, first: Write<void>): Promise<{ value: Result; isBeside: boolean }>
}

/** The database that the store needs. Each work is one transaction, except in `read`. */
export interface Database
  extends Pick<Store, 'kind' | 'ping' | 'close' | 'subscribe' | 'connections' | 'reclaim'> {
  read<Result>(work: Read<Result>): Promise<Result>
  /** Runs work that writes nothing in one transaction. */
  readTogether<Result>(work: Write<Result>): Promise<Result>
  /** Runs work and resolves once it is durable. */
  write<Result>(work: Write<Result>): Promise<Result>
  /** Runs work as `write` does, without waiting for requests. */
  control<Result>(work: Write<Result>): Promise<Result>
  /** Returns the writer of reports. All reports of one moment are one transaction and one call of `write`. */
  reports<Report>(write: (tx: Transaction, reports: Report[]) => Routine<boolean[]>): Reports<Report>
}

type Methods = Record<string, (on: never, ...input: never[]) => Routine<unknown>>
type Bound<Routines> = {
  [Name in keyof Routines]: Routines[Name] extends (on: never, ...input: infer In) => Routine<infer Out>
    ? (...input: In) => Promise<Out>
    : never
}

function bind<Routines extends Methods>(
  methods: Routines,
  run: (work: Write<unknown>) => Promise<unknown>,
): Bound<Routines> {
  const bound = Object.entries<Methods[string]>(methods).map(([name, work]) => [
    name,
    (...input: never[]) => run((on) => work(on as never, ...input)),
  ])
  return Object.fromEntries(bound) as Bound<Routines>
}

/** The most rows that one question looks at. */
const STEP = 2000

/** Counts in steps. Other requests are served between the steps. */
async function countMissing({ read }: Database, input: Omit<NewRecovery, 'recovery_id'>) {
  const begun = await read((from) => recoveries.beginWalk(from, input))
  let count = 0
  let walk = begun
  while (walk) {
    const present = walk
    const step = await read((from) => recoveries.stepWalk(from, present, STEP))
    count += step.events.length
    walk = step.rest
    await setImmediate()
  }
  return begun && { walk: begun, count }
}

function* countAll(tx: Transaction): Routine<Counts> {
  yield* tx.native.useIndexes()
  return {
    jobs: yield* counts.countJobs(tx),
    stored: yield* counts.countStored(tx, tx.caps),
    deliveries: yield* deliveries.countDeliveries(tx),
    webhooks: yield* webhooks.countWebhooks(tx),
    held_event_at: yield* findHeldEvent(tx),
  }
}

/**
 * Makes the decisive write of a change. `isVetted`: the condition was checked before the first step, which has
 * changed the object.
 */
type Change = <Result>(work: Write<Result>, isVetted?: boolean) => Promise<Result>

/** Writes of many rows in several transactions. Other writes run between them. `vet` runs before the first change. */
function writesInSteps(database: Database, change: Change = database.write, vet?: Write<void>) {
  const { write } = database
  return {
    async updateWebhook(input) {
      if (input.patch.status === 'enabled') {
        if (vet) await write(vet)
        await inSteps((most) => write((tx) => webhooks.prepareEnabling(tx, input, most)))
      }
      return change((tx) => webhooks.updateWebhook(tx, input))
    },
    async deleteWebhook(key) {
      let isVetted = false
      await inSteps(async (most) => {
        const count = await write(function* empty(tx) {
          if (vet && !isVetted) yield* vet(tx)
          return yield* webhooks.emptyWebhook(tx, key, most)
        })
        isVetted ||= count > 0
        return count
      })
      return change((tx) => webhooks.deleteWebhook(tx, key), isVetted)
    },
    async deleteWorkspace(workspace_id) {
      if (!(await change((tx) => erasure.closeWorkspace(tx, workspace_id)))) return false
      await untilDone((most) => write((tx) => erasure.emptyWorkspace(tx, workspace_id, most)))
      return true
    },
    async cancelPending(input) {
      await change((tx) => waiting.endPending(tx, input))
      return inSteps((most) => write((tx) => waiting.cancelPending(tx, input, most)))
    },
    async createRecovery(input) {
      const missing = await countMissing(database, input)
      return missing && change((tx) => recoveries.insertRecovery(tx, input, missing.walk, missing.count))
    },
  } satisfies Partial<Store>
}

/**
 * Claims jobs. If a cap has left jobs out, reports under way may have freed room, so it claims once more after them.
 * If that fails, the whole claim fails although it may be committed. The caller must then give back what it does not
 * know.
 */
async function claimJobs(settles: Reports<Settle>, input: Input<'claimJobs'>): Promise<ClaimedJob[]> {
  const first: Write<void> = (tx) => nodes.requireNode(tx, input.node_id)
  const { value, isBeside } = await settles.beside((tx) => tx.native.claimJobs(input), first)
  const { jobs, isCapped } = value
  const limit = input.limit - jobs.length
  if (!isBeside || !isCapped || limit === 0) return jobs
  const more = await settles.follow(function* claim(tx) {
    yield* tx.native.useIndexes()
    return yield* tx.native.claimJobs({ ...input, limit })
  }, first)
  return [...jobs, ...more.jobs]
}

/** The methods by which workers handle jobs and dispatchers handle deliveries. */
function work(database: Database) {
  const settles = database.reports<Settle>(settleJobs)
  const settle = async (report: Settle): Promise<boolean> => (await settles.report([report]))[0]!
  const tries = database.reports(attempts.recordAttempts)
  return {
    claimJobs: (input) => claimJobs(settles, input),
    startJob: (lease) => settle({ kind: 'start', ...lease }),
    completeJob: (input) => settle({ kind: 'complete', ...input }),
    failJob: (input) => settle({ kind: 'fail', ...input }),
    loseJob: (lease) => settle({ kind: 'lose', ...lease }),
    async releaseJobs(leases) {
      await settles.report(leases.map((lease) => ({ kind: 'release' as const, ...lease })))
    },
    claimDeliveries: (input) =>
      tries.follow(
        (tx) => tx.native.claimDeliveries(input),
        (tx) => nodes.requireNode(tx, input.node_id),
      ),
    recordAttempts: tries.report,
    recordAttempt: async (outcome) => (await tries.report([outcome]))[0]!,
    releaseDeliveries: (leases) => tries.alone((tx) => attempts.releaseDeliveries(tx, leases)),
  } satisfies Partial<Store>
}

/** A store for one request that audits its changes. Its methods are made once and find the record by `this`. */
interface Audited {
  record: NewAuditRecord
  /** The condition of the change; null if there is none. */
  expected: Expected | null
  written: boolean
}

function auditedMethods(database: Database, store: Store): Store {
  const made: Record<string, unknown> = {}
  const change = async <Result>(audited: Audited, work: Write<Result>, isVetted = false): Promise<Result> => {
    const expected = audited.written || isVetted ? null : audited.expected
    const value = await database.write(function* write(tx) {
      if (expected) yield* vetExpected(tx, expected)
      const result = yield* work(tx)
      if (expected) vetMade(result, expected)
      if (!audited.written && result !== null && result !== false)
        yield* audit.writeAudit(tx, [audited.record])
      return result
    })
    if (value !== null && value !== false) audited.written = true
    return value
  }
  for (const [name, work] of Object.entries<Methods[string]>(WRITES))
    made[name] = function audited(this: Audited, ...input: never[]) {
      return change(this, (tx) => work(tx as never, ...input))
    }
  const slow = (audited: Audited) => {
    const { expected, written } = audited
    const vet: Write<void> | undefined = expected && !written ? (tx) => vetExpected(tx, expected) : undefined
    return writesInSteps(database, (work, isVetted) => change(audited, work, isVetted), vet)
  }
  for (const name of Object.keys(writesInSteps(database)) as (keyof ReturnType<typeof slow>)[])
    made[name] = function audited(this: Audited, input: never) {
      return slow(this)[name](input)
    }
  return Object.assign(Object.create(store) as Store, made)
}

/** Makes the store. `own`: methods that the database implements itself. */
export function storeOf(database: Database, own: Partial<Store> = {}): Store {
  const { kind, ping, close, subscribe, connections, reclaim, read, readTogether, write, control } = database
  const store: Store = {
    kind,
    ping,
    close,
    subscribe,
    connections,
    reclaim,
    ...bind(READS, (work) => read(work as Read<unknown>)),
    ...bind(WRITES, write),
    ...bind(LEASES, control),
    ...work(database),
    ...writesInSteps(database),
    counts: () => readTogether(countAll),
    prune: (input) => prune(write, input),
    async countRecoverable(input) {
      const missing = await countMissing(database, input)
      return missing && missing.count
    },
    audited: (record, expected = null) =>
      Object.assign(Object.create(audited) as Store, { record, expected, written: false }),
    ...own,
  }
  const audited = auditedMethods(database, store)
  return store
}
