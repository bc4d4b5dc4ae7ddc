/**
 * A round-robin queue. The next owner gets its oldest item and then goes behind the others, so that an owner waits for
 * at most one item of each other owner.
 */
export class FairQueue<Item> {
  /** The waiting items of each owner, the next owner first. */
  readonly #waiting = new Map<string, Item[]>()
  /** The owner served last. It goes behind the others even if its queue was empty in between. */
  #last: string | null = null
  #length = 0

  get length(): number {
    return this.#length
  }

  count(owner: string): number {
    return this.#waiting.get(owner)?.length ?? 0
  }

  /** Returns the number of waiting items of each owner. */
  counts(): [owner: string, waiting: number][] {
    return [...this.#waiting].map(([owner, items]) => [owner, items.length])
  }

  add(owner: string, item: Item): void {
    const own = this.#waiting.get(owner)
    if (own) own.push(item)
    else this.#waiting.set(owner, [item])
    this.#length += 1
  }

  /** Returns the next item among those that `may` admits; null if there is none. It stays in the queue until `take`. */
  next(may: (item: Item) => boolean = () => true): { owner: string; item: Item } | null {
    let otherwise: { owner: string; item: Item } | null = null
    for (const [owner, [item]] of this.#waiting) {
      if (item === undefined || !may(item)) continue
      if (owner !== this.#last) return { owner, item }
      otherwise = { owner, item }
    }
    return otherwise
  }

  /** Removes an item that is served. Its owner goes behind the others. */
  take(owner: string, item: Item): void {
    if (!this.remove(owner, item)) return
    this.#last = owner
    const rest = this.#waiting.get(owner)
    if (!rest) return
    this.#waiting.delete(owner)
    this.#waiting.set(owner, rest)
  }

  /** Removes an item that is not served. Returns false if it is not in the queue. */
  remove(owner: string, item: Item): boolean {
    const own = this.#waiting.get(owner)
    const index = own?.indexOf(item) ?? -1
    if (!own || index < 0) return false
    own.splice(index, 1)
    if (own.length === 0) this.#waiting.delete(owner)
    this.#length -= 1
    return true
  }

  /** Empties the queue and returns its items. */
  clear(): Item[] {
    const all = [...this.#waiting.values()].flat()
    this.#waiting.clear()
    this.#length = 0
    return all
  }
}
