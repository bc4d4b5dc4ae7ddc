/**
 * The share of each workspace in the processors of the node. While others run or wait, a workspace has an equal part of them, at least one.
 * What it wants to run beyond that may still begin, but rests afterwards for a multiple of the time that it ran.
 */

/** A task beyond the share takes a fifth of a processor at most. */
const RESTS = 4
/** So a check waits for no more than this, however long the last preview was. */
const REST_MOST_MS = 2_000

interface Owner {
  running: number
  waiting: number
  /** Before this time nothing begins beyond its share. */
  rests_until: number
}

export class Shares<Item extends { owner: string }> {
  readonly #processors: number
  readonly #now: () => number
  readonly #owners = new Map<string, Owner>()
  /** When those that run beyond a share began. */
  readonly #beyond = new Map<Item, number>()

  /** `now`: in milliseconds, by a clock that is never set back. */
  constructor(processors: number, now: () => number) {
    this.#processors = processors
    this.#now = now
  }

  /** It waits for its turn, or does no more. */
  wait(item: Item, by: 1 | -1): void {
    this.#change(item.owner, (owner) => (owner.waiting += by))
  }

  begin(item: Item): void {
    if (this.#isBeyond(item.owner)) this.#beyond.set(item, this.#now())
    this.#change(item.owner, (owner) => (owner.running += 1))
  }

  end(item: Item): void {
    const now = this.#now()
    const began = this.#beyond.get(item)
    this.#beyond.delete(item)
    this.#change(item.owner, (owner) => {
      owner.running -= 1
      if (began !== undefined)
        owner.rests_until = Math.max(owner.rests_until, now + Math.min(REST_MOST_MS, RESTS * (now - began)))
    })
  }

  /** Milliseconds for which nothing more of this owner may begin. */
  restOf(owner: string): number {
    if (!this.#isBeyond(owner)) return 0
    return Math.max(0, this.#owners.get(owner)!.rests_until - this.#now())
  }

  /** Milliseconds until the rest of an owner who waits is over; null: nobody waits for that. */
  get nextRest(): number | null {
    const rests = [...this.#owners].flatMap(([name, { waiting }]) => (waiting > 0 ? [this.restOf(name)] : []))
    const real = rests.filter((ms) => ms > 0)
    return real.length === 0 ? null : Math.min(...real)
  }

  /** Whether one more would be more than its share. */
  #isBeyond(name: string): boolean {
    const owner = this.#owners.get(name)
    const active = this.#owners.size
    return (
      owner !== undefined && active > 1 && owner.running >= Math.max(1, Math.floor(this.#processors / active))
    )
  }

  /** Who neither runs nor waits is forgotten, with what is left of the rest. */
  #change(name: string, change: (owner: Owner) => void): void {
    const owner = this.#owners.get(name) ?? { running: 0, waiting: 0, rests_until: 0 }
    this.#owners.set(name, owner)
    change(owner)
    if (owner.running === 0 && owner.waiting === 0) this.#owners.delete(name)
  }
}
