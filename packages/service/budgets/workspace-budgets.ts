/**
 * The budgets of workspaces for their analyses: processor time by hour (UTC), and disk. Counts are kept in memory and written once a
 * second, so no task costs a transaction. A killed process loses the counts of its last second. Counts of other nodes arrive within
 * two seconds. So a workspace may exceed a budget by what the nodes take in that time, and by tasks that already run.
 */
import type { Claim, WorkspaceBudgets } from '@assay/engine/run/pool'
import { type Clock, iso } from '@assay/model/clock'
import { hourOf, processorSpent } from '@assay/store/caps'
import type { ProcessorUse, WorkspaceUse } from '@assay/store/contract/processor-use'
import type { Store } from '@assay/store/store'
import type { Logger } from '../runtime/log.ts'
import { Rounds } from './rounds.ts'

/** Milliseconds for which read caps and counts stay valid. */
const FRESH_MS = 2000
/** The most workspaces whose caps are cached. */
const KNOWN_MOST = 10_000
/**
 * The share of the workspace's hour that readers of links have on each node. It is at least the seconds below,
 * because a page may take half a minute, and never more than the hour of the workspace.
 */
const READERS_SHARE = 0.1
const READERS_LEAST_SECONDS = 60

/**
 * Returns the seconds of an hour that pages for readers of links may take on a node, beside the `most` seconds of the
 * workspace.
 */
function readersSeconds(most: number): number {
  return Math.max(READERS_SHARE * most, Math.min(most, READERS_LEAST_SECONDS))
}

export interface BudgetOptions {
  store: Pick<Store, 'countProcessorUse' | 'readProcessorUse'>
  /** The caps of workspaces without their own; null: no limit. */
  caps: { max_processor_seconds: number | null; max_spill_bytes: number | null }
  clock: Clock
  log: Logger
}

export interface StoredBudgets extends WorkspaceBudgets {
  /** Writes the remaining counts. */
  close(): Promise<void>
}

type Known = Omit<WorkspaceUse, 'workspace_id'> & { hour: string; readAt: number }

export function createWorkspaceBudgets(options: BudgetOptions): StoredBudgets {
  return new CountedBudgets(options)
}

class CountedBudgets implements StoredBudgets {
  readonly #options: BudgetOptions
  readonly #rounds: Rounds
  readonly #known = new Map<string, Known>()
  /** The processor time that readers of links took on this node. */
  readonly #readers = new Map<string, { hour: string; ms: number }>()
  #pending = new Map<string, ProcessorUse>()

  constructor(options: BudgetOptions) {
    this.#options = options
    this.#rounds = new Rounds(options.clock, (workspace_ids) => this.#writeAndRead(workspace_ids))
  }

  async admit(workspace_id: string, claim: Claim): Promise<number | null> {
    const { clock, caps } = this.#options
    const accepted = claim === 'accepted'
    const fresh = this.#freshOf(workspace_id)
    // A refusal needs a fresh read, because the cap may have been raised.
    if (!fresh || this.#spentCap(fresh, workspace_id, claim) !== null) {
      const read = this.#rounds.ask(workspace_id)
      // The cached caps stay in force while the store cannot be reached.
      await (accepted || this.#known.has(workspace_id) ? read.catch(() => undefined) : read)
    }
    const use = this.#known.get(workspace_id)
    const spent = use?.hour === this.#hour() ? this.#spentCap(use, workspace_id, claim) : null
    if (spent !== null) throw processorSpent(spent, iso(clock.now()))
    return use?.max_spill_bytes ?? caps.max_spill_bytes
  }

  /** The budget of readers of links is separate, so that neither they nor the workspace use up the other's hour. */
  spend(workspace_id: string, ms: number, claim: Claim): void {
    if (ms <= 0) return
    const hour = this.#hour()
    if (claim === 'reader') {
      const before = this.#readers.get(workspace_id)
      this.#readers.delete(workspace_id)
      this.#readers.set(workspace_id, { hour, ms: ms + (before?.hour === hour ? before.ms : 0) })
      dropOldest(this.#readers)
      return
    }
    const use = this.#known.get(workspace_id)
    if (use?.hour === hour) use.ms += ms
    this.#add({ workspace_id, hour, ms })
  }

  close(): Promise<void> {
    return this.#rounds.close()
  }

  #hour(): string {
    return hourOf(iso(this.#options.clock.now()))
  }

  #freshOf(workspace_id: string): Known | undefined {
    const found = this.#known.get(workspace_id)
    const isFresh = found?.hour === this.#hour() && this.#options.clock.monotonic() - found.readAt < FRESH_MS
    return isFresh ? found : undefined
  }

  /** Returns the seconds of the cap if they are used up; null if some are left. */
  #spentCap(use: Known, workspace_id: string, claim: Claim): number | null {
    const most = use.max_processor_seconds ?? this.#options.caps.max_processor_seconds
    if (most === null || claim === 'accepted') return null
    if (claim === 'new') return use.ms >= most * 1000 ? most : null
    const readers = this.#readers.get(workspace_id)
    const taken = readers?.hour === this.#hour() ? readers.ms : 0
    return taken >= readersSeconds(most) * 1000 ? readersSeconds(most) : null
  }

  #add({ workspace_id, hour, ms }: ProcessorUse): void {
    const key = `${workspace_id} ${hour}`
    this.#pending.set(key, { workspace_id, hour, ms: ms + (this.#pending.get(key)?.ms ?? 0) })
    this.#rounds.soon()
  }

  async #writeAndRead(workspace_ids: string[]): Promise<void> {
    await this.#write()
    if (workspace_ids.length === 0) return
    const uses = await this.#options.store.readProcessorUse({ workspace_ids, hour: this.#hour() })
    for (const use of uses) this.#know(use)
  }

  async #write(): Promise<void> {
    const { store, log } = this.#options
    const counts = [...this.#pending.values()]
    this.#pending = new Map()
    if (counts.length === 0) return
    await store.countProcessorUse(counts).catch((error: unknown) => {
      for (const count of counts) this.#add(count)
      log.warn({ err: error }, 'the processor time of workspaces could not be counted yet')
      throw error
    })
  }

  /** Takes over the counts that a round has read, with those that are not yet written. */
  #know({ workspace_id, ms, ...own }: WorkspaceUse): void {
    const hour = this.#hour()
    const unwritten = this.#pending.get(`${workspace_id} ${hour}`)?.ms ?? 0
    this.#known.delete(workspace_id)
    this.#known.set(workspace_id, {
      ...own,
      hour,
      ms: ms + unwritten,
      readAt: this.#options.clock.monotonic(),
    })
    dropOldest(this.#known)
  }
}

function dropOldest(map: Map<string, unknown>): void {
  if (map.size > KNOWN_MOST) map.delete(map.keys().next().value!)
}
