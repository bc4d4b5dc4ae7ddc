/**
 * The ledger of everything that leaves. Each mail, message, question, request, download and query is taken from the ledger before it
 * leaves, and is refused if the workspace is stopped or its budget is used up. The ledger counts in memory and writes once a second.
 * A killed process loses the counts of its last second. Counts of other nodes arrive within two seconds, so nodes together may
 * exceed a budget by what they send in that time.
 */
import type { NewAuditRecord } from '@assay/model/audit'
import { type Clock, iso } from '@assay/model/clock'
import {
  type Budgets,
  dayOf,
  isListed,
  OPEN_RULES,
  type OutgoingCount,
  type OutgoingKind,
  type OutgoingRules,
} from '@assay/model/outgoing'
import type { Store } from '@assay/store/store'
import { Rounds } from '../budgets/rounds.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { createOnce } from '../runtime/once.ts'
import { hostRefusal, type Refusal, refusalOf } from './refusal.ts'

/** Milliseconds for which read rules and counts stay valid. */
const FRESH_MS = 2000
/** Milliseconds in which refusals of one kind for one reason make one audit record. */
const SAME_MS = 60_000
/** The most workspaces whose rules are cached. */
const KNOWN_MOST = 10_000

export interface LedgerOptions {
  store: Pick<Store, 'countOutgoing' | 'readOutgoing' | 'writeAudit'>
  /** The budgets of workspaces without their own. */
  budgets: Budgets
  clock: Clock
  log: Logger
  metrics: Pick<Metrics, 'outgoing' | 'outgoingRefused'>
}

/**
 * The kinds that go to a host that the workspace chooses. Mail and questions to a model go to servers of the
 * operator.
 */
export type DialingKind = Exclude<OutgoingKind, 'mail' | 'model'>

export interface Ledger {
  readonly budgets: Budgets
  /**
   * Takes `count` (default 1) from the budget. Resolves with null, or with the reason of a refusal, which takes
   * nothing. A budget with anything left admits all of `count`. Rejects with `store_unavailable` if the rules of the
   * workspace are not known.
   */
  take(workspace_id: string, kind: OutgoingKind, count?: number): Promise<Refusal | null>
  /** Gives back what was taken and did not leave. */
  untake(workspace_id: string, kind: OutgoingKind, count: number): void
  /** Counts the bytes of what was taken. */
  addBytes(workspace_id: string, kind: OutgoingKind, bytes: number): void
  /** Resolves with the reason why the workspace may not reach a host, or with null if it may. */
  vetHost(workspace_id: string, kind: DialingKind, host: string): Promise<Refusal | null>
  /** Writes the counts, and reads the rules again when they are next needed. */
  refresh(workspace_id: string): Promise<void>
  /** Writes the remaining counts. */
  close(): Promise<void>
}

interface Known {
  rules: OutgoingRules
  day: string
  readAt: number
  today: Map<OutgoingKind, number>
}

type Pending = OutgoingCount & { workspace_id: string }

export function createLedger(options: LedgerOptions): Ledger {
  return new StoredLedger(options)
}

class StoredLedger implements Ledger {
  readonly budgets: Budgets
  readonly #options: LedgerOptions
  readonly #known = new Map<string, Known>()
  #pending = new Map<string, Pending>()
  #refused: NewAuditRecord[] = []
  /** Tells whether a refusal gets an audit record now. */
  readonly #isTold: (key: string) => boolean
  readonly #rounds: Rounds

  constructor(options: LedgerOptions) {
    this.#options = options
    this.budgets = options.budgets
    this.#rounds = new Rounds(options.clock, (workspace_ids) => this.#writeAndRead(workspace_ids))
    this.#isTold = createOnce(options.clock, SAME_MS)
  }

  async take(workspace_id: string, kind: OutgoingKind, count = 1): Promise<Refusal | null> {
    const refusal = await this.#judge(workspace_id, ({ rules, today }) => {
      const left = today.get(kind) ?? 0
      const refused = refusalOf(rules, kind, { today: left, usual: this.budgets })
      // The count is taken at once, before the next request is judged.
      if (refused === null) {
        today.set(kind, left + count)
        this.#add(workspace_id, kind, { count })
      }
      return refused
    })
    if (refusal === null) this.#options.metrics.outgoing.inc({ kind }, count)
    else this.#refuse(workspace_id, kind, refusal)
    return refusal
  }

  untake(workspace_id: string, kind: OutgoingKind, count: number): void {
    if (count === 0) return
    const known = this.#known.get(workspace_id)
    known?.today.set(kind, Math.max(0, (known.today.get(kind) ?? 0) - count))
    this.#add(workspace_id, kind, { count: -count })
  }

  addBytes(workspace_id: string, kind: OutgoingKind, bytes: number): void {
    this.#add(workspace_id, kind, { bytes })
  }

  async vetHost(workspace_id: string, kind: DialingKind, host: string): Promise<Refusal | null> {
    const refusal = await this.#judge(workspace_id, ({ rules: { hosts } }) =>
      hosts === null || isListed(host, hosts) ? null : hostRefusal(host, hosts),
    )
    if (refusal !== null) this.#refuse(workspace_id, kind, refusal)
    return refusal
  }

  async refresh(workspace_id: string): Promise<void> {
    this.#known.delete(workspace_id)
    await this.#rounds.ask()
  }

  close(): Promise<void> {
    return this.#rounds.close()
  }

  /** Judges by the cached rules. Before a refusal it reads the rules again, because a budget may have been raised. */
  async #judge(workspace_id: string, judge: (known: Known) => Refusal | null): Promise<Refusal | null> {
    const { clock } = this.#options
    const known = this.#known.get(workspace_id)
    const isFresh = known && known.day === dayOf(clock.now()) && clock.monotonic() - known.readAt < FRESH_MS
    if (isFresh && judge(known) === null) return null
    return judge(await this.#read(workspace_id))
  }

  /** Reads the rules and counts. The cached ones stay in force while the store cannot be reached. */
  async #read(workspace_id: string): Promise<Known> {
    try {
      await this.#rounds.ask(workspace_id)
    } catch (error) {
      if (!this.#known.has(workspace_id)) throw error
    }
    return this.#known.get(workspace_id) ?? this.#know(workspace_id, OPEN_RULES, [])
  }

  async #writeAndRead(workspace_ids: string[]): Promise<void> {
    const { store, clock } = this.#options
    await this.#write()
    if (workspace_ids.length === 0) return
    const rows = await store.readOutgoing({ workspace_ids, day: dayOf(clock.now()) })
    for (const { workspace_id, rules, counts } of rows) this.#know(workspace_id, rules, counts)
  }

  /** Takes over the counts that were read, with those that are not yet written. */
  #know(workspace_id: string, rules: OutgoingRules, counts: readonly OutgoingCount[]): Known {
    const { clock } = this.#options
    const day = dayOf(clock.now())
    const today = new Map(counts.map(({ kind, count }) => [kind, count]))
    for (const pending of this.#pending.values())
      if (pending.workspace_id === workspace_id && pending.day === day)
        today.set(pending.kind, (today.get(pending.kind) ?? 0) + pending.count)
    const known = { rules, day, readAt: clock.monotonic(), today }
    this.#known.delete(workspace_id)
    this.#known.set(workspace_id, known)
    if (this.#known.size > KNOWN_MOST) this.#known.delete(this.#known.keys().next().value!)
    return known
  }

  async #write(): Promise<void> {
    const { store, log } = this.#options
    const counts = this.#pending
    const records = this.#refused
    this.#pending = new Map()
    this.#refused = []
    try {
      if (counts.size > 0) await store.countOutgoing([...counts.values()])
      counts.clear()
      if (records.length > 0) await store.writeAudit(records)
    } catch (error) {
      for (const { workspace_id, kind, ...rest } of counts.values()) this.#add(workspace_id, kind, rest)
      this.#refused = [...records, ...this.#refused].slice(-KNOWN_MOST)
      log.warn({ err: error }, 'what left could not be counted yet')
      throw error
    }
  }

  #add(workspace_id: string, kind: OutgoingKind, more: Partial<OutgoingCount>): void {
    const day = more.day ?? dayOf(this.#options.clock.now())
    const key = `${workspace_id} ${day} ${kind}`
    let pending = this.#pending.get(key)
    if (!pending) {
      pending = { workspace_id, day, kind, count: 0, refused: 0, bytes: 0 }
      this.#pending.set(key, pending)
    }
    pending.count += more.count ?? 0
    pending.refused += more.refused ?? 0
    pending.bytes += more.bytes ?? 0
    this.#rounds.soon()
  }

  #refuse(workspace_id: string, kind: OutgoingKind, { cause }: Refusal): void {
    const { clock, metrics } = this.#options
    metrics.outgoingRefused.inc({ kind, cause })
    this.#add(workspace_id, kind, { refused: 1 })
    if (!this.#isTold(`${workspace_id} ${kind} ${cause}`)) return
    this.#refused.push({
      workspace_id,
      at: iso(clock.now()),
      action: 'outgoing.refuse',
      object_id: kind,
      fields: [cause],
      user_id: null,
      token_id: null,
      address: null,
      request_id: null,
    })
  }
}
