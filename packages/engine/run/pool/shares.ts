/**
 * The share of each workspace in the processors of the node. While others run or wait, a workspace has an equal part
 * of the processors, at least one. It may start a task beyond its share, but then pauses for a multiple of the time
 * that the task ran.
 */

/** The pause as a multiple of the time that ran, so that tasks beyond the share take at most a fifth of a processor. */
const RESTS = 4
/** The longest pause in milliseconds, so that a check never waits longer, however long the last preview was. */
const REST_MOST_MS = 2_000

interface Owner {
  running: number
  waiting: number
  /** The time before which no task beyond the share begins. */
  rests_until: number
}

export class Shares<Item extends { owner: string }> {
  readonly #processors: number
  readonly #now: () => number
  readonly #owners = new Map<string, Owner>()
  /** The start of each task that runs beyond its share. */
  readonly #beyond = new Map<Item, number>()

  /** `now` returns milliseconds by a clock that is never set back. */
  constructor(processors: number, now: () => number) {
    this.#processors = processors
    this.#now = now
  }

  /** Tells whether an item of this owner runs or waits. */
  has(owner: string): boolean {
    return this.#owners.has(owner)
  }

  /** Counts an item that starts (1) or stops (-1) waiting. */
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

  /** Returns the milliseconds during which no further item of this owner may begin. */
  restOf(owner: string): number {
    if (!this.#isBeyond(owner)) return 0
    return Math.max(0, this.#owners.get(owner)!.rests_until - this.#now())
  }

  /** Returns the milliseconds until the first pause of a waiting owner is over; null if no owner waits for that. */
  get nextRest(): number | null {
    const rests = [...this.#owners].flatMap(([name, { waiting }]) => (waiting > 0 ? [this.restOf(name)] : []))
    const real = rests.filter((ms) => ms > 0)
    return real.length === 0 ? null : Math.min(...real)
  }

  /** Tells whether one more task would exceed the share. */
  #isBeyond(name: string): boolean {
    const owner = this.#owners.get(name)
    const active = this.#owners.size
    return (
      owner !== undefined && active > 1 && owner.running >= Math.max(1, Math.floor(this.#processors / active))
    )
  }

  /** Changes an owner. An owner without running or waiting items is forgotten, with the remaining pause. */
  #change(name: string, change: (owner: Owner) => void): void {
    const owner = this.#owners.get(name) ?? { running: 0, waiting: 0, rests_until: 0 }
    this.#owners.set(name, owner)
    change(owner)
    if (owner.running === 0 && owner.waiting === 0) this.#owners.delete(name)
  }
}
