/**
 * A line in which owners take turns: each is served its oldest item, then stands behind the others. No owner waits for
 * more than one item of each other owner, however many those have put in.
 */
export class FairLine<Item> {
  /** What each owner has waiting; whose turn comes first stands first. */
  readonly #waiting = new Map<string, Item[]>()
  /** Who was served last: behind everybody else, also where it came back while its last item was under way. */
  #last: string | null = null
  #length = 0

  get length(): number {
    return this.#length
  }

  count(owner: string): number {
    return this.#waiting.get(owner)?.length ?? 0
  }

  add(owner: string, item: Item): void {
    const own = this.#waiting.get(owner)
    if (own) own.push(item)
    else this.#waiting.set(owner, [item])
    this.#length += 1
  }

  /** The item whose turn it is, of the owners that may be served now. It stays in the line until it is taken. */
  next(may: (item: Item) => boolean = () => true): { owner: string; item: Item } | null {
    let otherwise: { owner: string; item: Item } | null = null
    for (const [owner, [item]] of this.#waiting) {
      if (item === undefined || !may(item)) continue
      if (owner !== this.#last) return { owner, item }
      otherwise = { owner, item }
    }
    return otherwise
  }

  /** The item is served: its owner goes behind the others. */
  take(owner: string, item: Item): void {
    if (!this.remove(owner, item)) return
    this.#last = owner
    const rest = this.#waiting.get(owner)
    if (!rest) return
    this.#waiting.delete(owner)
    this.#waiting.set(owner, rest)
  }

  /** The item leaves without being served. False: it is not in the line. */
  remove(owner: string, item: Item): boolean {
    const own = this.#waiting.get(owner)
    const place = own?.indexOf(item) ?? -1
    if (!own || place < 0) return false
    own.splice(place, 1)
    if (own.length === 0) this.#waiting.delete(owner)
    this.#length -= 1
    return true
  }

  /** Empties the line. */
  clear(): Item[] {
    const all = [...this.#waiting.values()].flat()
    this.#waiting.clear()
    this.#length = 0
    return all
  }
}
